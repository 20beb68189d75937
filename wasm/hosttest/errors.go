package hosttest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/decide"
	"github.com/sluice-go/sluice/wasm/host"
)

// refused checks for an Error of the text; any text where it is empty.
func refused(t *testing.T, text string, f func() error) {
	t.Helper()
	err := f()
	var wrong *host.Error
	if !errors.As(err, &wrong) || wrong.Code >= 0 || wrong.Text == "" || text != "" && wrong.Text != text {
		t.Errorf("got %v, want %s", err, text)
	}
}

const two = `{"version":1,"policies":{"a":{"steps":[{"limit":"1/s"}]},"b":{"steps":[{"bulkhead":1}]}}}`

// errors checks that what is wrong is an error with the text of the native parser, and that the
// module still works.
func (s Suite) errors(t *testing.T) {
	m := s.open(t)
	for _, src := range []string{
		``, `{`, `[]`, `{"steps":[]}`, `{"steps":[{"limit":"50"}]}`, `{"steps":[{"retry":0},{"breaker":{"open":"1x"}},{"limt":1}]}`,
		`{"steps":[{"limit":{"rate":"1/s","name":"deadline"}}]}`, "\x00\xff",
		`{"steps":[` + strings.Repeat(`{"timeout":"1s"},`, 20) + `{"timeout":"1s"}]}`, strings.Repeat(" ", 2<<20),
	} {
		_, want := document.ParseOneJSON("policy", []byte(src))
		if want == nil {
			t.Fatalf("%s is right", src)
		}
		refused(t, want.Error(), func() error { _, err := m.Body([]byte(src)); return err })
	}
	for _, name := range []string{"", "c"} {
		_, want := document.ParsePolicyJSON("policy", []byte(two), name)
		refused(t, want.Error(), func() error { _, err := m.Policy([]byte(two), name); return err })
	}
	refused(t, "", func() error { _, err := m.Body(make([]byte, 17<<20)); return err })
	plan := value[*host.Plan](t)(m.Policy([]byte(two), "b"))
	if got := plan.Steps(); len(got) != 1 || got[0].Mechanism != "bulkhead" {
		t.Errorf("steps %+v", got)
	}
	for _, c := range []struct {
		o     eval.Options
		names []string
		plans []*host.Plan
		text  string
	}{
		{eval.Options{State: true}, []string{"a"}, []*host.Plan{plan}, "a wasm module does not report the states of cells"},
		{eval.Options{}, nil, nil, "no policies"},
		{eval.Options{}, []string{"a", "b"}, []*host.Plan{plan}, "each plan has one name"},
	} {
		if err := decide.RunAll(m, c.names, c.plans, c.o, nil, nil); err == nil || err.Error() != c.text {
			t.Errorf("got %v, want %s", err, c.text)
		}
	}
	if err := decide.Run(m, plan, eval.Options{State: true}, nil, nil); !errors.Is(err, decide.ErrNoState) {
		t.Errorf("got %v", err)
	}
	refused(t, "", func() error { _, err := m.Limiter(limiter.Config{}); return err })
	refused(t, "", func() error { _, err := m.Bulkhead(bulkhead.Config{Concurrent: 1, Wait: -time.Second}); return err })
	refused(t, "the object belongs to another module", func() error { _, err := s.open(t).Pipeline(plan, 1); return err })
	if err := m.Lost(); err != nil {
		t.Error(err)
	}
}

// wrongEvents checks that nothing happens in a batch with an event that is wrong.
func (s Suite) wrongEvents(t *testing.T) {
	m := s.open(t)
	p := pipelineOf(t, m, `{"steps":[{"bulkhead":1}]}`)
	begin := host.Event{Op: host.Begin, Request: host.Request{Cost: 1, Deadline: -1}}
	for text, e := range map[string]host.Event{
		"events[1]: no such operation":                                     {Op: 9},
		"events[1]: an attempt ends with OK, Fail, Throttle or Ignore":     {Op: host.Done, Result: host.Result{Outcome: reducer.Timeout}},
		"events[1]: it names an event that is no begin before it":          {Op: host.Cancel, Of: 2},
		"events[2]: it names an event that is no begin before it":          {Op: host.Tick, Of: -1},
		"events[1]: it names an event that is no begin before it (before)": {Op: host.Renew, Of: -1},
	} {
		events := []host.Event{begin, e}
		if e.Op == host.Tick {
			events = append(events, host.Event{Op: host.Cancel, Of: 2})
		}
		text, _, _ = strings.Cut(text, " (")
		refused(t, text, func() error { _, err := p.Batch(nil, events); return err })
	}
	refused(t, "no such operation", func() error { _, err := p.Batch(nil, []host.Event{{Op: 9}}); return err })
	got, err := p.Batch(nil, nil)
	if len(got) > 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	// What is stale is no error of a batch, whatever the handle.
	events := []host.Event{
		{Op: host.Done, Call: decision.HandleOf(1<<32-1, 7), Result: host.Result{Outcome: reducer.OK}},
		begin,
		{Op: host.Cancel, Of: 2},
		{Op: host.Renew, Of: 2},
	}
	got, err = p.Batch(nil, events)
	if err != nil || len(got) != 2 || got[0].Kind != decision.Admit || got[1].Kind != decision.End || !events[0].Stale || events[1].Stale || events[2].Stale || !events[3].Stale {
		t.Errorf("got %+v, %v, %+v", got, err, events)
	}
}

// closed checks that what is closed answers with an error and nothing else.
func (s Suite) closed(t *testing.T) {
	m := s.open(t)
	plan := value[*host.Plan](t)(m.Body([]byte(`{"steps":[{"limit":"1/s"}]}`)))
	p := value[*host.Pipeline](t)(m.Pipeline(plan, 0))
	k := value[*host.Maker](t)(m.Limiter(limiter.Config{Count: 1, Period: 1}))
	c := value[*host.Cell](t)(k.Cell(0))
	var out reducer.Out
	uses := map[string]func() error{
		"pipeline of a plan": func() error { _, err := m.Pipeline(plan, 1); return err },
		"maker of a plan":    func() error { _, err := plan.Maker(0); return err },
		"begin":              func() error { _, _, err := p.Begin(nil, host.Request{}, 0); return err },
		"advance":            func() error { _, err := p.Advance(nil, 0); return err },
		"save":               func() error { _, err := p.Save(nil, 0, nil); return err },
		"load":               func() error { _, err := p.Load(nil, 0, nil, nil, 0, 0); return err },
		"configure":          func() error { _, err := p.Configure(nil, plan, 0); return err },
		"handover":           func() error { _, err := p.Handover(p, 0); return err },
		"cell":               func() error { _, err := k.Cell(0); return err },
		"allow":              func() error { _, err := c.Allow(1, 0); return err },
		"acquire":            func() error { _, err := c.Acquire(1, 0, 0, &out); return err },
		"step":               func() error { _, err := c.Step(reducer.Action{}, 0, &out); return err },
		"pass":               func() error { return c.Pass(0, &out) },
		"adopt":              func() error { return c.Adopt(k, 0, &out) },
		"state":              func() error { _, err := c.State(nil); return err },
		"restore":            func() error { return c.Restore(nil, 0, &out) },
		"close of a plan":    plan.Close,
		"close":              p.Close,
	}
	for _, close := range []func() error{plan.Close, p.Close, k.Close, c.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) { refused(t, "no such object, or one of another kind", use) })
	}
	if err := errors.Join(m.Lost(), m.Close()); err != nil {
		t.Fatal(err)
	}
	uses["body"] = func() error { _, err := m.Body(nil); return err }
	uses["limiter"] = func() error { _, err := m.Limiter(limiter.Config{}); return err }
	for name, use := range uses {
		if err := use(); !errors.Is(err, host.ErrClosed) && !strings.HasPrefix(name, "close") || err != nil && strings.HasPrefix(name, "close") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.Close(); err != nil || !errors.Is(m.Lost(), host.ErrClosed) || m.Size() != 0 {
		t.Errorf("close: %v, lost: %v, %d bytes", err, m.Lost(), m.Size())
	}
}
