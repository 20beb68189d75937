package reducer

import "github.com/sluice-go/sluice/clock"

// The header of an encoded state: version, mechanism, and in 4 bytes a digest of
// the configuration.
const (
	headerDigest = 2
	headerSize   = 6
)

// Digest returns a hash of the stable binary form of a state: FNV-1a with 64 bits
// (Fowler, Noll, Vo; RFC 9923). It finds differences and is not cryptographic. It
// skips the digest of the configuration in the header, so that a replay under
// another configuration differs only where the states do.
func Digest(encoded []byte) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	hash := uint64(offset)
	for i, b := range encoded {
		if i < headerDigest || i >= headerSize {
			hash = (hash ^ uint64(b)) * prime
		}
	}
	return hash
}

// Trace steps the state in place and returns the step as an entry, to which
// the caller adds the number and the names.
func Trace[S any](cell Cell[S], state *S, action Action, now clock.Mark) Entry {
	var out Out
	answer := cell.Step(state, action, now, &out)
	return Entry{At: now, Action: action, Effects: Effects{Answer: answer, Others: out}, Digest: Digest(cell.Encode(nil, state))}
}

// Replay steps a cell from the state through the entries of one cell and key,
// and returns the state in which it stops. The error is nil, or a *Difference
// at the first entry that is not what the cell does; the state is then the one
// after that step. The given state is not changed.
func Replay[S any](cell Cell[S], state S, entries []Entry) (S, error) {
	state = ValuesOf(cell).Clone(state)
	for _, want := range entries {
		got := Trace(cell, &state, want.Action, want.At)
		got.N, got.Cell, got.Key = want.N, want.Cell, want.Key
		if text := want.Effects.String(); text != got.Effects.String() {
			return state, &Difference{Entry: want, Field: "effects", Recorded: text, Replayed: got.Effects.String()}
		}
		if want.Digest != got.Digest {
			return state, &Difference{Entry: want, Field: "digest", Recorded: hex64(want.Digest), Replayed: hex64(got.Digest)}
		}
	}
	return state, nil
}

// Difference says at which entry of a trace a replay came to another result.
type Difference struct {
	Entry Entry
	// Field is what differs: effects, or digest alone.
	Field              string
	Recorded, Replayed string
}

// Error implements error.
func (d *Difference) Error() string {
	line := AppendTrace(nil, d.Entry)
	return d.Field + " differ: recorded " + d.Recorded + ", replayed " + d.Replayed + ", at " + string(line[:len(line)-1])
}
