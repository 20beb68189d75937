package keyed

import (
	"math/rand/v2"
	"testing"
)

// TestNumbersAreATable: histories of numbers give the indices, evictions and counts
// that hashes give, and memory returns.
func TestNumbersAreATable(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(11, seed))
		config := func() Config {
			return Config{Keys: 1 + rng.Uint32N(300), WhenFull: WhenFull(rng.IntN(2)), CellBytes: 8}
		}
		c := config()
		hashes := newTable(t, c)
		numbers, err := NewNumbers(c)
		if err != nil {
			t.Fatal(err)
		}
		hash := func(key uint32) Hash { return Hash{Hi: uint64(key) * 0x9e3779b97f4a7c15, Lo: uint64(key) << 32} }
		most := 1 + rng.Uint32N(900)
		for step := range 10_000 {
			key := rng.Uint32N(most)
			switch rng.IntN(10) {
			case 0:
				index, ok := numbers.Find(key)
				if want, known := hashes.Find(hash(key)); index != want || ok != known {
					t.Fatalf("seed %d, step %d: %d is at %d, %v, not at %d", seed, step, key, index, ok, want)
				}
			case 1, 2:
				index := rng.Uint32N(numbers.Len() + 1)
				held := rng.IntN(2) == 0
				numbers.SetHeld(index, held)
				hashes.SetHeld(index, held)
			case 3:
				if index, ok := numbers.Find(key); ok && rng.IntN(3) == 0 {
					if last, want := numbers.Remove(index), hashes.Remove(index); last != want {
						t.Fatalf("seed %d, step %d: %d is removed, the last is %d, not %d", seed, step, index, last, want)
					}
				}
				if rng.IntN(20) == 0 {
					c = config()
					if err := numbers.Configure(c); err != nil {
						t.Fatal(err)
					}
					if err := hashes.Configure(c); err != nil {
						t.Fatal(err)
					}
				}
				for ok := true; ok; {
					gone, last, trimmed := numbers.Trim()
					g, l, want := hashes.Trim()
					if gone != g || last != l || trimmed != want {
						t.Fatalf("seed %d, step %d: trimmed %d, %d, %v, not %d, %d, %v", seed, step, gone, last, trimmed, g, l, want)
					}
					ok = trimmed
				}
			default:
				index, how := numbers.Use(key)
				if i, h := hashes.Use(hash(key)); index != i || how != h {
					t.Fatalf("seed %d, step %d: %d has %d, %v, not %d, %v", seed, step, key, index, how, i, h)
				}
			}
			if step%100 == 0 {
				checkNumbers(t, numbers, hashes)
			}
		}
		if err := numbers.Configure(Config{Keys: 1}); err != nil {
			t.Fatal(err)
		}
		for index := range numbers.Len() + 1 {
			numbers.SetHeld(index, false)
		}
		for ok := true; ok; {
			_, _, ok = numbers.Trim()
		}
		if numbers.Len() > 1 || numbers.used > 1 || len(numbers.entries.pages) > 2 {
			t.Errorf("seed %d: a key takes %d pages of numbers, %d of entries", seed, numbers.used, len(numbers.entries.pages))
		}
	}
}

// checkNumbers checks that the pages have the index of every key and nothing else.
func checkNumbers(t *testing.T, n *Numbers, hashes *Table) {
	t.Helper()
	all, used := 0, 0
	for i, page := range n.pages {
		if page == nil {
			continue
		}
		used++
		here := uint32(0)
		for j, index := range page.indices {
			if index == 0 {
				continue
			}
			here++
			if key := uint32(i*pageSize + j); index > n.Len() || n.key(index) != key {
				t.Fatalf("the number %d has the index %d", key, index)
			}
		}
		if here != page.used || here == 0 {
			t.Fatalf("a page has %d numbers, counted %d", here, page.used)
		}
		all += int(here)
	}
	if all != int(n.Len()) || used != n.used {
		t.Fatalf("%d numbers for %d keys, %d pages, counted %d", all, n.Len(), used, n.used)
	}
	got, want := n.Counts(), hashes.Counts()
	if got.Bytes < uint64(used)*numbersPageBytes {
		t.Fatalf("%d bytes", got.Bytes)
	}
	if got.Bytes, want.Bytes = 0, 0; got != want {
		t.Fatalf("counts %+v, not %+v", got, want)
	}
}
