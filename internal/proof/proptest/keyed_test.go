package proptest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// The table of keys against a list of keys in the order of their last use.

// keyTable is a keyed.Table, or a mutant of it.
type keyTable interface {
	Use(h keyed.Hash) (uint32, keyed.Use)
	Find(h keyed.Hash) (uint32, bool)
	Pin(index uint32)
	Unpin(index uint32)
	SetHeld(index uint32, held bool)
	Remove(index uint32) uint32
	Configure(c keyed.Config) error
	Trim() (gone, last uint32, ok bool)
	Handle(index uint32) keyed.Handle
	Resolve(h keyed.Handle) (uint32, bool)
	ByUse(dst []uint32) []uint32
	Counts() keyed.Counts
	SetHolder(h keyed.Holder)
	Stepped(index uint32)
	SetBlock(index uint32, runs bool, until clock.Mark)
	MayBlock() bool
}

// naiveKey is a key with a cell.
type naiveKey struct {
	name   uint64
	cell   uint64 // number of its cell, which no other cell has
	pins   int
	marked bool
	passed bool // it was old enough, or held or blocked, when a victim was looked for
	// ends are the marks at which the cell is no longer blocked, used up, in use.
	ends [3]clock.Mark
}

// class returns the class of the cell, and until when it has it.
func (k *naiveKey) class(now clock.Mark) (reducer.Class, clock.Mark) {
	for i, end := range k.ends {
		if now < end {
			return reducer.Blocked - reducer.Class(i), end
		}
	}
	return reducer.Unused, clock.Never
}

func (k *naiveKey) held() bool { return k.pins > 0 || k.marked }

// naiveTable is the keys in the order of their last use.
type naiveTable struct {
	config keyed.Config
	keys   []*naiveKey
	cells  uint64
	counts keyed.Counts
	now    clock.Mark
	// classes counts the evictions by the classes of their cells.
	classes [reducer.Blocked + 1]int
}

func (n *naiveTable) find(name uint64) int {
	return slices.IndexFunc(n.keys, func(k *naiveKey) bool { return k.name == name })
}

// evict returns the name of the key to evict, and false when all are held. It looks at
// every key: those that are old enough, and, where all of these are held or blocked,
// the next ones.
func (n *naiveTable) evict() (name uint64, ok bool) {
	listed := 0
	for _, k := range n.keys {
		if !k.passed {
			listed++
		}
	}
	victim, least := -1, reducer.Blocked+1
	for i, k := range n.keys {
		if !k.passed && 2*listed < len(n.keys) && least < reducer.Blocked {
			break
		}
		if !k.passed {
			k.passed = true
			listed--
		}
		if class, _ := k.class(n.now); !k.held() && class < least {
			victim, least = i, class
		}
	}
	if victim < 0 {
		return 0, false
	}
	name = n.keys[victim].name
	n.keys = slices.Delete(n.keys, victim, victim+1)
	n.counts.Evictions++
	n.classes[least]++
	return name, true
}

func (n *naiveTable) use(name uint64) (how keyed.Use, victim uint64) {
	if i := n.find(name); i >= 0 {
		k := n.keys[i]
		n.keys = append(slices.Delete(n.keys, i, i+1), k)
		k.passed = false
		return keyed.Known, 0
	}
	how = keyed.Added
	if len(n.keys) >= int(n.config.Keys) {
		how = keyed.Shared
		if n.config.WhenFull == keyed.FullEvict {
			var ok bool
			if victim, ok = n.evict(); ok {
				how = keyed.Evicted
			}
		}
	}
	if how == keyed.Shared {
		n.counts.Shared++
	} else {
		n.cells++
		n.keys = append(n.keys, &naiveKey{name: name, cell: n.cells})
	}
	return how, victim
}

// keyTrial is a table beside the naive one, and a holder that writes at each
// index which key has the cell.
type keyTrial struct {
	table keyTable
	naive naiveTable
	cells []uint64 // names by index
	names []keyed.Handle
	named []uint64 // by the cells of names
	met   map[keyed.Use]int
}

func newKeyTrial(c keyed.Config, mutant func(*keyed.Table) keyTable) *keyTrial {
	table, err := keyed.New(c)
	if err != nil {
		panic(err)
	}
	t := &keyTrial{table: table, naive: naiveTable{config: c}, cells: make([]uint64, 1), met: map[keyed.Use]int{}}
	if mutant != nil {
		t.table = mutant(table)
	}
	t.table.SetHolder(t)
	return t
}

// Now implements keyed.Holder.
func (t *keyTrial) Now() clock.Mark { return t.naive.now }

// Class implements keyed.Holder.
func (t *keyTrial) Class(index uint32) (reducer.Class, clock.Mark) {
	return t.naive.keys[t.naive.find(t.cells[index])].class(t.naive.now)
}

// step changes the class of a cell without a use of its key.
func (t *keyTrial) step(rng *rand.Rand, name uint64) error {
	i := t.naive.find(name)
	index, ok := t.table.Find(hashOf(name))
	if i < 0 || !ok {
		return nil
	}
	k := t.naive.keys[i]
	k.ends = [3]clock.Mark{}
	for class := range k.ends {
		if rng.IntN(2) == 0 {
			k.ends[class] = t.naive.now.Add(time.Duration(rng.IntN(60)))
		}
	}
	runs, n := t.naive.now < k.ends[0], 0
	for _, other := range t.naive.keys {
		if other != k && t.naive.now < other.ends[0] {
			n++
		}
	}
	// A step that begins no block leaves none.
	t.table.SetBlock(index, false, 0)
	may := t.naive.config.WhenFull == keyed.FullShare || n < int(t.naive.config.Keys/2)
	if got := t.table.MayBlock(); got != may {
		return fmt.Errorf("%d of %d keys are blocked, and another one may be: %t", n, t.naive.config.Keys, got)
	}
	if runs && !may {
		k.ends[0], runs = 0, false
	}
	t.table.SetBlock(index, runs, k.ends[0])
	t.table.Stepped(index)
	return nil
}

// hashOf gives some keys hashes that differ in few bits.
func hashOf(name uint64) keyed.Hash {
	if name%4 == 0 {
		return keyed.Hash{Lo: name}
	}
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, name))
	return keyed.Hash{Hi: binary.LittleEndian.Uint64(sum[:]), Lo: binary.LittleEndian.Uint64(sum[8:])}
}

func (t *keyTrial) use(name uint64) error {
	index, got := t.table.Use(hashOf(name)) // asks for the classes
	how, victim := t.naive.use(name)
	t.met[how]++
	switch {
	case got != how:
		return fmt.Errorf("use %d: %d, want %d", name, got, how)
	case (how == keyed.Shared) != (index == keyed.Spare):
		return fmt.Errorf("use %d: index %d", name, index)
	case how == keyed.Added && int(index) != len(t.cells):
		return fmt.Errorf("use %d: a new cell at %d of %d", name, index, len(t.cells))
	case how == keyed.Added:
		t.cells = append(t.cells, name)
	case how == keyed.Evicted && t.cells[index] != victim:
		return fmt.Errorf("use %d: evicts %d, want %d", name, t.cells[index], victim)
	case how == keyed.Evicted:
		t.cells[index] = name
	case how == keyed.Known && t.cells[index] != name:
		return fmt.Errorf("use %d: the cell of %d", name, t.cells[index])
	}
	return nil
}

// hold pins a key (+1), releases it (-1), marks it (+2) or takes the mark (-2).
func (t *keyTrial) hold(name uint64, how int) {
	i := t.naive.find(name)
	index, ok := t.table.Find(hashOf(name))
	if i < 0 || !ok {
		return
	}
	switch k := t.naive.keys[i]; {
	case how == 1:
		k.pins++
		t.table.Pin(index)
	case how == -1 && k.pins > 0:
		k.pins--
		t.table.Unpin(index)
	case how == 2, how == -2:
		k.marked = how == 2
		t.table.SetHeld(index, k.marked)
	}
}

// move does the work of a holder after a key was removed.
func (t *keyTrial) move(index, last uint32) {
	t.cells[index] = t.cells[last]
	t.cells = t.cells[:last]
}

func (t *keyTrial) remove(name uint64) {
	i := t.naive.find(name)
	index, ok := t.table.Find(hashOf(name))
	if i < 0 || !ok {
		return
	}
	t.naive.keys = slices.Delete(t.naive.keys, i, i+1)
	t.move(index, t.table.Remove(index))
}

func (t *keyTrial) configure(c keyed.Config) error {
	t.naive.config = c
	if err := t.table.Configure(c); err != nil {
		return err
	}
	for {
		gone, last, ok := t.table.Trim()
		want, trims := uint64(0), len(t.naive.keys) > int(c.Keys)
		if trims {
			want, trims = t.naive.evict()
		}
		if ok != trims {
			return fmt.Errorf("trim: %t, want %t", ok, trims)
		}
		if !ok {
			return nil
		}
		if t.cells[gone] != want {
			return fmt.Errorf("trim: evicts %d, want %d", t.cells[gone], want)
		}
		t.move(gone, last)
	}
}

// name keeps a handle.
func (t *keyTrial) name(name uint64) {
	i := t.naive.find(name)
	if index, ok := t.table.Find(hashOf(name)); ok && i >= 0 {
		t.names = append(t.names, t.table.Handle(index))
		t.named = append(t.named, t.naive.keys[i].cell)
	}
}

// check compares all results.
func (t *keyTrial) check() error {
	want := t.naive.counts
	var order []uint64
	for _, k := range t.naive.keys {
		want.Keys++
		if k.held() {
			want.Held++
		}
		order = append(order, k.name)
		if index, ok := t.table.Find(hashOf(k.name)); !ok || t.cells[index] != k.name {
			return fmt.Errorf("key %d is not found", k.name)
		}
	}
	got := t.table.Counts()
	if got.Bytes = 0; got != want {
		return fmt.Errorf("counts %+v, want %+v", got, want)
	}
	var byUse []uint64
	for _, index := range t.table.ByUse(nil) {
		byUse = append(byUse, t.cells[index])
	}
	if !slices.Equal(byUse, order) {
		return fmt.Errorf("the keys by use are %d, want %d", byUse, order)
	}
	for i, h := range t.names {
		at := slices.IndexFunc(t.naive.keys, func(k *naiveKey) bool { return k.cell == t.named[i] })
		index, ok := t.table.Resolve(h)
		if ok != (at >= 0) || ok && t.cells[index] != t.naive.keys[at].name {
			return fmt.Errorf("a handle resolves to %d, %t, want %t", index, ok, at >= 0)
		}
	}
	if _, ok := t.table.Resolve(keyed.Handle{}); ok {
		return fmt.Errorf("the zero handle names a cell")
	}
	return nil
}

// drawnKeys runs histories that are drawn.
func drawnKeys(mutant func(*keyed.Table) keyTable) error {
	met, classes := map[keyed.Use]int{}, [reducer.Blocked + 1]int{}
	for n := range 60 * testenv.Times() {
		rng := rand.New(rand.NewPCG(testenv.Seed(), uint64(n)))
		most := 1 + rng.Uint32N([]uint32{4, 30, 400}[n%3])
		draw := func() keyed.Config {
			return keyed.Config{Keys: 1 + rng.Uint32N(most), WhenFull: keyed.WhenFull(rng.IntN(4) / 3)}
		}
		t := newKeyTrial(draw(), mutant)
		t.met = met
		for step := range 1_000 {
			var err error
			switch name := rng.Uint64N(uint64(most) * 2); rng.IntN(20) {
			case 0, 1:
				t.hold(name, 1)
			case 2, 3:
				t.hold(name, -1)
			case 4:
				t.hold(name, 2)
			case 5, 6:
				t.hold(name, -2)
			case 7:
				if rng.IntN(4) == 0 {
					t.remove(name)
				}
				t.naive.now = t.naive.now.Add(time.Duration(rng.IntN(20)))
			case 9, 10, 11:
				err = t.step(rng, name)
			case 8:
				if t.name(name); rng.IntN(20) == 0 {
					err = t.configure(draw())
				}
			default:
				err = t.use(name)
			}
			if err == nil && (most < 40 || step%50 == 0) {
				err = t.check()
			}
			if err != nil {
				return fmt.Errorf("SLUICE_SEED=%d, history %d, step %d: %w", testenv.Seed(), n, step, err)
			}
		}
		for class, n := range t.naive.classes {
			classes[class] += n
		}
	}
	for class, n := range classes {
		if n < 50 {
			return fmt.Errorf("%w: %d evictions of class %d", errRare, n, class)
		}
	}
	for how := keyed.Known; how <= keyed.Shared; how++ {
		if met[how] < 500 {
			return fmt.Errorf("%w: %d uses of kind %d", errRare, met[how], how)
		}
	}
	return nil
}

// allKeys runs all histories of five steps over three keys and two cells.
func allKeys(mutant func(*keyed.Table) keyTable) error {
	const keys, verbs, depth = 3, 4, 5
	history := make([]int, depth)
	for {
		t := newKeyTrial(keyed.Config{Keys: 2}, mutant)
		for _, step := range history {
			var err error
			switch name := uint64(step % keys); step / keys {
			case 0:
				err = t.use(name)
				t.name(name)
			case 1:
				t.hold(name, 1)
			case 2:
				t.hold(name, -1)
			default:
				t.remove(name)
			}
			if err == nil {
				err = t.check()
			}
			if err != nil {
				return fmt.Errorf("history %v: %w", history, err)
			}
		}
		at := 0
		for ; at < depth; at++ {
			if history[at]++; history[at] < keys*verbs {
				break
			}
			history[at] = 0
		}
		if at == depth {
			return nil
		}
	}
}

// Mutants of the table.
type (
	// byAge evicts the oldest key instead of the least recently used.
	byAge struct{ *keyed.Table }
	// blindToPins evicts cells that are held.
	blindToPins struct{ *keyed.Table }
	// renewed counts a release as a use.
	renewed struct{ *keyed.Table }
	// oneMore holds one more key than its bound.
	oneMore struct{ *keyed.Table }
	// nameless resolves a handle by its index alone.
	nameless struct{ *keyed.Table }
	// unmoved does not update the handle of a cell that moved.
	unmoved struct{ *keyed.Table }
	// classless evicts the least recently used key.
	classless struct{ *keyed.Table }
	// timeless does not notice that time changes a class.
	timeless struct{ *keyed.Table }
	// unstepped does not notice a step without a use.
	unstepped struct{ *keyed.Table }
	// unbounded lets all keys be blocked.
	unbounded struct{ *keyed.Table }
	// deaf does not notice that a block has ended before its time.
	deaf struct{ *keyed.Table }
)

// flat has one class for all cells.
type flat struct{ keyed.Holder }

func (flat) Class(uint32) (reducer.Class, clock.Mark) { return reducer.InUse, clock.Never }

func (m classless) SetHolder(h keyed.Holder) { m.Table.SetHolder(flat{h}) }

// frozen says that time changes no class.
type frozen struct{ keyed.Holder }

func (f frozen) Class(index uint32) (reducer.Class, clock.Mark) {
	class, _ := f.Holder.Class(index)
	return class, clock.Never
}

func (m timeless) SetHolder(h keyed.Holder) { m.Table.SetHolder(frozen{h}) }

func (m unstepped) Stepped(uint32) {}

func (m unbounded) MayBlock() bool { return true }

func (m deaf) SetBlock(index uint32, runs bool, until clock.Mark) {
	if runs {
		m.Table.SetBlock(index, runs, until)
	}
}

func (m byAge) Use(h keyed.Hash) (uint32, keyed.Use) {
	if index, ok := m.Find(h); ok {
		return index, keyed.Known
	}
	return m.Table.Use(h)
}

func (m blindToPins) Pin(uint32)   {}
func (m blindToPins) Unpin(uint32) {}

func (m renewed) Unpin(index uint32) {
	m.Table.Unpin(index)
	m.Touch(index)
}

func (m oneMore) Use(h keyed.Hash) (uint32, keyed.Use) {
	if index, ok := m.Find(h); ok {
		m.Touch(index)
		return index, keyed.Known
	}
	return m.Add(h, m.Room() || m.Len() == 2)
}

func (m nameless) Resolve(h keyed.Handle) (uint32, bool) {
	return h.Index, h.Index != keyed.Spare && h.Index <= m.Len()
}

func (m unmoved) Resolve(h keyed.Handle) (uint32, bool) {
	return h.Index, h.Index != keyed.Spare && h.Index <= m.Len() && m.Handle(h.Index) == h
}

// keyedDefects are the statements of the check of a table and the mutants that it
// finds.
var keyedDefects = []struct {
	name, statement, mutant string
	plant                   func(*keyed.Table) keyTable
}{
	{"G23", "above the bound a key is evicted that is not held, of one class the least recently used; an acquire is a use, also when it is refused",
		"evicts the oldest key", func(t *keyed.Table) keyTable { return byAge{t} }},
	{"G23", "a held cell is never evicted; when all cells are held, new keys share the overflow cell",
		"ignores pins", func(t *keyed.Table) keyTable { return blindToPins{t} }},
	{"G23", "a cell that was held keeps the position of its last acquire",
		"counts a release as a use", func(t *keyed.Table) keyTable { return renewed{t} }},
	{"G23", "there are never more keys than the bound; evictions and uses of the overflow cell are counted",
		"holds a third key", func(t *keyed.Table) keyTable { return oneMore{t} }},
	{"EV1", "of the cells that were not used for longer than half of the others an unused one goes first, then one in use, one that is used up, a blocked one; no running block goes while another cell can",
		"evicts the least recently used", func(t *keyed.Table) keyTable { return classless{t} }},
	{"EV1", "a cell whose block ends, or which fills up, gives way as what it is then",
		"does not notice that time changes a class", func(t *keyed.Table) keyTable { return timeless{t} }},
	{"EV1", "a step that is no use of its key changes how its cell gives way",
		"does not notice a step without a use", func(t *keyed.Table) keyTable { return unstepped{t} }},
	{"EV1", "at most half of the keys have a running block",
		"lets all keys be blocked", func(t *keyed.Table) keyTable { return unbounded{t} }},
	{"EV1", "a block that ended, by time or by a reset, makes room for another one",
		"does not notice a block that a step has ended", func(t *keyed.Table) keyTable { return deaf{t} }},
	{"L14", "no two keys share a cell, and a handle never refers to the cell of another key",
		"checks only the index of a handle", func(t *keyed.Table) keyTable { return nameless{t} }},
	{"L14", "a handle refers to its cell also after the cell has moved",
		"does not update the handle of a cell that moved", func(t *keyed.Table) keyTable { return unmoved{t} }},
}

// keyedLines are the rows of the table of keys. One check covers all statements.
func keyedLines() (all []row) {
	sound := sync.OnceValue(func() error { return drawnKeys(nil) })
	for _, d := range keyedDefects {
		all = append(all, row{d.name, d.statement, byDifference, []trial{{"table of keys", sound}},
			trial{"table of keys that " + d.mutant, func() error { return drawnKeys(d.plant) }}})
	}
	return all
}

// TestKeysExplored runs all short histories, in which all cells are of one class.
func TestKeysExplored(t *testing.T) {
	if err := allKeys(nil); err != nil {
		t.Error(err)
	}
	for _, d := range keyedDefects {
		if d.name != "EV1" && allKeys(d.plant) == nil {
			t.Errorf("no history finds a table that %s", d.mutant)
		}
	}
}
