package hosttest

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/host"
)

// kind is a configuration, here and in the module.
type kind struct {
	name   string
	native func() (cell.Maker, error)
	module func(m *host.Module) (*host.Maker, error)
	queued bool
}

func kinds() []kind {
	rate := limiter.Config{Count: 3, Period: 10}
	waits := rate
	waits.Wait, waits.Queue = 8, 2
	newest := waits
	newest.Order, newest.Algorithm = limiter.Newest, limiter.FixedWindow
	sliding := rate
	sliding.Algorithm = limiter.SlidingCounter
	burst := limiter.Config{Count: 1, Period: time.Hour + 1, Burst: 4}
	places := bulkhead.Config{Concurrent: 2, Queue: 1, Wait: 4, Lease: 9}
	calls := breaker.Config{
		Window: breaker.Calls, Count: 4, Minimum: 2, FailureRate: reducer.Percent(50), Probes: 2,
		SlowOver: 3, SlowRate: reducer.Percent(100), HalfOpenMax: 11,
		Open: backoff.Config{Kind: backoff.Exponential, Base: 7, Factor: 1_500_000, Max: 40, Jitter: backoff.Fraction, Share: reducer.Percent(20)},
	}
	timed := calls
	timed.Window, timed.Span = breaker.Time, 20
	row := breaker.Config{Window: breaker.Consecutive, Count: 2, Probes: 1, Open: backoff.Config{Kind: backoff.Fibonacci, Base: 3, Jitter: backoff.Full}}
	forgets := row
	forgets.Forget = 6
	newer := calls
	newer.SlowConsecutive, newer.Initial, newer.ObeyRetryAfter, newer.RampOver, newer.RampFrom = 2, breaker.HalfOpen, time.Hour, 30, reducer.Percent(20)
	var all []kind
	for name, c := range map[string]limiter.Config{"bucket": rate, "queue": waits, "newest": newest, "sliding": sliding, "burst": burst} {
		all = append(all, kind{
			name, func() (cell.Maker, error) { return limiter.Cells(c) },
			func(m *host.Module) (*host.Maker, error) { return m.Limiter(c) }, c.Wait > 0,
		})
	}
	for name, c := range map[string]breaker.Config{"calls": calls, "timed": timed, "row": row, "forgets": forgets, "newer": newer} {
		all = append(all, kind{
			name, func() (cell.Maker, error) { return breaker.Cells(c) },
			func(m *host.Module) (*host.Maker, error) { return m.Breaker(c) }, false,
		})
	}
	return append(all, kind{
		"bulkhead", func() (cell.Maker, error) { return bulkhead.Cells(places) },
		func(m *host.Module) (*host.Maker, error) { return m.Bulkhead(places) }, true,
	})
}

// twin is a cell here, served as the module serves its own.
type twin struct {
	cell.Cell
	queued bool
	last   clock.Mark
}

func (w *twin) pass(now clock.Mark, out *reducer.Out) {
	w.last = max(w.last, now)
	for at := w.Due().Wake; at <= w.last; at = w.Due().Wake {
		w.Cell.Step(reducer.Action{Kind: reducer.Tick}, at, out)
		w.serve(at, out)
	}
}

func (w *twin) serve(now clock.Mark, out *reducer.Out) {
	for w.Due().Serves <= now {
		w.Cell.Step(reducer.Action{Kind: reducer.Serve}, now, out)
	}
}

func (w *twin) step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	w.last = max(w.last, now)
	if w.queued {
		w.pass(now, out)
	}
	answer := w.Cell.Step(a, w.last, out)
	if w.queued {
		w.serve(w.last, out)
	}
	return seen(answer)
}

// seen returns an answer as the module passes it on.
func seen(a reducer.Answer) reducer.Answer {
	s := reducer.Answer{Verdict: a.Verdict}
	if a.Verdict >= reducer.Admit {
		s.Permit = a.Permit
	}
	if a.Verdict == reducer.Reject {
		s.Reason = a.Reason
	}
	return s
}

// cells compares cells of the module with cells of the core in random walks.
func (s Suite) cells(t *testing.T) {
	t.Logf("SLUICE_SEED=%d", testenv.Seed())
	m := s.open(t)
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			native := value[cell.Maker](t)(k.native())
			module := value[*host.Maker](t)(k.module(m))
			for i := range max(3, s.Cases/40) {
				walk(t, draw(i), k.queued, native, module)
			}
		})
	}
}

func walk(t *testing.T, r *rand.Rand, queued bool, native cell.Maker, module *host.Maker) {
	t.Helper()
	now := clock.Mark(r.IntN(100))
	twin := &twin{native.New(now), queued, now}
	c := value[*host.Cell](t)(module.Cell(now))
	defer c.Close()
	permits := []reducer.Permit{{}}
	for n := range 60 {
		now += clock.Mark(r.IntN(8) * r.IntN(3))
		var want, got reducer.Out
		var answer, verdict reducer.Answer
		switch what := r.IntN(10); {
		case what < 4:
			cost, caller := uint32(1+r.IntN(2)), uint32(r.IntN(5))
			answer = twin.step(reducer.Action{Kind: reducer.Acquire, Cost: cost, Permit: reducer.Permit{ID: uint64(caller)}}, now, &want)
			verdict = value[reducer.Answer](t)(c.Acquire(cost, caller, now, &got))
		case what < 9:
			a := reducer.Action{
				Kind: reducer.Kind(1 + r.IntN(int(reducer.Reset))), Outcome: reducer.Outcome(1 + r.IntN(3)),
				Cost: uint32(r.IntN(3)), Permit: permits[r.IntN(len(permits))],
			}
			answer = twin.step(a, now, &want)
			verdict = value[reducer.Answer](t)(c.Step(a, now, &got))
		default:
			twin.pass(now, &want)
			if err := c.Pass(now, &got); err != nil {
				t.Fatal(err)
			}
		}
		for i := range want {
			want[i].Caller &= 1<<32 - 1 // what a module knows of a caller
		}
		if answer != verdict || len(want)+len(got) > 0 && !reflect.DeepEqual(want, got) {
			t.Fatalf("step %d at %v: module %+v %+v, native %+v %+v", n, now, verdict, got, answer, want)
		}
		if wake := c.Wake(); queued && wake != twin.Due().Wake || !queued && wake != clock.Never {
			t.Fatalf("step %d: wakes at %v, not %v", n, wake, twin.Due().Wake)
		}
		if answer.Verdict == reducer.Admit || answer.Verdict == reducer.Wait {
			permits = append(permits, answer.Permit)
		}
		for _, e := range want {
			permits = append(permits, e.Permit)
		}
	}
	if state := value[[]byte](t)(c.State(nil)); !bytes.Equal(state, twin.AppendState(nil)) {
		t.Fatalf("state %x, not %x", state, twin.AppendState(nil))
	}
}

// planCells steps a cell of a step of a plan.
func (s Suite) planCells(t *testing.T) {
	m := s.open(t)
	plan := value[*host.Plan](t)(m.Body([]byte(`{"steps":[{"timeout":"1s"},{"limit":{"rate":"1/1s","wait":"1s","per":["key","ip"]}}]}`)))
	want := []host.Step{
		{Name: "timeout", Mechanism: "timeout", Per: []string{}},
		{Name: "limit", Mechanism: "limit", Per: []string{"key", "ip"}},
	}
	if got := plan.Steps(); !reflect.DeepEqual(got, want) {
		t.Errorf("steps %+v", got)
	}
	refused(t, "the step has no cells", func() error { _, err := plan.Maker(0); return err })
	k := value[*host.Maker](t)(plan.Maker(1))
	c := value[*host.Cell](t)(k.Cell(5))
	var out reducer.Out
	if a := value[reducer.Answer](t)(c.Acquire(1, 1, 5, &out)); a.Verdict != reducer.Admit {
		t.Errorf("got %+v", a)
	}
	if a := value[reducer.Answer](t)(c.Acquire(1, 2, 5, &out)); a.Verdict != reducer.Wait || c.Wake() != 1_000_000_005 {
		t.Errorf("got %+v, wake %v", a, c.Wake())
	}
	lost := value[*host.Cell](t)(k.Cell(5))
	for range 2 {
		value[reducer.Answer](t)(lost.Acquire(1, 1, 5, nil))
	}
	if err := lost.Pass(lost.Wake(), nil); err != nil || lost.Wake() != clock.Never {
		t.Errorf("got %v, wake %v", err, lost.Wake())
	}
	if err := c.Pass(c.Wake(), &out); err != nil || len(out) != 1 || out[0].Kind != reducer.Grant || out[0].Caller != 2 {
		t.Errorf("got %v, %+v", err, out)
	}
	refused(t, "callers may wait in this cell: use Acquire", func() error { _, err := c.Allow(1, 5); return err })
}

// states takes the state of a cell elsewhere and changes its configuration.
func (s Suite) states(t *testing.T) {
	m, other := s.open(t), s.open(t)
	rate := limiter.Config{Count: 2, Period: 10 * time.Second}
	k := value[*host.Maker](t)(m.Limiter(rate))
	c := value[*host.Cell](t)(k.Cell(0))
	far := value[*host.Cell](t)(value[*host.Maker](t)(other.Limiter(rate)).Cell(0))
	allow := func(c *host.Cell, now clock.Mark, want bool) {
		t.Helper()
		if got, err := c.Allow(1, now); got != want || err != nil {
			t.Errorf("at %v: %t, %v", now, got, err)
		}
	}
	allow(c, 0, true)
	allow(c, 0, true)
	allow(c, 0, false)
	state := value[[]byte](t)(c.State([]byte("x")))
	var out reducer.Out
	if err := far.Restore(state[1:], 0, &out); state[0] != 'x' || err != nil {
		t.Fatal(err)
	}
	allow(far, 5e9-1, false)
	allow(far, 5e9, true)
	if err := far.Revive(state[1:], 20*time.Second, 20e9, &out); err != nil {
		t.Fatal(err)
	}
	allow(far, 25e9-1, false)
	allow(far, 25e9, true)
	refused(t, "", func() error { return far.Restore([]byte("no"), 0, &out) })
	rate.Count, rate.Period = 10, time.Second
	wider := value[*host.Maker](t)(m.Limiter(rate))
	if err := c.Adopt(wider, 0, &out); err != nil {
		t.Fatal(err)
	}
	allow(c, 1e9/10-1, false)
	allow(c, 1e9/10, true)
	refused(t, "the object belongs to another module", func() error { return far.Adopt(wider, 0, &out) })
	if len(out) > 0 {
		t.Errorf("out %v", out)
	}
}
