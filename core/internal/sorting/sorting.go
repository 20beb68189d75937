// Package sorting sorts by one key, and keeps slices in their order. Every call of a
// generic sort of package slices on another type is 2 KB of a WebAssembly module, where
// Sort is one function of 200 bytes; every Insert there is 300 bytes more than here.
package sorting

// Item is what is sorted: a key, and what it belongs to.
type Item struct {
	Key   uint64
	Index uint32
}

// Signed is the key of a signed number.
func Signed(n int64) uint64 { return uint64(n) ^ 1<<63 }

// before reports whether an item comes before another one. Of equal keys the lower
// index comes first.
func (i *Item) before(other *Item) bool {
	return i.Key < other.Key || i.Key == other.Key && i.Index < other.Index
}

// Sort sorts items by their keys, items of equal keys by their indices. It is a heap
// sort, in time n log n for any input.
func Sort(items []Item) {
	for root := len(items)/2 - 1; root >= 0; root-- {
		sink(items, root)
	}
	for last := len(items) - 1; last > 0; last-- {
		items[0], items[last] = items[last], items[0]
		sink(items[:last], 0)
	}
}

// sink moves an item down to where neither of the two below it comes after it.
func sink(items []Item, at int) {
	for {
		down := 2*at + 1
		if down >= len(items) {
			return
		}
		if down+1 < len(items) && items[down].before(&items[down+1]) {
			down++
		}
		if !items[at].before(&items[down]) {
			return
		}
		items[at], items[down] = items[down], items[at]
		at = down
	}
}

// Insert inserts an element at an index.
func Insert[E any](s []E, at int, e E) []E {
	s = append(s, e)
	copy(s[at+1:], s[at:])
	s[at] = e
	return s
}

// Remove removes the element at an index.
func Remove[E any](s []E, at int) []E { return append(s[:at], s[at+1:]...) }
