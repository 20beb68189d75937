package random

// Table draws one of several whole numbers by their weights, in constant time.
type Table struct {
	share []float64 // of a column that is its own
	other []uint32  // whose the rest of it is
}

// NewTable returns a table that draws i with a probability that is proportional to
// weights[i]. There is at least one weight, all are 0 or more and finite, and their
// sum is above 0.
func NewTable(weights []float64) *Table {
	n := len(weights)
	t := &Table{share: make([]float64, n), other: make([]uint32, n)}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	var small, large []uint32
	for i, w := range weights {
		t.share[i] = float64(w/sum) * float64(n)
		t.other[i] = uint32(i)
		if t.share[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		low, high := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.other[low] = high
		t.share[high] -= 1 - t.share[low]
		if t.share[high] < 1 {
			large = large[:len(large)-1]
			small = append(small, high)
		}
	}
	// What is left is 1 but for rounding.
	for _, i := range append(small, large...) {
		t.share[i] = 1
	}
	return t
}

// Draw returns the index of a weight.
func (t *Table) Draw(s *Stream) int {
	i := s.Below(uint64(len(t.share)))
	if s.Uniform() < t.share[i] {
		return int(i)
	}
	return int(t.other[i])
}

// Zipf returns the weights 1, 1/2^s, 1/3^s to 1/n^s.
func Zipf(n int, s float64) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = Power(float64(i+1), -s)
	}
	return weights
}

// Len returns how many weights the table has.
func (t *Table) Len() int { return len(t.share) }
