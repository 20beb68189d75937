package shared

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// store is a Store for one goroutine. Before a value is set, other workers may act.
type store struct {
	values map[string]value
	change uint64
	now    clock.Mark
	others func()
	// replaced is called with the text before and after.
	replaced func(before, after string)
}

type value struct {
	text   string
	change uint64
}

func newStore() *store { return &store{values: map[string]value{}, now: 1} }

func (s *store) Get(key []byte) ([]byte, uint64) {
	v, ok := s.values[string(key)]
	if !ok {
		return nil, Absent
	}
	return []byte(v.text), v.change
}

func (s *store) Swap(key, text []byte, version uint64) bool {
	if s.others != nil {
		s.others()
	}
	if s.values[string(key)].change != version {
		return false
	}
	if s.replaced != nil {
		s.replaced(s.values[string(key)].text, string(text))
	}
	s.change++
	s.values[string(key)] = value{string(text), s.change}
	return true
}

func (s *store) Now() clock.Mark { return s.now }

func compiled(c mechanism.Config) []byte {
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: c}}})
	if err != nil {
		panic(err)
	}
	k, _, _ := keep(plan.Settings(0))
	return k.form
}

// cellsOf returns cells of a form.
func cellsOf(s Store, c config) *cells {
	c.maker = makerOf(c.form)
	return newCells(s, c)
}

func configs() map[string]mechanism.Config {
	list := map[string]mechanism.Config{
		"breaker of calls": breaker.Config{Window: breaker.Calls, Count: 6, Minimum: 2, FailureRate: reducer.Percent(50), Probes: 2,
			Open: backoff.Config{Kind: backoff.Constant, Base: 40}},
		"breaker of failures in a row": breaker.Config{Window: breaker.Consecutive, Count: 2, Probes: 2,
			Open: backoff.Config{Kind: backoff.Constant, Base: 40}},
		"breaker that forgets": breaker.Config{Window: breaker.Consecutive, Count: 2, Forget: 400, Probes: 2,
			Open: backoff.Config{Kind: backoff.Constant, Base: 40}},
	}
	list["bulkhead"] = bulkhead.Config{Concurrent: 3, Lease: 60}
	list["breaker of ten buckets"] = breaker.Config{Window: breaker.Time, Span: 1_000, Count: 10, Minimum: 2, FailureRate: reducer.Percent(20), Probes: 10,
		Open: backoff.Config{Kind: backoff.Constant, Base: 400}}
	for a := range limiter.Algorithms {
		list[a.String()] = limiter.Config{Algorithm: a, Count: 3, Period: 30}
		list[a.String()+" with blocks"] = limiter.Config{Algorithm: a, Count: 3, Period: 30, Block: limiter.Block{After: 2, For: backoff.Config{Kind: backoff.Linear, Base: 20, Max: 50}}}
	}
	list["warm-up"] = limiter.Config{Count: 3, Period: 30, Burst: 2, WarmUp: limiter.WarmUp{Over: 90, Factor: 2}}
	list["warm-up with blocks"] = limiter.Config{Count: 6, Period: 60, WarmUp: limiter.WarmUp{Over: 90, Factor: 3}, Block: limiter.Block{For: backoff.Config{Kind: backoff.Constant, Base: 20}}}
	return list
}

// workers are several workers of one store, beside one cell for each key that has no
// store.
type workers struct {
	t      *testing.T
	random *rand.Rand
	store  *store
	cells  []*cells
	maker  cell.Maker
	keys   map[Hash]cell.Cell
	one    cell.Cell // without keys, or the spare one
	// permits by the hash of their keys.
	permits map[Hash][]permit
	depth   int
	verdict [8]int
}

func newWorkers(t *testing.T, random *rand.Rand, c config, count int) *workers {
	w := &workers{t: t, random: random, store: newStore(), maker: makerOf(c.form), keys: map[Hash]cell.Cell{}, permits: map[Hash][]permit{}}
	for range count {
		w.cells = append(w.cells, cellsOf(w.store, c))
	}
	if c.slots > 0 {
		w.store.replaced = w.forget
	}
	w.store.others = func() {
		// Other workers act between the read and the write of this one.
		if w.depth+1 < count && random.IntN(3) == 0 {
			w.depth++
			w.act()
			w.depth--
		}
	}
	return w
}

// act lets a worker do something at a key, and compares the answer with the answer of the cell
// without a store.
func (w *workers) act() {
	x := w.cells[w.depth] // one that is not in the middle of a step
	w.store.now = w.store.now.Add(time.Duration(w.random.IntN(8)))
	var key *Key
	if x.groups > 0 {
		k := x.keyOf(fmt.Sprint(w.random.IntN(30)))
		key = &k
	}
	a := reducer.Action{Kind: reducer.TryAcquire, Cost: 1 + uint32(w.random.IntN(2))}
	a.ID = uint64(1 + w.depth)
	if held := w.permits[hashOf(key)]; len(held) > 0 && w.random.IntN(2) == 0 {
		i := w.random.IntN(len(held))
		a = reducer.Action{Kind: reducer.Cancel, Cost: a.Cost, Permit: held[i].permit}
		switch w.random.IntN(4) {
		case 0:
			a.Kind = reducer.Release
		case 1:
			a = reducer.Action{Kind: reducer.Renew, Permit: a.Permit}
		case 2:
			a.Kind, a.Outcome = reducer.Record, reducer.Outcome(1+w.random.IntN(2))
		}
		w.permits[hashOf(key)] = append(held[:i:i], held[i+1:]...)
		if key != nil {
			*key = held[i].key
		}
	}
	exhausted, evicted := x.counts.Exhausted, x.counts.Evictions
	got, now := x.step(key, a)
	if x.counts.Exhausted > exhausted {
		w.verdict[7]++
		x.unwritten = nil
		return
	}
	assert.LessOrEqual(w.t, x.counts.Evictions, evicted+1)
	model := w.model(key, a.Kind, now)
	if model == nil {
		require.Equal(w.t, reducer.Stale, got.Verdict)
		return
	}
	var out reducer.Out
	// A timer of the driver comes before what happens at its mark.
	ended := model.Due().Ends <= now && model.Step(reducer.Action{Kind: reducer.Tick}, now, &out).Changed
	want := model.Step(a, now, &out)
	want.Changed = want.Changed || ended
	require.Equal(w.t, want, got, "%v at %v", a.Kind, now)
	w.verdict[got.Verdict]++
	if got.Verdict == reducer.Admit {
		p := permit{permit: got.Permit}
		if key != nil {
			p.key = *key
		}
		w.permits[hashOf(key)] = append(w.permits[hashOf(key)], p)
	}
}

// permit is a permit that was granted and not ended, with the key that has it.
type permit struct {
	key    Key
	permit reducer.Permit
}

// hashOf returns the hash of a key, the hash of no bytes for a step without keys.
func hashOf(key *Key) Hash {
	if key == nil {
		return Hash{}
	}
	return key.Hash
}

// forget forgets the keys that lose their slots when a group is replaced.
func (w *workers) forget(before, after string) {
	var old, next slots
	old.read([]byte(before))
	next.read([]byte(after))
	for i := range old.count {
		if h := old.list[i].hash; next.find(&h) < 0 {
			delete(w.keys, h)
			w.permits[h] = slices.DeleteFunc(w.permits[h], func(p permit) bool { return !p.key.Spare })
		}
	}
}

// model returns the cell of a key without a store.
func (w *workers) model(key *Key, k reducer.Kind, now clock.Mark) cell.Cell {
	if key == nil || key.Spare {
		if w.one == nil && begins(k) {
			w.one = w.maker.New(now)
		}
		return w.one
	}
	if w.keys[key.Hash] == nil && begins(k) {
		w.keys[key.Hash] = w.maker.New(now)
	}
	return w.keys[key.Hash]
}

// TestWorkersDecideAsOne lets workers write between the reads and the writes of others:
// all together answer as one cell without a store does.
func TestWorkersDecideAsOne(t *testing.T) {
	seed := testenv.Seed()
	for name, c := range configs() {
		for _, slots := range []uint32{0, 24} {
			t.Run(fmt.Sprintf("%s, %d slots", name, slots), func(t *testing.T) {
				var seen [8]int
				conflicts := uint64(0)
				for n := range uint64(20) {
					w := newWorkers(t, rand.New(rand.NewPCG(seed, n)), config{name: "s", form: compiled(c), slots: slots}, 3)
					for range 300 {
						w.random.Shuffle(len(w.cells), func(i, j int) { w.cells[i], w.cells[j] = w.cells[j], w.cells[i] })
						w.act()
						if t.Failed() {
							t.Fatalf("SLUICE_SEED=%d", seed)
						}
					}
					for i := range seen {
						seen[i] += w.verdict[i]
					}
					for _, x := range w.cells {
						conflicts += x.counts.Conflicts
						for _, v := range w.store.values {
							assert.LessOrEqual(t, len(v.text), valueHead+GroupSlots*slotSize)
						}
					}
				}
				assert.Greater(t, seen[reducer.Admit], 500)
				assert.Positive(t, seen[reducer.Reject])
				assert.Greater(t, conflicts, uint64(50))
			})
		}
	}
}

// TestKeyedFormsFit holds the state of a step with keys to its slot: of the usual
// configurations.
func TestKeyedFormsFit(t *testing.T) {
	list := configs()
	list["default breaker"] = breaker.Config{}
	list["breaker with the default probes"] = breaker.Config{Window: breaker.Consecutive, Count: 5, Probes: 10}
	list["breaker of sixty buckets"] = breaker.Config{Window: breaker.Time, Span: time.Minute, Count: 60}
	list["breaker of a thousand calls"] = breaker.Config{Window: breaker.Calls, Count: 1000}
	list["sliding log of a hundred"] = limiter.Config{Algorithm: limiter.SlidingLog, Count: 100, Period: time.Minute}
	list["large bulkhead"] = bulkhead.Config{Concurrent: 10_000}
	for name, c := range list {
		plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: c, Per: []string{"ip"}}}})
		require.NoError(t, err, name)
		k, _, _ := keep(plan.Settings(0))
		assert.LessOrEqual(t, k.maker.MaxSize(), StateSize, name)
	}
}

// TestLongStates has keys of one group whose states take more than the length of one byte:
// each is the answer of a cell without a store.
func TestLongStates(t *testing.T) {
	s := newStore()
	c := config{name: "s", form: compiled(limiter.Config{Algorithm: limiter.SlidingLog, Count: 100, Period: time.Hour}), slots: GroupSlots}
	workers := []*cells{cellsOf(s, c), cellsOf(s, c)}
	models := make([]cell.Cell, GroupSlots)
	for i := range models {
		models[i] = makerOf(c.form).New(s.now)
	}
	a := reducer.Action{Kind: reducer.TryAcquire, Cost: 1}
	longest := 0
	for i := range GroupSlots * 110 {
		s.now = s.now.Add(time.Second)
		n := i % len(models)
		x := workers[i%3%2]
		h := x.keyOf(fmt.Sprint(n))
		got, now := x.step(&h, a)
		var out reducer.Out
		require.Equal(t, models[n].Step(a, now, &out), got, "step %d", i)
		for _, v := range s.values {
			longest = max(longest, len(v.text))
		}
	}
	assert.Zero(t, workers[0].counts.Evictions+workers[1].counts.Evictions)
	assert.Greater(t, longest, GroupSlots*500)
	assert.LessOrEqual(t, longest, valueHead+GroupSlots*slotSize)
}

// TestBounds has more keys than slots: a value for each group and no more, and each lost
// key is counted.
func TestBounds(t *testing.T) {
	s := newStore()
	x := cellsOf(s, config{name: "s", form: compiled(limiter.Config{Count: 1, Period: time.Hour}), slots: 64})
	admitted := 0
	for i := range 1000 {
		h := x.keyOf(fmt.Sprint(i))
		if got, _ := x.step(&h, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}); got.Verdict == reducer.Admit {
			admitted++
		}
	}
	assert.Equal(t, 1000, admitted)
	assert.Equal(t, uint64(1000-64), x.counts.Evictions)
	assert.Len(t, s.values, 64/GroupSlots+1, "the groups and the configuration")
}

// lateness is how much older than its last use the recorded use of a key can be: a refusal
// that was read may be given again for barAge, and the next read records a use when rests
// ticks have passed.
const lateness = 2 * (barAge + rests<<tick)

// TestEvictionBound lets workers use more keys than there are slots: a key loses its cell
// only when every other slot of its group has a key that was used after it.
func TestEvictionBound(t *testing.T) {
	seed := testenv.Seed()
	for _, final := range []bool{false, true} {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newStore()
		config := config{name: "s", form: compiled(limiter.Config{Count: 1, Period: time.Hour}), slots: 4 * GroupSlots, final: final}
		workers := []*cells{cellsOf(s, config), cellsOf(s, config)}
		used := map[Hash]clock.Mark{}
		lost := 0
		s.replaced = func(before, after string) {
			var old, next slots
			old.read([]byte(before))
			next.read([]byte(after))
			for i := range old.count {
				gone := old.list[i].hash
				c := makerOf(config.form).New(s.now)
				require.NoError(t, c.Restore(old.list[i].state))
				if next.find(&gone) >= 0 || cell.Fresh(c, s.now) {
					continue // nothing is lost
				}
				lost++
				require.Equal(t, GroupSlots, old.count, "SLUICE_SEED=%d: a slot was free", seed)
				for j := range old.count {
					require.GreaterOrEqual(t, used[old.list[j].hash].Add(lateness), used[gone], "SLUICE_SEED=%d: it was used later than others", seed)
				}
			}
		}
		for range 20_000 {
			s.now = s.now.Add(time.Duration(random.IntN(200)) * time.Millisecond)
			x := workers[random.IntN(2)]
			h := x.keyOf(fmt.Sprint(min(random.IntN(100), random.IntN(100))))
			x.step(&h, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
			used[h.Hash] = s.now
		}
		assert.Greater(t, lost, 100)
		assert.Equal(t, uint64(lost), workers[0].counts.Evictions+workers[1].counts.Evictions)
	}
}

// TestEvictionOdds counts how many keys lose their cells while a part of as many other keys
// as there are slots are used: the odds in the guide, which are those that 8 of n others or
// more fall in one group.
func TestEvictionOdds(t *testing.T) {
	const slots, probes = 1 << 16, 1_000
	for _, c := range []struct {
		part        int
		least, most float64 // in 100
	}{{2, 4.5, 7}, {4, 0, 0.5}, {8, 0, 0}} {
		s := newStore()
		x := cellsOf(s, config{name: "s", form: compiled(limiter.Config{Count: 1, Period: time.Hour}), slots: slots})
		use := func(name string) bool {
			h := x.keyOf(name)
			got, _ := x.step(&h, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
			return got.Verdict == reducer.Admit
		}
		for i := range probes {
			use(fmt.Sprint("probe ", i))
		}
		s.now = s.now.Add(10 * time.Second)
		for i := range slots / c.part {
			use(fmt.Sprint("other ", i))
		}
		lost := 0
		for i := range probes {
			h := x.keyOf(fmt.Sprint("probe ", i))
			if got, _ := x.step(&h, reducer.Action{Kind: reducer.Peek, Cost: 1}); got.Verdict == reducer.Admit {
				lost++
			}
		}
		share := 100 * float64(lost) / probes
		assert.GreaterOrEqual(t, share, c.least, "a half, a fourth, an eighth: 1/%d", c.part)
		assert.LessOrEqual(t, share, c.most, "1/%d", c.part)
	}
}

// TestNewKeysTakeFreshCells has keys whose buckets are full again: they give way without
// a loss.
func TestNewKeysTakeFreshCells(t *testing.T) {
	s := newStore()
	x := cellsOf(s, config{name: "s", form: compiled(limiter.Config{Count: 1, Period: 100}), slots: 8})
	for i := range 100 {
		s.now = s.now.Add(20)
		h := x.keyOf(fmt.Sprint(i))
		got, _ := x.step(&h, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
		require.Equal(t, reducer.Admit, got.Verdict)
	}
	assert.Zero(t, x.counts.Evictions)
}

// TestRefusedKeysAreInUse keeps the slot of a key that is refused all the time.
func TestRefusedKeysAreInUse(t *testing.T) {
	for _, final := range []bool{false, true} {
		s := newStore()
		x := cellsOf(s, config{name: "s", form: compiled(limiter.Config{Count: 1, Period: time.Hour}), slots: 8, final: final})
		busy := x.keyOf("busy")
		admitted := 0
		for i := range 500 {
			s.now = s.now.Add(time.Second)
			if got, _ := x.step(&busy, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}); got.Verdict == reducer.Admit {
				admitted++
			}
			other := x.keyOf(fmt.Sprint(i))
			x.step(&other, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
		}
		assert.Equal(t, 1, admitted, final)
	}
}

// TestWhenFullShare gives all further keys one cell.
func TestWhenFullShare(t *testing.T) {
	s := newStore()
	x := cellsOf(s, config{name: "s", form: compiled(limiter.Config{Count: 2, Period: time.Hour}), slots: 8, whenFull: keyed.FullShare})
	admitted := 0
	for i := range 100 {
		h := x.keyOf(fmt.Sprint(i))
		if got, _ := x.step(&h, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}); got.Verdict == reducer.Admit {
			admitted++
		}
	}
	assert.Equal(t, 8+2, admitted)
	assert.Equal(t, uint64(92), x.counts.Shared)
	assert.Zero(t, x.counts.Evictions)
}

// TestFinal refuses by what was read, exactly as long as a read would.
func TestFinal(t *testing.T) {
	seed := testenv.Seed()
	random := rand.New(rand.NewPCG(seed, 3))
	for name, c := range configs() {
		if l, ok := c.(limiter.Config); !ok || l.Block.For.Kind != backoff.None {
			continue
		}
		for _, slots := range []uint32{0, 24} {
			s := newStore()
			config := config{name: "s", form: compiled(c), slots: slots}
			plain := cellsOf(s, config)
			other := newStore()
			config.final = true
			quick := []*cells{cellsOf(other, config), cellsOf(other, config)}
			for range 5_000 {
				s.now = s.now.Add(time.Duration(random.IntN(8)))
				other.now = s.now
				h := plain.keyOf(fmt.Sprint(random.IntN(6)))
				hash := &h
				if slots == 0 {
					hash = nil
				}
				a := reducer.Action{Kind: reducer.TryAcquire, Cost: 1 + uint32(random.IntN(2))}
				want, _ := plain.step(hash, a)
				got, _ := quick[random.IntN(2)].step(hash, a)
				require.Equal(t, want.Verdict, got.Verdict, "SLUICE_SEED=%d %s", seed, name)
			}
		}
	}
}

// TestConfigurations changes the rate while workers of both configurations run: what was
// taken under one counts under the other.
func TestConfigurations(t *testing.T) {
	for _, slots := range []uint32{0, 24} {
		s := newStore()
		config := config{name: "s", form: compiled(limiter.Config{Count: 10, Period: time.Hour}), slots: slots}
		old := cellsOf(s, config)
		config.form = compiled(limiter.Config{Count: 6, Period: time.Hour})
		lower := cellsOf(s, config)
		h := old.keyOf("a")
		hash := &h
		if slots == 0 {
			hash = nil
		}
		take := func(x *cells) reducer.Verdict {
			got, _ := x.step(hash, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
			return got.Verdict
		}
		for range 8 {
			assert.Equal(t, reducer.Admit, take(old))
		}
		admitted := 0
		for i := range 20 {
			if take([]*cells{old, lower}[i%2]) == reducer.Admit {
				admitted++
			}
		}
		assert.LessOrEqual(t, admitted, 2)
		assert.Zero(t, old.counts.Lost+lower.counts.Lost)

		// A state of a configuration that cannot be read admits nothing.
		for key := range s.values {
			if key[1] == form {
				delete(s.values, key)
			}
		}
		config.form = compiled(limiter.Config{Count: 7, Period: time.Hour})
		blind := cellsOf(s, config)
		assert.Equal(t, reducer.Reject, take(blind))
		assert.Equal(t, uint64(1), blind.counts.Lost)
	}
}

// TestExhausted has a store in which another worker is always first.
func TestExhausted(t *testing.T) {
	s := newStore()
	x := cellsOf(s, config{name: "s", form: compiled(breaker.Config{Window: breaker.Consecutive, Count: 3, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: 40}})})
	granted, _ := x.step(nil, reducer.Action{Kind: reducer.Acquire})
	require.Equal(t, reducer.Admit, granted.Verdict)
	s.others = func() {
		for key, v := range s.values {
			s.change++
			s.values[key] = value{v.text, s.change}
		}
	}
	record := reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail, Permit: granted.Permit}
	for range 3 {
		x.step(nil, record)
	}
	assert.Equal(t, uint64(3), x.counts.Exhausted)
	x.flush()
	assert.Len(t, x.unwritten, 3)
	s.others = nil
	x.flush()
	assert.Empty(t, x.unwritten)
	got, _ := x.step(nil, reducer.Action{Kind: reducer.Acquire})
	assert.Equal(t, reducer.ReasonOpen, got.Reason, "no vote is lost")

	limit := cellsOf(s, config{name: "t", form: compiled(limiter.Config{Count: 3, Period: time.Hour})})
	limit.step(nil, reducer.Action{Kind: reducer.Acquire, Cost: 1})
	s.others = func() {
		for key, v := range s.values {
			s.change++
			s.values[key] = value{v.text, s.change}
		}
	}
	got, _ = limit.step(nil, reducer.Action{Kind: reducer.Acquire, Cost: 1})
	assert.Equal(t, reducer.ReasonShed, got.Reason)
}

// TestText has the state of a cell for people: with keys and without, and of a key that
// has none.
func TestText(t *testing.T) {
	for _, slots := range []uint32{0, 24} {
		x := cellsOf(newStore(), config{name: "s", form: compiled(limiter.Config{Count: 3, Period: time.Hour}), slots: slots})
		k := x.keyOf("a")
		key := &k
		if slots == 0 {
			key = nil
		}
		assert.Equal(t, "free 3/3", x.text(key))
		x.step(key, reducer.Action{Kind: reducer.TryAcquire, Cost: 2})
		assert.Equal(t, "free 1/3", x.text(key))
	}
}

// TestTextOfSpareCell has the state of the cell that decided where a key has none of its
// own.
func TestTextOfSpareCell(t *testing.T) {
	x := cellsOf(newStore(), config{name: "s", form: compiled(bulkhead.Config{Concurrent: 3}), slots: 1})
	acquire := reducer.Action{Kind: reducer.TryAcquire, Permit: reducer.Permit{ID: 1}}
	own, other := x.keyOf("own"), x.keyOf("other")
	x.step(&own, acquire)
	for range 2 {
		x.step(&other, acquire)
	}
	assert.Equal(t, "held 1/3 members 1", x.text(&own))
	assert.Equal(t, "held 2/3 members 1", x.text(&other))
	got, _ := x.step(&other, acquire)
	require.Equal(t, reducer.Admit, got.Verdict)
	got, _ = x.step(&other, acquire)
	require.Equal(t, reducer.Reject, got.Verdict)
	assert.Equal(t, "held 3/3 members 1", x.text(&other))
}

// TestHash compares with the vector of the reference implementation of SipHash-2-4 of
// 128 bits: the key 00 to 0f, and no bytes and bytes 00 to 0e.
func TestHash(t *testing.T) {
	k := Seed{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	assert.Equal(t, "a3817f04ba25a8e66df67214c7550293", fmt.Sprintf("%x", k.Of("")))
	assert.Equal(t, "5493e99933b0a8117e08ec0f97cfc3d9", fmt.Sprintf("%x", k.Of("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e")))
}

// TestSharedSeed gives all workers the seed of the first.
func TestSharedSeed(t *testing.T) {
	s := newStore()
	first := SharedSeed(s, []byte("seed"), Seed{1, 2})
	assert.Equal(t, Seed{1, 2}, first)
	assert.Equal(t, first, SharedSeed(s, []byte("seed"), Seed{3, 4}))
}

// FuzzValues reads values that something else has written.
func FuzzValues(f *testing.F) {
	for _, c := range configs() {
		s := newStore()
		x := cellsOf(s, config{name: "s", form: compiled(c), slots: 8})
		for i := range 5 {
			h := x.keyOf(fmt.Sprint(i))
			x.step(&h, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
		}
		for _, v := range s.values {
			f.Add([]byte(v.text))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, c := range configs() {
			for _, slots := range []uint32{0, 8} {
				s := newStore()
				x := cellsOf(s, config{name: "s", form: compiled(c), slots: slots})
				h := x.keyOf("a")
				hash := &h
				x.name(group, 0)
				if slots == 0 {
					hash = nil
					x.name(one, 0)
				}
				s.values[string(x.key)] = value{string(src), 7}
				for range 3 {
					x.step(hash, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
					s.now = s.now.Add(10)
				}
			}
		}
	})
}
