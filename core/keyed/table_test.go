package keyed

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

func newTable(t testing.TB, c Config) *Table {
	t.Helper()
	table, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// randomHash returns hashes that are not uniform in every third table: they
// differ in few bits.
func randomHash(rng *rand.Rand, narrow bool) Hash {
	if narrow {
		return Hash{Hi: rng.Uint64N(4) << 61, Lo: rng.Uint64N(1000)}
	}
	return Hash{rng.Uint64(), rng.Uint64()}
}

// TestStructure checks the links, slots and counts of tables after random
// histories.
func TestStructure(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(1, seed))
		narrow := seed%3 == 0
		table := newTable(t, Config{Keys: 1 + rng.Uint32N(3000)})
		known := make([]Hash, 4000)
		for i := range known {
			known[i] = randomHash(rng, narrow)
		}
		used := map[Hash]int{}
		for step := range 20_000 {
			switch h := known[rng.IntN(len(known))]; rng.IntN(8) {
			case 0:
				if index, ok := table.Find(h); ok {
					table.Pin(index)
				}
			case 1, 2:
				if index, ok := table.Find(h); ok && table.Held(index) {
					table.SetHeld(index, true)
					for table.entries.At(index).holds != markedHeld {
						table.Unpin(index)
					}
					table.SetHeld(index, false)
				}
			case 3:
				if index, ok := table.Find(h); ok {
					table.Remove(index)
				}
			default:
				if index, how := table.Use(h); how != Shared && table.Hash(index) != h {
					t.Fatalf("seed %d, step %d: a cell of another key", seed, step)
				}
				used[h] = step
			}
			if step%500 == 0 {
				if rng.IntN(4) == 0 {
					if err := table.Configure(Config{Keys: 1 + rng.Uint32N(3000)}); err != nil {
						t.Fatal(err)
					}
					for ok := true; ok; {
						_, _, ok = table.Trim()
					}
				}
				checkStructure(t, table)
				if order := table.ByUse(nil); !slices.IsSortedFunc(order, func(a, b uint32) int {
					return used[table.Hash(a)] - used[table.Hash(b)]
				}) {
					t.Fatalf("seed %d, step %d: the keys are not in the order of their last use", seed, step)
				}
			}
		}
		for table.Len() > 0 {
			table.Remove(1 + rng.Uint32N(table.Len()))
		}
		checkStructure(t, table)
		if table.segments != 1 || table.depth != 0 || len(table.entries.pages) > 2 || cap(table.aside) > pageSize {
			t.Errorf("seed %d: an empty table has %d segments and %d pages", seed, table.segments, len(table.entries.pages))
		}
	}
}

func checkStructure(t *testing.T, table *Table) {
	t.Helper()
	table.settle()
	held, inList, outside := uint32(0), 0, 0
	for i := uint32(1); i <= table.keys; i++ {
		e := table.entries.At(i)
		if at, ok := table.Find(e.hash); !ok || at != i {
			t.Fatalf("entry %d is found at %d", i, at)
		}
		if e.holds != 0 {
			held++
		}
		switch {
		case e.inList():
			inList++
		case e.place == setAside && e.holds == 0, e.place >= inHeap && e.holds != 0:
			t.Fatalf("entry %d: place %d, holds %x", i, e.place, e.holds)
		case e.place >= inHeap && table.aside[e.place-inHeap] != i:
			t.Fatalf("entry %d is not at its place in the heap", i)
		default:
			outside++
		}
	}
	if held != table.held || len(table.aside) > outside || outside != int(table.outside) || int(table.changes.length) > len(table.aside) {
		t.Fatalf("held %d, counted %d; %d in the heap of %d outside the list", held, table.held, len(table.aside), outside)
	}
	for i := 1; i < len(table.aside); i++ {
		if table.entries.At(table.aside[(i-1)/2]).weight() > table.entries.At(table.aside[i]).weight() {
			t.Fatalf("the heap is not in order at %d", i)
		}
	}
	before := uint32(0)
	for i := table.oldest; i != 0; i = table.entries.At(i).newer {
		if e := table.entries.At(i); e.older != before || !e.inList() {
			t.Fatalf("entry %d of the list: older %d, place %d", i, e.older, e.place)
		}
		before = i
		inList--
	}
	if before != table.newest || inList != 0 {
		t.Fatalf("the list ends at %d, newest is %d, %d entries are missing", before, table.newest, inList)
	}
	all, deepest, used := map[*segment]bool{}, 0, 0
	for i, first := range table.directory {
		if !all[first] && first.depth == table.depth {
			deepest++
		}
		if first.depth < table.depth && first != table.directory[i^1] {
			t.Fatalf("segment %d of depth %d of %d has one pointer", i, first.depth, table.depth)
		}
		for s := first; s != nil; s = s.next {
			if !all[s] {
				used += int(s.used)
			}
			all[s] = true
			if n := len(s.slots) - countZero(s.slots[:]); n != int(s.used) || s.next != nil && s.next.used == 0 {
				t.Fatalf("segment %d: %d of %d slots", i, n, s.used)
			}
		}
	}
	if len(all) != table.segments || deepest != table.deepest || used != int(table.keys) {
		t.Fatalf("%d segments, counted %d; %d of the greatest depth, counted %d; %d slots for %d keys",
			len(all), table.segments, deepest, table.deepest, used, table.keys)
	}
}

func countZero(slots []uint32) (n int) {
	for _, s := range slots {
		if s == 0 {
			n++
		}
	}
	return n
}

func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(entry{}); n != entryBytes {
		t.Errorf("an entry takes %d bytes", n)
	}
	if n := unsafe.Sizeof(segment{}); n != segmentBytes {
		t.Errorf("a segment takes %d bytes", n)
	}
	var c Counts
	for n := uint32(1_000); n < 30_000; n += 1_000 {
		table := newTable(t, Config{Keys: MaxKeys})
		rng := rand.New(rand.NewPCG(2, uint64(n)))
		for range n {
			table.Use(randomHash(rng, false))
		}
		c = table.Counts()
		if each := (float64(c.Bytes) - pageSize*entryBytes) / float64(c.Keys); each > entryBytes+slotBytes+1 {
			t.Errorf("%.1f bytes a key of %d", each, n)
		}
	}
}

// TestHeldCellsArePassedOnce holds all cells but one: a cell is passed over once for
// each time it was used or released, however many keys are evicted.
func TestHeldCellsArePassedOnce(t *testing.T) {
	const keys = 1_000
	table := newTable(t, Config{Keys: keys})
	rng := rand.New(rand.NewPCG(6, 6))
	for range keys {
		index, _ := table.Use(randomHash(rng, false))
		if index > 1 {
			table.Pin(index)
		}
	}
	passes := uint32(keys)
	for range 10_000 {
		passes++
		if index, how := table.Use(randomHash(rng, false)); how != Evicted || table.Held(index) {
			t.Fatalf("index %d, how %d", index, how)
		}
		switch index := 2 + rng.Uint32N(keys-2); {
		case rng.IntN(4) > 0:
		case !table.Held(index):
			table.Pin(index)
		case rng.IntN(2) == 0:
			table.Touch(index)
			passes++
		default:
			table.Unpin(index)
			passes++
		}
	}
	if table.ranks > passes {
		t.Errorf("%d cells were passed over, want at most %d", table.ranks, passes)
	}
	if cells := table.Counts(); cells.Held < keys/4 {
		t.Errorf("only %d cells are held", cells.Held)
	}
}

// TestRefreshOutsideTheList refreshes cells that were held at the oldest end when
// a victim was looked for.
func TestRefreshOutsideTheList(t *testing.T) {
	const keys = 100
	table := newTable(t, Config{Keys: keys})
	for i := range uint64(keys) {
		index, _ := table.Use(Hash{Lo: i + 1})
		table.Pin(index)
	}
	if table.Coldest() != 0 {
		t.Fatal("a held cell is evictable")
	}
	for i := range uint32(keys) {
		table.Unpin(i + 1)
	}
	for i := uint64(keys); i > 0; i-- {
		table.Refresh(Hash{Lo: i})
		if order := table.ByUse(nil); table.Hash(order[keys-1]).Lo != i {
			t.Fatalf("key %d is not the most recent one", i)
		}
	}
	if n := cap(table.aside); n > pageSize {
		t.Errorf("the empty heap has room for %d", n)
	}
}

func TestSpareCell(t *testing.T) {
	table := newTable(t, Config{Keys: 1})
	index, _ := table.Use(Hash{Lo: 1})
	table.Pin(index)
	spare, how := table.Use(Hash{Lo: 2})
	if spare != Spare || how != Shared {
		t.Fatalf("index %d, how %d", spare, how)
	}
	table.Touch(spare)
	table.Pin(spare)
	checkStructure(t, table)
	if c := table.Counts(); c.Held != 1 || !table.Held(spare) {
		t.Errorf("%+v: the spare cell is no key's", c)
	}
	if at, ok := table.Resolve(table.Handle(spare)); !ok || at != Spare {
		t.Errorf("the handle of the spare cell names %d, %t", at, ok)
	}
	table.Unpin(spare)
	table.Remove(index)
	if _, ok := table.Resolve(table.Handle(spare)); !ok || table.Counts().Held != 0 {
		t.Errorf("%+v, resolved %t", table.Counts(), ok)
	}
}

func TestImport(t *testing.T) {
	from, to := newTable(t, Config{Keys: 10}), newTable(t, Config{Keys: 10})
	key := Hash{Hi: 1, Lo: 1}
	for i := range uint64(5) {
		from.Use(Hash{Lo: i + 2})
		to.Use(Hash{Hi: 2, Lo: i})
	}
	index, _ := from.Use(key)
	from.Pin(index)
	from.SetHeld(index, true)
	*from.Word(index) = 77
	name := from.Handle(index)
	moved := to.Import(from, index)
	if at, ok := to.Resolve(name); !ok || at != moved || *to.Word(at) != 77 || to.Counts().Held != 1 {
		t.Fatalf("index %d, %t, %+v", at, ok, to.Counts())
	}
	checkStructure(t, to)
	if order := to.ByUse(nil); order[len(order)-1] != moved {
		t.Error("the key is not the most recent one")
	}
	to.SetHeld(moved, false)
	to.Unpin(moved)
	to.Remove(moved)
	// Later cells of the key have other handles.
	for range 10 {
		index, _ := to.Use(key)
		if _, ok := to.Resolve(name); ok {
			t.Fatal("a handle names a later cell")
		}
		if *to.Word(index) != 0 {
			t.Fatal("a new cell has a word")
		}
		to.Remove(index)
	}
}

func TestBytesAreBounded(t *testing.T) {
	const each = entryBytes + slotBytes + 150
	exact := newTable(t, Config{Keys: MaxKeys, CellBytes: 150, Bytes: 2 * each})
	for i := range uint64(3) {
		exact.Use(Hash{Lo: i + 1})
	}
	if c := exact.Counts(); c.Keys != 2 || exact.Above() {
		t.Errorf("%+v", c)
	}
	table := newTable(t, Config{Keys: MaxKeys, CellBytes: 150, Bytes: 100*each + each/2})
	rng := rand.New(rand.NewPCG(7, 7))
	for range 1_000 {
		table.Use(randomHash(rng, false))
	}
	if c := table.Counts(); c.Keys != 100 || c.Evictions != 900 {
		t.Errorf("%+v", c)
	}
	table.Charge(50 * each)
	trims := 0
	for ; ; trims++ {
		if _, _, ok := table.Trim(); !ok {
			break
		}
	}
	if c := table.Counts(); c.Keys != 50 || trims != 50 {
		t.Errorf("%+v after %d trims", c, trims)
	}
	table.Charge(1_000 * each)
	for ok := true; ok; {
		_, _, ok = table.Trim()
	}
	if c := table.Counts(); c.Keys != 1 || c.Bytes < 1_000*each {
		t.Errorf("%+v", c)
	}
}

func TestSlab(t *testing.T) {
	var s Slab[int]
	const last = 10 * pageSize
	s.Grow(last)
	pages := s.pages
	for i := uint32(last); i >= pageSize; i-- {
		*s.At(i) = int(i)
		s.Remove(3, i)
		if *s.At(3) != int(i) {
			t.Fatalf("element %d did not move", i)
		}
	}
	if pages[3] != nil || len(s.pages) != 2 {
		t.Errorf("%d pages are left", len(s.pages))
	}
	if n := testing.AllocsPerRun(100, func() { s.Grow(pageSize); s.Remove(pageSize, pageSize) }); n != 0 {
		t.Errorf("%v allocations around the end of a page", n)
	}
	if s.Grow(2 * pageSize); *s.At(2 * pageSize) != 0 {
		t.Error("a new element is not zero")
	}
}

func TestKnownKeysAllocateNothing(t *testing.T) {
	table := newTable(t, Config{Keys: 1_000})
	all := make([]Hash, 3_000)
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range all {
		all[i] = randomHash(rng, false)
		table.Use(all[i])
	}
	i := 0
	for name, from := range map[string]int{"known": 2_500, "new": 0} {
		if n := testing.AllocsPerRun(500, func() { table.Use(all[from+i%len(all[from:])]); i++ }); n != 0 {
			t.Errorf("%s keys: %v allocations", name, n)
		}
	}
}

func BenchmarkUse(b *testing.B) {
	const keys = 100_000
	table := newTable(b, Config{Keys: keys})
	rng := rand.New(rand.NewPCG(4, 4))
	all := make([]Hash, 2*keys)
	for i := range all {
		all[i] = randomHash(rng, false)
	}
	for _, h := range all[:keys] {
		table.Use(h)
	}
	b.Run("known", func(b *testing.B) {
		at := uint64(1)
		for b.Loop() {
			at = at*6364136223846793005 + 1442695040888963407
			table.Use(all[(at>>33)%keys])
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if i++; i == len(all) {
				i = 0
			}
			table.Use(all[i])
		}
	})
}
