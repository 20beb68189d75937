package sorting_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/core/internal/sorting"
)

// TestSort compares the order with the order of package slices, for every length up to 40
// and keys that are often equal.
func TestSort(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		for range 50 {
			items := make([]sorting.Item, n)
			for i := range items {
				items[i] = sorting.Item{Key: sorting.Signed(random.Int64N(8) - 4), Index: uint32(i)}
			}
			want := slices.Clone(items)
			slices.SortStableFunc(want, func(a, b sorting.Item) int { return cmp.Compare(a.Key, b.Key) })
			if sorting.Sort(items); !slices.Equal(items, want) {
				t.Fatalf("%v, want %v", items, want)
			}
		}
	}
}
