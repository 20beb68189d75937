package vectors

// Flipped is an instance with a planted defect: in what its step At leaves, one
// bit is another. A runtime's replay is worth something only if it finds that.
type Flipped struct {
	Instance
	// At counts steps of cells and events of pipelines from 0.
	At int
	// Bit is the one that flips, counted from the first byte, modulo the size.
	Bit uint

	steps int
}

// Call implements Instance.
func (f *Flipped) Call(export string, parameters ...uint64) (int32, error) {
	code, err := f.Instance.Call(export, parameters...)
	switch export {
	case "reduce":
		if f.steps == f.At && code > 0 {
			flip(f.Buffer(uint32(code)), f.Bit)
		}
		f.steps++
	case "advance", "begin", "done", "cancel", "renew", "configure", "free":
		if f.steps == f.At {
			if size := uint32(max(0, code)) * recordSize; size > 0 {
				flip(f.Records(size), f.Bit)
			} else {
				code ^= 1
			}
		}
		f.steps++
	}
	return code, err
}

func flip(b []byte, bit uint) { b[bit/8%uint(len(b))] ^= 1 << (bit % 8) }
