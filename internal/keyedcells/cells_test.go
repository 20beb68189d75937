package keyedcells

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// place is a cell with one place: the caller that has it holds the cell.
type place struct {
	cell.Cell
	number int
	taken  bool
}

func (p *place) Held() bool { return p.taken }

func (p *place) Fresh(clock.Mark) bool { return !p.taken }

func (p *place) Class(clock.Mark) (reducer.Class, clock.Mark) { return reducer.Steady(!p.taken) }

// places counts what it makes.
type places struct{ made atomic.Int64 }

func (m *places) New(clock.Mark) cell.Cell { return &place{number: int(m.made.Add(1))} }

func (m *places) Adopt(cell.Cell, clock.Mark, *reducer.Out) bool { return true }

func (m *places) MaxSize() int { return 0 }

func keep(_ Ref, old cell.Cell, _ cell.Maker) cell.Cell { return old }

func newCells(t testing.TB, c Config) *Cells {
	t.Helper()
	cells, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// take uses a key, and takes its place where take says so.
func take(c *Cells, key string, take bool) (number int, h keyed.Handle, how keyed.Use) {
	r, _, how := c.Use(key, 0)
	defer r.Unlock()
	p := r.Cell().(*place)
	p.taken = p.taken || take
	return p.number, r.Handle(), how
}

// release returns the place of a handle, and reports whether it had a cell.
func release(c *Cells, h keyed.Handle) bool {
	r, ok := c.Resolve(h)
	if ok {
		r.Cell().(*place).taken = false
		r.Unlock()
	}
	return ok
}

// TestKeysKeepTheirCells uses keys at random, and looks for one that has lost its
// cell though fewer than half of all keys were used since its own last use.
func TestKeysKeepTheirCells(t *testing.T) {
	for seed, keys := range []int{1, 2, 3, 4, 7, 50, 1_000, 5_000} {
		rng := rand.New(rand.NewPCG(1, uint64(seed)))
		c := newCells(t, Config{Config: keyed.Config{Keys: uint32(keys)}, Maker: &places{}})
		numbers, at := map[string]int{}, map[string]int{}
		uses, met := 0, 0
		for range 40*keys + 1_000 {
			// The keys that were used last are used again as often as others.
			key := strconv.Itoa(rng.IntN(4 * keys))
			if rng.IntN(2) == 0 {
				key = strconv.Itoa(uses % (keys/4 + 1))
			}
			uses++
			number, _, how := take(c, key, false)
			if how == keyed.Shared {
				t.Fatal("a cell is shared, and none is held")
			}
			// Fewer uses than half are fewer keys than half.
			if before, known := numbers[key]; known && uses-at[key] <= keys/2 {
				met++
				if number != before {
					t.Fatalf("seed %d: of %d keys one lost its cell after %d uses", seed, keys, uses-at[key])
				}
			}
			numbers[key], at[key] = number, uses
		}
		if counts := c.Counts(); counts.Keys != uint32(keys) || counts.Evictions == 0 {
			t.Errorf("%d keys: %+v", keys, counts)
		}
		if keys > 3 && met < keys {
			t.Errorf("%d keys: only %d uses were compared", keys, met)
		}
	}
}

func TestHeldCellsStay(t *testing.T) {
	for _, keys := range []int{1, 10, 3_000} {
		c := newCells(t, Config{Config: keyed.Config{Keys: uint32(keys)}, Maker: &places{}})
		var handles []keyed.Handle
		for i := range keys {
			_, h, _ := take(c, strconv.Itoa(i), true)
			handles = append(handles, h)
		}
		shared, h, how := take(c, "new", false)
		if how != keyed.Shared {
			t.Fatalf("how %d, want shared", how)
		}
		if again, _, _ := take(c, "newer", false); again != shared {
			t.Error("new keys have different spare cells")
		}
		if !release(c, h) {
			t.Error("the spare cell has no handle")
		}
		// The key that is not held is evicted, whatever its shard.
		if !release(c, handles[keys/2]) {
			t.Fatal("a held cell is gone")
		}
		if _, _, how := take(c, "newest", true); how == keyed.Shared {
			t.Error("a cell is shared though one is not held")
		}
		if release(c, handles[keys/2]) {
			t.Error("a handle of an evicted cell names one")
		}
		for i, h := range handles {
			if i != keys/2 && !release(c, h) {
				t.Fatal("a held cell is gone")
			}
		}
		if got := c.Counts(); got.Keys != uint32(keys) || got.Held != 1 || got.Shared != 2 || got.Evictions != 1 {
			t.Errorf("%+v", got)
		}
	}
}

func TestFullShare(t *testing.T) {
	c := newCells(t, Config{Config: keyed.Config{Keys: 3_000, WhenFull: keyed.FullShare}, Maker: &places{}, Names: true})
	for i := range 3_000 {
		if _, _, how := take(c, strconv.Itoa(i), false); how != keyed.Added {
			t.Fatalf("key %d: %d", i, how)
		}
		if i == 2_998 {
			if _, ok := c.Find("new"); ok {
				t.Error("a new key is found before the step is full")
			}
		}
	}
	number, _, _ := take(c, "new", false)
	again, _, how := take(c, "newer", false)
	if number != again || how != keyed.Shared {
		t.Errorf("cells %d and %d, %d", number, again, how)
	}
	r, ok := c.Find("newest")
	if !ok || !r.Shared() || r.Key() != "" || r.Cell().(*place).number != number {
		t.Fatal("the spare cell is not found")
	}
	r.Unlock()
	all := 0
	c.Each(func(r Ref) { all++ })
	if got := c.Counts(); got.Shared != 2 || got.Evictions != 0 || all != 3_001 {
		t.Errorf("%+v, %d cells", got, all)
	}
}

// TestConfigureKeepsCells changes the number of keys, which changes the number of
// shards too, and follows cells by their keys and handles.
func TestConfigureKeepsCells(t *testing.T) {
	c := newCells(t, Config{Config: keyed.Config{Keys: 9_000}, Maker: &places{}, Names: true})
	numbers, handles, sides := map[string]int{}, map[string]keyed.Handle{}, 0
	for i := range 900 {
		key := strconv.Itoa(i)
		numbers[key], handles[key], _ = take(c, key, i%2 == 0)
		r, _ := c.Find(key)
		r.SetSide(i)
		r.Unlock()
	}
	evictions := uint64(0)
	for _, keys := range []uint32{500_000, 2_048, 700, 700, 100_000, 460, 3} {
		next := Config{Config: keyed.Config{Keys: keys}, Maker: &places{}, Names: true}
		if err := c.Configure(next, 1, keep); err != nil {
			t.Fatal(err)
		}
		counts := c.Counts()
		if want := max(min(uint32(900-evictions), keys), 450); counts.Keys != want || counts.Held != 450 {
			t.Fatalf("%d keys: %+v", keys, counts)
		}
		evictions = counts.Evictions
		if uint64(counts.Keys)+evictions != 900 {
			t.Fatalf("%d keys: %+v", keys, counts)
		}
		sides = 0
		for key, h := range handles {
			r, ok := c.Resolve(h)
			found, known := uint32(0), false
			if ok {
				n, _ := strconv.Atoi(key)
				if r.Cell().(*place).number != numbers[key] || r.Key() != key || r.Side() != n {
					t.Fatalf("%d keys: the handle of %s names cell %d of %s, beside %v, want %d", keys, key, r.Cell().(*place).number, r.Key(), r.Side(), numbers[key])
				}
				sides++
				r.Unlock()
			}
			if f, k := c.Find(key); k {
				found, known = uint32(f.Cell().(*place).number), true
				f.Unlock()
			}
			if known != ok || ok && int(found) != numbers[key] {
				t.Fatalf("%d keys: key %s: found %t, resolved %t", keys, key, known, ok)
			}
		}
		if sides != int(counts.Keys) {
			t.Fatalf("%d keys: %d sides of %d", keys, sides, counts.Keys)
		}
	}
	// Keys whose cells are released are evicted when another key comes.
	for _, h := range handles {
		release(c, h)
	}
	if counts := c.Counts(); counts.Keys != 450 {
		t.Errorf("%+v", counts)
	}
	take(c, "new", false)
	if counts := c.Counts(); counts.Keys != 3 || counts.Held != 0 {
		t.Errorf("%+v", counts)
	}
	if err := c.Configure(Config{}, 1, keep); err == nil {
		t.Error("0 keys are accepted")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("0 keys are accepted")
	}
}

// TestConfigureKeepsTheOrder lowers the keys of many shards: those that were used
// last stay.
func TestConfigureKeepsTheOrder(t *testing.T) {
	c := newCells(t, Config{Config: keyed.Config{Keys: 100_000}, Maker: &places{}})
	for i := range 10_000 {
		take(c, strconv.Itoa(i), false)
	}
	if err := c.Configure(Config{Config: keyed.Config{Keys: 1_000}, Maker: &places{}}, 1, keep); err != nil {
		t.Fatal(err)
	}
	for i := 9_750; i < 10_000; i++ {
		r, ok := c.Find(strconv.Itoa(i))
		if !ok {
			t.Fatalf("key %d of 10000 gave way", i)
		}
		r.Unlock()
	}
}

func limits(t testing.TB, c limiter.Config) Config {
	t.Helper()
	// What the runner knows from its plan.
	maker, err := limiter.Cells(c)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Config: keyed.Config{Keys: 3_000}, Maker: maker, Names: true, Reuse: true}
	if c.Algorithm == limiter.TokenBucket && c.Queue == 0 {
		config.Bucket, err = limiter.New(c)
		if err != nil {
			t.Fatal(err)
		}
	}
	return config
}

func carryOver(_ Ref, old cell.Cell, next cell.Maker) cell.Cell {
	return cell.Adopt(next, old, clock.Mark(time.Hour), new(reducer.Out))
}

// TestConfigureCarriesStates goes through limits of all forms: free permits are
// carried over.
func TestConfigureCarriesStates(t *testing.T) {
	bucket := limiter.Config{Count: 10, Period: 10 * time.Hour}
	queue, window := bucket, bucket
	queue.Wait, queue.Queue = time.Hour, 5
	window.Algorithm = limiter.FixedWindow
	c := newCells(t, limits(t, bucket))
	now := clock.Mark(time.Hour)
	for i := range 50 {
		r, at, _ := c.Use(strconv.Itoa(i), now)
		if answer := r.Cell().Step(reducer.Action{Kind: reducer.TryAcquire, Cost: uint32(1 + i%7)}, at, r.Out()); answer.Verdict != reducer.Admit {
			t.Fatalf("%+v", answer)
		}
		r.Unlock()
	}
	for i, next := range []limiter.Config{queue, bucket, window, queue, window, bucket, bucket} {
		if err := c.Configure(limits(t, next), now, carryOver); err != nil {
			t.Fatal(err)
		}
		seen := 0
		c.Each(func(r Ref) {
			seen++
			n, _ := strconv.Atoi(r.Key())
			answer := r.Cell().Step(reducer.Action{Kind: reducer.Peek, Cost: 1}, now, r.Out())
			if answer.Free != uint32(9-n%7) {
				t.Errorf("step %d: key %d has %d permits free", i, n, answer.Free)
			}
			if text := r.Text(now); !strings.Contains(text, fmt.Sprintf("%d/10", answer.Free)) && !strings.Contains(text, fmt.Sprintf("%d/10", 1+n%7)) {
				t.Errorf("step %d: %q", i, text)
			}
			if r.Fresh(now) {
				t.Errorf("step %d: key %d is fresh", i, n)
			}
		})
		if seen != 50 {
			t.Errorf("step %d: %d keys", i, seen)
		}
	}
}

// TestConfigureKeepsWaiters takes the queue away from a limit at which a caller
// waits, and changes the number of shards.
func TestConfigureKeepsWaiters(t *testing.T) {
	bucket := limiter.Config{Count: 1, Period: time.Second}
	queue := bucket
	queue.Wait, queue.Queue = time.Hour, 5
	c := newCells(t, limits(t, queue))
	for i := range 100 {
		c.Enter(strconv.Itoa(i), 1, 0)
	}
	r, at, _ := c.Use("7", 0)
	if answer := r.Cell().Step(reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 70}}, at, r.Out()); answer.Verdict != reducer.Wait {
		t.Fatalf("%+v", answer)
	}
	h := r.Handle()
	r.Unlock()
	for _, keys := range []uint32{3_000, 50_000, 10, 3_000} {
		next := limits(t, bucket)
		next.Keys = keys
		if err := c.Configure(next, 0, carryOver); err != nil {
			t.Fatal(err)
		}
		if got := c.Counts(); got.Held != 1 || got.Keys != min(keys, 100) && got.Keys != 10 {
			t.Errorf("%d keys: %+v", keys, got)
		}
		r, ok := c.Resolve(h)
		if !ok {
			t.Fatalf("%d keys: the cell is gone", keys)
		}
		if caller := r.Cell().Due().Caller; caller != 70 {
			t.Errorf("%d keys: caller %d is served next", keys, caller)
		}
		r.Unlock()
	}
	r, _ = c.Resolve(h)
	r.Cell().Step(reducer.Action{Kind: reducer.Serve}, clock.Mark(2*time.Hour), r.Out())
	r.Unlock()
	if err := c.Configure(limits(t, bucket), 0, carryOver); err != nil {
		t.Fatal(err)
	}
	if r, ok := c.Resolve(h); !ok || r.s.config.Bucket == nil {
		t.Error("the bucket is not in place after the wait")
	} else {
		r.Unlock()
	}
}

// TestBucketIsACell compares the token bucket in place with the cell of the same
// limit, step by step.
func TestBucketIsACell(t *testing.T) {
	limit := limiter.Config{Count: 3, Period: 3 * time.Second, Burst: 5}
	config := limits(t, limit)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(2, seed))
		c := newCells(t, config)
		now := clock.Mark(rng.Int64N(1 << 40))
		want := config.Maker.New(now)
		r, _, _ := c.Use("key", now)
		r.Unlock()
		var out reducer.Out
		var permits []reducer.Permit
		kinds := []reducer.Kind{reducer.TryAcquire, reducer.Acquire, reducer.Reserve, reducer.Cancel, reducer.Peek, reducer.Drain, reducer.Reset}
		for step := range 300 {
			r, ok := c.Find("key")
			if !ok {
				t.Fatal("the key is gone")
			}
			got := r.Cell()
			a := reducer.Action{Kind: kinds[rng.IntN(len(kinds))], Cost: rng.Uint32N(4), Permit: reducer.Permit{Mark: now.Add(time.Minute)}}
			if rng.IntN(2) == 0 {
				a.Kind = kinds[rng.IntN(5)]
			}
			if a.Kind == reducer.Cancel {
				a.Permit = reducer.Permit{}
				if len(permits) > 0 {
					a.Permit = permits[rng.IntN(len(permits))]
				}
			}
			switch {
			case rng.IntN(5) == 0:
				p, ok := got.Enter(a.Cost, 0, clock.Never, now)
				if q, also := want.Enter(a.Cost, 0, clock.Never, now); p != q || ok != also {
					t.Fatalf("seed %d, step %d: enter %v %t, want %v %t", seed, step, p, ok, q, also)
				}
			case rng.IntN(20) == 0:
				state := got.AppendState(nil)
				if err := got.Revive(state, time.Second); err != nil {
					t.Fatal(err)
				}
				_ = want.Revive(state, time.Second)
			default:
				answer, other := got.Step(a, now, r.Out()), want.Step(a, now, &out)
				if answer != other {
					t.Fatalf("seed %d, step %d: %+v: %+v, want %+v", seed, step, a, answer, other)
				}
				if answer.Verdict == reducer.Admit && a.Kind != reducer.Peek {
					permits = append(permits, answer.Permit)
				}
			}
			_, state := limiter.Of(want)
			if r.s.bare(r.index) != state.Bare() || cell.Fresh(got, now) != cell.Fresh(want, now) ||
				got.Due().Wake != want.Due().Wake || got.Due().Ends != want.Due().Ends || r.Text(now) != cell.Text(want, now) {
				t.Fatalf("seed %d, step %d: %v: %+v, want %+v", seed, step, a.Kind, r.s.bare(r.index), state.Bare())
			}
			if err := got.Restore([]byte("no state")); err == nil {
				t.Fatal("no state is restored")
			}
			r.Unlock()
			now = now.Add(time.Duration(rng.IntN(int(time.Second))))
		}
	}
}

// TestReuse has new keys reuse fresh limits before the step is full, without an effect on decisions.
func TestReuse(t *testing.T) {
	config := limits(t, limiter.Config{Count: 1, Period: time.Second})
	c := newCells(t, config)
	enter := func(key string, now clock.Mark) (keyed.Handle, bool) {
		_, h, ok := c.Enter(key, 1, now)
		return h, ok
	}
	second := clock.Mark(time.Second)
	old, _ := enter("a", 0)
	if _, ok := enter("a", second/2); ok {
		t.Error("a second permit")
	}
	for i := range 10_000 {
		if _, ok := enter(strconv.Itoa(i), clock.Mark(i+1)*second); !ok {
			t.Fatalf("key %d is refused", i)
		}
	}
	// Every shard keeps the key that it saw last.
	if got := c.Counts(); got.Keys > uint32(keyed.Shards(config.Keys)) || got.Evictions != 0 {
		t.Errorf("%+v", got)
	}
	if _, ok := c.Resolve(old); ok {
		t.Error("a handle names the cell of another key")
	}
	// A key that comes back with an older mark begins at the last one.
	if _, ok := enter("a", second/2); !ok {
		t.Error("a is refused")
	}
	if _, ok := enter("a", 2*second); ok {
		t.Error("a cell begins before the end of its forerunner")
	}
	// A cell that is not a limit's stays, fresh or not.
	p := newCells(t, Config{Config: keyed.Config{Keys: 10}, Maker: &places{}})
	for i := range 10 {
		take(p, strconv.Itoa(i), false)
	}
	if got := p.Counts().Keys; got != 10 {
		t.Errorf("%d keys", got)
	}
}

func TestBytesAreBounded(t *testing.T) {
	config := limits(t, limiter.Config{Count: 1, Period: time.Hour})
	config.Keys, config.Bytes = 100_000, 64*1024*1024
	c := newCells(t, config)
	for i := range 2_000 {
		c.Enter(strings.Repeat("long ", 20_000)+strconv.Itoa(i), 1, 0)
	}
	if got := c.Counts(); got.Bytes > 65*1024*1024 || got.Bytes < 50*1024*1024 || got.Keys > 671 || got.Evictions == 0 {
		t.Errorf("%+v", got)
	}
	config.Bytes = 16 * 1024 * 1024
	if err := c.Configure(config, 0, nil); err != nil {
		t.Fatal(err)
	}
	if got := c.Counts(); got.Bytes > 17*1024*1024 || got.Keys < 64 {
		t.Errorf("%+v", got)
	}
}

// TestUnderLoad has goroutines take and release the places of keys while the
// configuration changes: no place is granted to two callers, and none is lost.
func TestUnderLoad(t *testing.T) {
	const callers, keys = 6, 60
	c := newCells(t, Config{Config: keyed.Config{Keys: 20}, Maker: &places{}, Names: true})
	var inside [keys]atomic.Int32
	var taken atomic.Int64
	var all sync.WaitGroup
	done := make(chan struct{})
	for i := range callers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			for range 5_000 {
				key := rng.IntN(keys)
				r, _, how := c.Use(strconv.Itoa(key), clock.Mark(rng.IntN(100)))
				p, h := r.Cell().(*place), r.Handle()
				got := !p.taken && !r.Shared()
				p.taken = p.taken || got
				if how != keyed.Shared && r.Key() != strconv.Itoa(key) {
					t.Errorf("key %d has the cell of %s", key, r.Key())
				}
				r.Unlock()
				if !got {
					continue
				}
				taken.Add(1)
				if inside[key].Add(1) != 1 {
					t.Errorf("two callers have the place of key %d", key)
				}
				runtime.Gosched()
				inside[key].Add(-1)
				if !release(c, h) {
					t.Errorf("a held cell is evicted")
				}
			}
		})
	}
	go func() {
		defer close(done)
		all.Wait()
	}()
	for i := 0; ; i++ {
		select {
		case <-done:
			if got := c.Counts(); got.Held != 0 || got.Keys > keys || taken.Load() < 1_000 {
				t.Errorf("%+v, %d places taken", got, taken.Load())
			}
			return
		default:
		}
		next := Config{Config: keyed.Config{Keys: []uint32{20, 8_000, 3, 3_000}[i%4]}, Maker: &places{}, Names: true}
		if err := c.Configure(next, clock.Mark(i), keep); err != nil {
			t.Error(err)
		}
		c.Each(func(r Ref) { r.Fresh(0) })
	}
}

// TestMemory measures the heap for each key, without the 16 bytes of the key. A
// breaker takes 32 bytes more with its first outcome.
func TestMemory(t *testing.T) {
	votes, err := breaker.Cells(breaker.Config{Window: breaker.Calls, Count: 100, Minimum: 20, FailureRate: reducer.Percent(50),
		Probes: 10, Open: backoff.Config{Kind: backoff.Constant, Base: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	const keys = 50_000
	before := heap()
	alone := make([]cell.Cell, keys)
	for i := range alone {
		alone[i] = votes.New(0)
	}
	own := float64(heap()-before)/keys - 16
	runtime.KeepAlive(alone)
	limit := limits(t, limiter.Config{Count: 1, Period: time.Hour})
	limit.Keys = keys
	for name, c := range map[string]struct {
		config Config
		most   float64
	}{
		"limit":   {limit, 100},
		"breaker": {Config{Config: keyed.Config{Keys: keys, CellBytes: uint32(own)}, Maker: votes, Names: true}, 256 - 32},
	} {
		before := heap()
		cells := newCells(t, c.config)
		for i := range keys {
			cells.Enter(fmt.Sprintf("key of 16 %6d", i), 1, 0)
		}
		each := float64(heap()-before)/keys - 16
		counts := cells.Counts()
		t.Logf("%s: %.1f bytes a key, counted %.1f", name, each, float64(counts.Bytes)/keys)
		if each > c.most || counts.Keys != keys {
			t.Errorf("%s: %.1f bytes a key, want at most %.0f; %d keys", name, each, c.most, counts.Keys)
		}
		if counted := float64(counts.Bytes)/keys - 16; counted < each*0.9 || counted > each*1.25 {
			t.Errorf("%s: %.1f bytes a key, counted %.1f", name, each, counted)
		}
		runtime.KeepAlive(cells)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestKnownKeysAllocateNothing(t *testing.T) {
	for name, c := range map[string]Config{
		"bucket": limits(t, limiter.Config{Count: 1000, Period: time.Hour}),
		"queue":  limits(t, limiter.Config{Count: 1000, Period: time.Hour, Wait: time.Hour, Queue: 5}),
	} {
		cells := newCells(t, c)
		keys := make([]string, 100)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
			cells.Enter(keys[i], 1, 0)
		}
		i := 0
		if n := testing.AllocsPerRun(500, func() { i++; cells.Enter(keys[i%100], 1, 1) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkStep compares what a step of a pipeline asks with what the keyed
// limiter asks, for 100,000 keys drawn uniformly.
func BenchmarkStep(b *testing.B) {
	const keys = 100_000
	step := limits(b, limiter.Config{Count: 1, Period: time.Hour, Burst: 1_000_000_000 / 4000})
	step.Keys = keys
	alone := step
	alone.Names = false
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprintf("key of 16 %6d", i)
	}
	for name, config := range map[string]Config{"alone": alone, "step": step} {
		c := newCells(b, config)
		for _, key := range names {
			c.Enter(key, 1, 0)
		}
		b.Run(name, func(b *testing.B) {
			at := uint64(1)
			for b.Loop() {
				at = at*6364136223846793005 + 1442695040888963407
				key := names[(at>>33)%keys]
				if !config.Names {
					r, now, _ := c.Use(key, 0)
					word, bucket := r.Word()
					tat, _ := bucket.Take(clock.Mark(*word), 1, now)
					*word = uint64(tat)
					r.Unlock()
				} else {
					c.Enter(key, 1, 0)
				}
			}
		})
	}
}
