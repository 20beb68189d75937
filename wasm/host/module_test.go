package host_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/host"
	"github.com/sluice-go/sluice/wasm/hosttest"
)

// TestModule runs the tests of all runtimes, on none.
func TestModule(t *testing.T) {
	for name, batches := range map[string]bool{"exports": false, "batches": true} {
		t.Run(name, func(t *testing.T) {
			open := func() (*host.Module, error) {
				n := newNative()
				n.batches = batches
				return host.Open(n)
			}
			hosttest.Suite{Open: open, Cases: 400, Steps: 40_000}.Run(t)
		})
	}
}

// opened is a module with a pipeline and a cell, and its instance.
type opened struct {
	*native
	m    *host.Module
	plan *host.Plan
	p    *host.Pipeline
	k    *host.Maker
	c    *host.Cell
}

const body = `{"steps":[{"retry":2},{"limit":{"rate":"1/1s","wait":"5s","per":"key"}},{"breaker":{}}]}`

func open(t *testing.T) *opened {
	t.Helper()
	o := &opened{native: newNative()}
	var errs [5]error
	o.m, errs[0] = host.Open(o.native)
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	o.plan, errs[1] = o.m.Body([]byte(body))
	o.p, errs[2] = o.m.Pipeline(o.plan, 1)
	o.k, errs[3] = o.m.Limiter(limiter.Config{Count: 1, Period: 10, Wait: 100, Queue: 9})
	o.c, errs[4] = o.k.Cell(0)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return o
}

// use uses everything and returns the first error.
func (o *opened) use(r *rand.Rand, now clock.Mark) error {
	var errs []error
	var out reducer.Out
	note := func(err error) {
		var wrong *host.Error
		if err != nil && !errors.As(err, &wrong) && !errors.Is(err, host.ErrStale) {
			errs = append(errs, err)
		}
	}
	lookup := func(string) string { return string(rune('a' + r.IntN(3))) }
	h, _, err := o.p.Begin(nil, host.Request{Cost: 1, Deadline: -1, Lookup: lookup}, now)
	note(err)
	_, err = o.p.Done(nil, h, host.Result{Outcome: reducer.Fail}, now)
	note(err)
	_, err = o.p.Renew(nil, h, 0, now)
	note(err)
	_, err = o.p.Cancel(nil, h, now)
	note(err)
	_, err = o.p.Advance(nil, now)
	note(err)
	_, err = o.p.Batch(nil, []host.Event{
		{Op: host.Begin, At: now, Request: host.Request{Cost: 1, Deadline: -1, Lookup: lookup}},
		{Op: host.Done, At: now, Of: 1, Result: host.Result{Outcome: reducer.OK}},
	})
	note(err)
	_, err = o.p.Configure(nil, o.plan, now)
	note(err)
	beside, err := o.p.Join(o.plan, 2)
	note(err)
	if err == nil {
		_, _, err = beside.Begin(nil, host.Request{Cost: 1, Deadline: -1, Lookup: lookup}, now)
		note(err)
		note(beside.Close())
	}
	state, err := o.p.Save(nil, 2, nil)
	note(err)
	_, err = o.p.Load(nil, 2, nil, state, 0, now)
	note(err)
	a, err := o.c.Acquire(1, 1, now, &out)
	note(err)
	_, err = o.c.Step(reducer.Action{Kind: reducer.Cancel, Cost: 1, Permit: a.Permit}, now, &out)
	note(err)
	note(o.c.Pass(now, &out))
	note(o.c.Adopt(o.k, now, &out))
	state, err = o.c.State(nil)
	note(err)
	note(o.c.Restore(state, now, &out))
	_, err = o.m.Policy([]byte(`{"policies":{}}`), "x")
	note(err)
	plan, err := o.m.Body([]byte(body))
	note(err)
	if err == nil {
		note(plan.Close())
	}
	o.p.NextWake()
	return errors.Join(errs...)
}

// TestBroken lets a module do what the ABI excludes: that is an error for good,
// and not a panic.
func TestBroken(t *testing.T) {
	slot := func(at int, value uint32) func(n *native) {
		return func(n *native) { binary.LittleEndian.PutUint32(n.memory[slotsAt+at:], value) }
	}
	record := func(at int, value byte) func(n *native) {
		return func(n *native) { n.memory[recordsAt+at] = value }
	}
	const count, records, size, buffer = 8, 12, 4, 16
	for name, c := range map[string]struct {
		export, text string
		spoil        func(n *native)
	}{
		"records outside":  {"begin", "an address is outside its memory", slot(records, 1<<32-1)},
		"too many records": {"begin", "an address is outside its memory", slot(count, 1<<32-1)},
		"unknown kind":     {"begin", "it decided something unknown", record(40, 100)},
		"unknown step":     {"begin", "it decided by a step that is not there", record(43, 3)},
		"unknown event":    {"begin", "it decided an event that is not there", record(36, 2)},
		"unknown call":     {"begin", "it decided about a call that did not begin", record(24, 1)},
		"batch, records":   {"batch", "an address is outside its memory", slot(records, 1<<32-1)},
		"batch, event":     {"batch", "it decided an event that is not there", record(36, 2)},
		"batch, call":      {"batch", "it decided about a call that did not begin", record(24, 1)},
		"stale later":      {"configure", "it decided something unknown", record(40, 255)},
		"other pipeline":   {"configure", "it configured a pipeline that is not there", record(46, 1)},
		"buffer outside":   {"save", "an address is outside its memory", slot(buffer, 1<<31)},
		"too much":         {"state", "an address is outside its memory", slot(size, 1<<31)},
		"room outside":     {"buffer", "an address is outside its memory", slot(buffer, 1<<31)},
		"others outside":   {"acquire", "an address is outside its memory", func(n *native) { slot(count, 1)(n); slot(records, 1<<31)(n) }},
		"less memory":      {"acquire", "its memory shrank", func(n *native) { n.memory = n.memory[:slotsAt] }},
		"no description":   {"describe", "it describes no step", slot(size, 2)},
		"twin steps":       {"describe", "another step has it", func(n *native) { copy(n.memory[bufferAt:], "same\nx\nx") }},
		"refused batch":    {"batch", "it refused events that are right", func(n *native) { n.code = -4 }},
		"refused event":    {"done", "it refused events that are right", func(n *native) { n.code = -4 }},
		"no verdict":       {"step", "it gave a verdict that there is not", func(n *native) { n.code = 5 }},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t)
			o.after = func(name string, n *native) error {
				if name == c.export {
					c.spoil(n)
				}
				return nil
			}
			err := o.use(rand.New(rand.NewPCG(1, 1)), 1)
			if c.export == "buffer" {
				_, err = o.m.Body(make([]byte, 1<<20))
			}
			if !errors.Is(err, host.ErrBroken) || !strings.Contains(err.Error(), c.text) || !errors.Is(o.m.Lost(), host.ErrBroken) {
				t.Fatalf("got %v", err)
			}
			if err := o.use(rand.New(rand.NewPCG(1, 1)), 2); !errors.Is(err, host.ErrBroken) {
				t.Errorf("then %v", err)
			}
			if err := o.m.Close(); err != nil || o.closed != 1 {
				t.Errorf("closed %d times: %v", o.closed, err)
			}
		})
	}
}

// TestTrap lets every export trap in turn.
func TestTrap(t *testing.T) {
	for export := range calls {
		o := open(t)
		traps := errors.New("unreachable")
		hit := false
		o.after = func(name string, _ *native) error {
			if name == export {
				hit = true
				return traps
			}
			return nil
		}
		err := o.use(rand.New(rand.NewPCG(1, 1)), 1)
		if hit && (!errors.Is(err, host.ErrBroken) || !errors.Is(err, traps)) || !hit && err != nil {
			t.Errorf("%s: %v", export, err)
		}
	}
}

// TestAnyMemory spoils the memory at random: no method panics, and the module
// works or is broken.
func TestAnyMemory(t *testing.T) {
	seed := testenv.Seed()
	t.Logf("SLUICE_SEED=%d", seed)
	broken := 0
	for i := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, i))
		o := open(t)
		o.after = func(_ string, n *native) error {
			if r.IntN(20) > 0 {
				return nil
			}
			// Not the objects: what package abi has outside its memory stays.
			at := [...]int{slotsAt, slotsAt, recordsAt, bufferAt}[r.IntN(4)]
			for range 1 + r.IntN(4) {
				if at += r.IntN(64); at < len(n.memory) {
					n.memory[at] = byte(r.Uint32())
				}
			}
			return nil
		}
		for now := range clock.Mark(8) {
			if err := o.use(r, now); err != nil && !errors.Is(err, host.ErrBroken) {
				t.Fatalf("case %d: %v", i, err)
			}
		}
		if errors.Is(o.m.Lost(), host.ErrBroken) {
			broken++
		}
	}
	if broken < 20 || broken > 98 {
		t.Errorf("%d were broken", broken)
	}
}

// TestMissing checks a module that was built for less than whole policies.
func TestMissing(t *testing.T) {
	n := newNative()
	n.without = map[string]bool{"begin": true, "batch": true, "plan": true, "breaker": true}
	m, err := host.Open(n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Policy(nil, ""); !errors.Is(err, host.ErrMissing) || err.Error() != "the wasm module has no such export: plan" {
		t.Errorf("got %v", err)
	}
	plan, err := m.Body([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Pipeline(plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Begin(nil, host.Request{}, 0); !errors.Is(err, host.ErrMissing) || m.Lost() != nil {
		t.Errorf("got %v, lost %v", err, m.Lost())
	}
	if _, err := p.Batch(nil, []host.Event{{}}); !errors.Is(err, host.ErrMissing) || m.Lost() != nil {
		t.Errorf("got %v, lost %v", err, m.Lost())
	}
}

// TestLookupPanics checks that a host's own panic leaves the pipeline usable.
func TestLookupPanics(t *testing.T) {
	o := open(t)
	begin := func(lookup func(string) string) (list []decision.Decision, err error) {
		defer func() {
			if recover() != nil {
				err = errors.New("panic")
			}
		}()
		_, list, err = o.p.Begin(nil, host.Request{Cost: 1, Deadline: -1, Lookup: lookup}, 0)
		return list, err
	}
	if _, err := begin(func(string) string { panic("no") }); err == nil {
		t.Error("no panic")
	}
	if list, err := begin(func(string) string { return "a" }); err != nil || len(list) != 1 || list[0].Kind != decision.Admit {
		t.Errorf("got %v, %v", list, err)
	}
}
