package keyed

const (
	pageBits = 6
	pageSize = 1 << pageBits
)

// Slab is a slice that grows and shrinks by pages of 64 elements: growing copies
// none of them. A holder keeps the states of its cells in one, by the index of
// the table. The zero value is empty.
type Slab[T any] struct {
	pages []*[pageSize]T
}

// At returns the element at an index that Grow has made room for. The pointer is
// good until the element is removed.
func (s *Slab[T]) At(index uint32) *T { return &s.pages[index>>pageBits][index%pageSize] }

// Grow makes room for the indices up to last. New elements are zero.
func (s *Slab[T]) Grow(last uint32) {
	for uint32(len(s.pages)) <= last>>pageBits {
		s.pages = append(s.pages, new([pageSize]T))
	}
}

// Remove moves the element at last, which is the last one in use, to an index,
// as a Table does when a key is removed. It releases pages, but for one behind
// the last element: a slab that grows and shrinks around the end of a page does
// not allocate.
func (s *Slab[T]) Remove(index, last uint32) {
	var zero T
	*s.At(index) = *s.At(last)
	*s.At(last) = zero
	if keep := int((last-1)>>pageBits) + 2; last > 0 && len(s.pages) > keep {
		clear(s.pages[keep:])
		s.pages = s.pages[:keep:keep]
	}
}
