package hosttest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/host"
)

// call begins a call of cost 1 and returns the kinds of what was decided.
func call(t *testing.T, p *host.Pipeline, key string, now clock.Mark) (decision.Handle, []decision.Kind) {
	t.Helper()
	h, got, err := p.Begin(nil, host.Request{Cost: 1, Deadline: -1, Lookup: func(string) string { return key }}, now)
	if err != nil {
		t.Fatal(err)
	}
	return h, kindsOf(got)
}

func kindsOf(list []decision.Decision) (all []decision.Kind) {
	for _, d := range list {
		all = append(all, d.Kind)
	}
	return all
}

// steps takes a call through the methods of single events.
func (s Suite) steps(t *testing.T) {
	m := s.open(t)
	p := pipelineOf(t, m, `{"steps":[{"retry":{"attempts":2,"backoff":{"constant":"1s"},"jitter":"none"}},{"bulkhead":{"concurrent":1,"lease":"3s"}}]}`)
	if p.NextWake() != clock.Never {
		t.Errorf("wakes at %v", p.NextWake())
	}
	h, got := call(t, p, "", 0)
	expect := func(want ...decision.Kind) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	expect(decision.Admit)
	decided := func(list []decision.Decision, err error) {
		t.Helper()
		if got = kindsOf(list); err != nil {
			t.Error(err)
		}
	}
	decided(p.Renew(nil, h, 0, 2e9))
	expect()
	if p.NextWake() != 5e9 {
		t.Errorf("wakes at %v", p.NextWake())
	}
	decided(p.Done(nil, h, host.Result{Outcome: reducer.Fail}, 4e9))
	expect(decision.Retry)
	if _, err := p.Renew(nil, h, 0, 4e9); !errors.Is(err, host.ErrStale) {
		t.Errorf("got %v", err)
	}
	decided(p.Advance(nil, p.NextWake()))
	expect(decision.Admit)
	decided(p.Cancel(nil, h, 5e9))
	expect(decision.End)
	// What is due has happened where the event itself is stale.
	_, got = call(t, p, "", 6e9)
	expect(decision.Admit)
	list, err := p.Cancel(nil, h, 60e9)
	if got = kindsOf(list); !errors.Is(err, host.ErrStale) {
		t.Errorf("got %v", err)
	}
	expect(decision.Lapse)
}

const perKey = `{"steps":[{"limit":{"rate":"2/1h","per":"key"}},{"bulkhead":1},{"limit":{"rate":"100/1h","name":"all"}}]}`

// saveLoad takes the state of a cell from one process to another one, whose line
// of marks is another.
func (s Suite) saveLoad(t *testing.T) {
	old, young := pipelineOf(t, s.open(t), perKey), pipelineOf(t, s.open(t), perKey)
	key := func(string) string { return "a" }
	if state := value[[]byte](t)(old.Save(nil, 0, key)); len(state) > 0 {
		t.Errorf("a cell that is not there has the state %x", state)
	}
	for _, want := range []decision.Kind{decision.Admit, decision.Admit, decision.Reject} {
		h, got := call(t, old, "a", 10)
		if got[0] != want {
			t.Errorf("got %v, want %v", got, want)
		}
		if want == decision.Admit {
			value[[]decision.Decision](t)(old.Done(nil, h, host.Result{Outcome: reducer.OK}, 10))
		}
	}
	call(t, young, "b", 1000) // so that numbers of keys differ
	state := value[[]byte](t)(old.Save(nil, 0, key))
	value[[]decision.Decision](t)(young.Load(nil, 0, key, state, 990, 1000))
	if _, got := call(t, young, "a", 1000); got[0] != decision.Reject {
		t.Errorf("got %v", got)
	}
	refused(t, "", func() error { _, err := young.Load(nil, 0, key, []byte("no state"), 0, 1000); return err })
	refused(t, "", func() error { _, err := young.Load(nil, 7, nil, state, 0, 1000); return err })
	refused(t, "", func() error { _, err := young.Load(nil, -1, key, state, 0, 1000); return err })
	if state := value[[]byte](t)(young.Save(nil, 99, key)); len(state) > 0 {
		t.Errorf("a step that is not there has the state %x", state)
	}
}

// handover activates a second instance while calls are running, as a hot
// swap does.
func (s Suite) handover(t *testing.T) {
	old, young := pipelineOf(t, s.open(t), perKey), pipelineOf(t, s.open(t), perKey)
	done := host.Result{Outcome: reducer.OK}
	for i := range 20 {
		h, _ := call(t, old, fmt.Sprint("tenant-", i), 10)
		value[[]decision.Decision](t)(old.Done(nil, h, done, 10))
	}
	running, _ := call(t, old, "tenant-0", 10)
	used := pipelineOf(t, s.open(t), perKey)
	call(t, used, "", 0)
	refused(t, "calls have already begun in the new pipeline", func() error { _, err := old.Handover(used, 10); return err })
	other := pipelineOf(t, s.open(t), `{"steps":[{"breaker":{}},{"timeout":"1s"}]}`)
	refused(t, "", func() error { _, err := old.Handover(other, 10); return err })
	if n, err := old.Handover(young, 20); n != 22 || err != nil {
		t.Fatalf("%d cells, %v", n, err)
	}
	refused(t, "the pipeline was handed over", func() error { _, err := old.Handover(other, 10); return err })
	refused(t, "the pipeline was handed over", func() error { _, _, err := old.Begin(nil, host.Request{}, 20); return err })
	// Calls that began before the handover end in the old pipeline.
	if got := value[[]decision.Decision](t)(old.Done(nil, running, done, 30)); len(got) != 1 || got[0].Kind != decision.End {
		t.Errorf("got %v", got)
	}
	for i := range 20 {
		want := decision.Admit
		if i == 0 {
			want = decision.Reject // both permits were taken
		}
		h, got := call(t, young, fmt.Sprint("tenant-", i), 30)
		if got[0] != want {
			t.Errorf("tenant %d: got %v, want %v", i, got, want)
		}
		if want == decision.Admit {
			value[[]decision.Decision](t)(young.Done(nil, h, done, 30))
		}
	}
}

const (
	twoPlaces = `{"mechanisms":{"m":{"bulkhead":{"concurrent":2,"queue":2}}},"steps":[{"use":"m"}]}`
	onePlace  = `{"mechanisms":{"m":{"bulkhead":{"concurrent":1,"queue":2}}},"steps":[{"timeout":"1h"},{"use":"m"}]}`
)

// joinedClose closes one of two pipelines with shared places, for which a call of the other
// waits.
func (s Suite) joinedClose(t *testing.T) {
	m := s.open(t)
	first := pipelineOf(t, m, twoPlaces)
	plan := value[*host.Plan](t)(m.Body([]byte(onePlace)))
	second := value[*host.Pipeline](t)(first.Join(plan, 1))
	other := value[*host.Plan](t)(s.open(t).Body([]byte(onePlace)))
	refused(t, "the object belongs to another module", func() error { _, err := first.Join(other, 1); return err })
	alone := pipelineOf(t, m, onePlace)
	refused(t, "the pipeline is joined to others", func() error { _, err := first.Handover(alone, 0); return err })
	refused(t, "the pipeline is joined to others", func() error { _, err := alone.Handover(second, 0); return err })
	running, got := call(t, first, "", 10)
	waiting, more := call(t, second, "", 20)
	if want := []decision.Kind{decision.Admit, decision.Wait}; !reflect.DeepEqual(append(got, more...), want) {
		t.Fatalf("got %v and %v, want %v", got, more, want)
	}
	for step, of := range []*host.Pipeline{first, second} {
		if state := value[[]byte](t)(of.Save(nil, step, nil)); !bytes.Equal(state, value[[]byte](t)(second.Save(nil, 1, nil))) {
			t.Errorf("pipeline %d has the state %x", step, state)
		}
	}
	if at := first.NextWake(); at != second.NextWake() || at == clock.Never {
		t.Errorf("they wake at %v and %v", at, second.NextWake())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	events := []host.Event{{Op: host.Done, At: 30, Call: waiting, Result: host.Result{Outcome: reducer.OK}}, {Op: host.Cancel, At: 30, Call: running}}
	list := value[[]decision.Decision](t)(second.Batch(nil, events))
	if want := []decision.Kind{decision.End, decision.Admit, decision.End}; !reflect.DeepEqual(kindsOf(list), want) {
		t.Fatalf("got %v, want %v", kindsOf(list), want)
	}
	if list[0].Call != running || list[0].At != 20 || list[1].Call != waiting || list[1].At != 20 {
		t.Errorf("got %+v", list)
	}
	if events[0].Stale || events[0].Decisions != 3 || !events[1].Stale {
		t.Errorf("got %+v", events)
	}
	refused(t, "", func() error { _, err := first.Advance(nil, 40); return err })
	refused(t, "", first.Close)
	// It is configured by its own number, and joined to a third one.
	third := value[*host.Pipeline](t)(second.Join(plan, 2))
	for n, of := range []*host.Pipeline{second, third} {
		if list := value[[]decision.Decision](t)(of.Configure(nil, plan, 50)); len(list) != 1 || int(list[0].Policy) != n {
			t.Errorf("got %+v", list)
		}
	}
}

// goroutines has many of them use one module.
func (s Suite) goroutines(t *testing.T) {
	m := s.open(t)
	p := pipelineOf(t, m, `{"steps":[{"limit":{"rate":"1000/1h","per":"key"}},{"bulkhead":4}]}`)
	c := value[*host.Cell](t)(value[*host.Maker](t)(m.Limiter(limiter.Config{Count: 100, Period: 1 << 50})).Cell(0))
	var allowed, admitted atomic.Int64
	var inside atomic.Int32
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			key := fmt.Sprint(g % 3)
			lookup := func(string) string { return key }
			var list []decision.Decision
			for range 100 {
				ok, err := c.Allow(1, 1)
				if err != nil {
					t.Error(err)
				}
				if ok {
					allowed.Add(1)
				}
				var h decision.Handle
				if h, list, err = p.Begin(list[:0], host.Request{Cost: 1, Deadline: -1, Lookup: lookup}, 1); err != nil {
					t.Error(err)
				}
				if list[0].Kind != decision.Admit || list[0].Call != h {
					continue
				}
				admitted.Add(1)
				if n := inside.Add(1); n > 4 {
					t.Errorf("%d at once in a bulkhead of 4", n)
				}
				inside.Add(-1)
				if list, err = p.Done(list[:0], h, host.Result{Outcome: reducer.OK}, 1); err != nil || len(list) != 1 {
					t.Error(list, err)
				}
				p.NextWake()
				m.Size()
			}
		})
	}
	group.Wait()
	if allowed.Load() != 100 || admitted.Load() == 0 {
		t.Errorf("%d allowed, %d admitted", allowed.Load(), admitted.Load())
	}
}

// flatMemory checks that steps leave nothing behind: calls of a policy with a
// cell for each key, cells that are made and forgotten, and a limiter. A
// collector that moves nothing needs some memory of its own: after 4 million steps
// the memory was 640 KiB, after 20 million as well.
func (s Suite) flatMemory(t *testing.T) {
	m := s.open(t)
	p := pipelineOf(t, m, `{"steps":[{"timeout":"10s"},{"retry":3},{"limit":{"rate":"1000/1s","wait":"1s","per":"key"}},{"breaker":{}},{"bulkhead":{"concurrent":9,"queue":9}}]}`)
	k := value[*host.Maker](t)(m.Limiter(limiter.Config{Count: 1000, Period: 1e9}))
	c := value[*host.Cell](t)(k.Cell(0))
	outcomes := [...]reducer.Outcome{reducer.OK, reducer.OK, reducer.OK, reducer.Fail}
	var list []decision.Decision
	for i := range s.Steps {
		now := clock.Mark(i) * 1e6
		if _, err := c.Allow(1, now); err != nil {
			t.Fatal(err)
		}
		if i%10 > 0 {
			continue
		}
		key := "key-" + string(rune('a'+i/10%20))
		h, decisions, err := p.Begin(list[:0], host.Request{Cost: 1, Deadline: -1, Lookup: func(string) string { return key }}, now)
		if err != nil {
			t.Fatal(err)
		}
		list = decisions[:0]
		if list, err = p.Done(list, h, host.Result{Outcome: outcomes[i/10%4]}, now+1e5); err != nil && !errors.Is(err, host.ErrStale) {
			t.Fatal(err)
		}
		if i%1000 == 0 {
			one := value[*host.Cell](t)(k.Cell(now))
			if err := one.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if size := m.Size(); size == 0 || size > 2<<20 {
		t.Errorf("the memory has %d bytes", size)
	}
}
