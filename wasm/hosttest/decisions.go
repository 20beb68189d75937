package hosttest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/decide"
	"github.com/sluice-go/sluice/wasm/host"
)

// draw returns what the i-th case of a random test draws from.
func draw(i int) *rand.Rand { return rand.New(rand.NewPCG(testenv.Seed(), uint64(i))) }

// decisions compares what is decided natively and in a module on random policies
// and logs.
func (s Suite) decisions(t *testing.T) {
	t.Logf("SLUICE_SEED=%d, %d cases", testenv.Seed(), s.Cases)
	m := s.open(t)
	for i := range s.Cases {
		r := draw(i)
		draw := generate.GenerateFor
		if i%40 == 39 {
			draw = generate.GeneratePassing
		}
		policy, events := draw(r, uint64(i))
		plan := value[*host.Plan](t)(m.Policy(generate.PolicyJSON(policy), ""))
		logs(t, i, m, plan, policy, events)
		drivers(t, i, m, []*host.Plan{plan}, []pipeline.Policy{policy}, events, 1+r.IntN(8))
		if err := plan.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// joined is decisions for several policies that share mechanisms.
func (s Suite) joined(t *testing.T) {
	t.Logf("SLUICE_SEED=%d, %d cases", testenv.Seed(), s.Cases)
	m := s.open(t)
	for i := range s.Cases {
		r := draw(i)
		one, log := generate.GenerateFor(r, uint64(i))
		policies, events := generate.Spread(r, one, log)
		document := generate.SetJSON(policies)
		plans, names := make([]*host.Plan, len(policies)), make([]string, len(policies))
		for k := range policies {
			names[k] = policies[k].Name
			plans[k] = value[*host.Plan](t)(m.Policy(document, names[k]))
		}
		text := generate.EventsJSON(events)
		var want, got bytes.Buffer
		o := eval.Options{Seed: uint64(i)}
		first := eval.RunAll(policies, o, bytes.NewReader(text), &want)
		second := decide.RunAll(m, names, plans, o, bytes.NewReader(text), &got)
		if fmt.Sprint(first) != fmt.Sprint(second) || !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Fatalf("case %d:\n%s\n%s\nnative %v:\n%s\nmodule %v:\n%s", i, document, text, first, &want, second, &got)
		}
		if first == nil { // two calls of one policy may have one id, which is an error
			drivers(t, i, m, plans, policies, events, 1+r.IntN(8))
		}
		for _, plan := range plans {
			if err := plan.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// logs compares the bytes of eval.Run and decide.Run.
func logs(t *testing.T, i int, m *host.Module, plan *host.Plan, policy pipeline.Policy, events []oracle.Event) {
	t.Helper()
	log := generate.EventsJSON(events)
	var want, got bytes.Buffer
	o := eval.Options{Seed: uint64(i)}
	first := eval.Run(policy, o, bytes.NewReader(log), &want)
	second := decide.Run(m, plan, o, bytes.NewReader(log), &got)
	if !reflect.DeepEqual(first, second) || !bytes.Equal(want.Bytes(), got.Bytes()) {
		t.Fatalf("case %d:\n%s\n%s\nnative %v:\n%s\nmodule %v:\n%s", i, generate.PolicyJSON(policy), log, first, &want, second, &got)
	}
}

// drivers compares the decisions of drivers with the decisions of pipelines to which the same
// happens, in batches up to the longest. The pipelines behind the first one are joined to it.
func drivers(t *testing.T, i int, m *host.Module, compiled []*host.Plan, policies []pipeline.Policy, events []oracle.Event, longest int) {
	t.Helper()
	p := &pair{m: m, natives: map[string]decision.Handle{}, modules: map[string]decision.Handle{}, begins: map[string]int{}}
	for k := range policies {
		plan, err := pipeline.Compile(policies[k])
		if err != nil {
			t.Fatal(err)
		}
		seed := uint64(i) + uint64(k)<<40
		one := joint{name: policies[k].Name}
		if k == 0 {
			one.native, one.module = drive.New(plan, seed), value[*host.Pipeline](t)(m.Pipeline(compiled[k], seed))
		} else {
			one.native, one.module = p.all[0].native.Join(plan, seed), value[*host.Pipeline](t)(p.all[0].module.Join(compiled[k], seed))
		}
		p.all = append(p.all, one)
	}
	p.joint = p.all[0]
	for _, e := range events {
		if one := p.of(e); one.native != p.native {
			p.compare(t, i)
			p.joint = one
		}
		if e.Op == "configure" {
			p.compare(t, i)
			p.configure(t, e)
			continue
		}
		if p.add(e); len(p.waiting) >= longest {
			p.compare(t, i)
		}
	}
	p.compare(t, i)
	for _, one := range p.all {
		if err := one.module.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// joint is a driver and a pipeline that the same happens to.
type joint struct {
	name   string // of the policy
	native *drive.Driver
	module *host.Pipeline
}

// pair is drivers and pipelines that the same happens to.
type pair struct {
	joint   // of the present event
	all     []joint
	keys    drive.Keys
	m       *host.Module
	natives map[string]decision.Handle
	modules map[string]decision.Handle
	waiting []host.Event
	begins  map[string]int // ids of the calls that waiting events begin
	stale   []bool
}

// of returns what an event happens to: the joint of the policy with whose name the id begins.
func (p *pair) of(e oracle.Event) joint {
	name, _, _ := strings.Cut(strings.Trim(e.ID, `"`), "/")
	for _, one := range p.all {
		if one.name == name {
			return one
		}
	}
	return p.all[0]
}

// add lets an event happen natively, and in the module later.
func (p *pair) add(e oracle.Event) {
	at := clock.Mark(e.At)
	p.native.Advance(at)
	event := host.Event{At: at, Call: p.modules[e.ID], Of: p.begins[e.ID]}
	live := true
	switch e.Op {
	case "tick":
	case "call":
		deadline := time.Duration(-1)
		if e.Deadline != nil {
			deadline = time.Duration(*e.Deadline)
		}
		lookup := func(attribute string) string {
			if attribute == "key" {
				return e.Key
			}
			return e.Attributes[attribute]
		}
		alone := len(p.natives)%5 == 4
		event.Op, event.Request = host.Begin, host.Request{Cost: e.Cost, Deadline: deadline, Lookup: lookup, NoHedge: alone}
		event.Call, event.Of = decision.Handle{}, 0
		request := drive.Request{Cost: e.Cost, Deadline: deadline, NoHedge: alone}
		request.Keys, request.Missing = p.keys.Of(p.native.Plan(), lookup, p.native.Uses)
		p.keys.Price(&request, p.native.Plan(), lookup)
		p.natives[e.ID] = p.native.Begin(&request)
		p.begins[e.ID] = len(p.waiting) + 1
	case "done":
		event.Op, event.Result = host.Done, host.Result{Attempt: uint32(e.Attempt), Outcome: outcomes[e.Outcome]}
		if e.RetryAfter != nil {
			event.Result.Told, event.Result.RetryAfter = true, time.Duration(*e.RetryAfter)
		}
		if e.Used != nil {
			event.Result.HasUsed, event.Result.Used = true, uint32(*e.Used)
		}
		live = p.native.Done(p.natives[e.ID], drive.Result(event.Result))
	case "cancel":
		event.Op = host.Cancel
		live = p.native.Cancel(p.natives[e.ID])
	case "renew":
		event.Op, event.Result = host.Renew, host.Result{Attempt: uint32(e.Attempt)}
		live = p.native.Renew(p.natives[e.ID], event.Result.Attempt)
	}
	p.waiting, p.stale = append(p.waiting, event), append(p.stale, !live)
}

var outcomes = map[string]reducer.Outcome{
	"ok": reducer.OK, "fail": reducer.Fail, "throttle": reducer.Throttle, "ignore": reducer.Ignore,
}

func (p *pair) configure(t *testing.T, e oracle.Event) {
	t.Helper()
	plan, err := pipeline.Compile(*e.Policy)
	if err != nil {
		t.Fatal(err)
	}
	p.native.Advance(clock.Mark(e.At))
	p.native.Configure(plan)
	compiled := value[*host.Plan](t)(p.m.Policy(generate.PolicyJSON(*e.Policy), "p"))
	got := value[[]decision.Decision](t)(p.module.Configure(nil, compiled, clock.Mark(e.At)))
	if p.module.Plan() != compiled {
		t.Error("another plan is active")
	}
	if err := compiled.Close(); err != nil {
		t.Fatal(err)
	}
	p.equal(t, got)
}

// compare lets the waiting events happen in the module.
func (p *pair) compare(t *testing.T, number int) {
	t.Helper()
	got, err := p.module.Batch(nil, p.waiting)
	if err != nil {
		t.Fatalf("case %d: %v", number, err)
	}
	all := 0
	for i, e := range p.waiting {
		all += e.Decisions
		if e.Stale != p.stale[i] {
			t.Fatalf("case %d, event %d: stale %t", number, i, e.Stale)
		}
	}
	if all != len(got) {
		t.Fatalf("case %d: %d decisions are of an event, %d there are", number, all, len(got))
	}
	for id, n := range p.begins {
		if p.modules[id] = p.waiting[n-1].Call; p.modules[id] != p.natives[id] {
			t.Fatalf("case %d: call %s is %v, not %v", number, id, p.modules[id], p.natives[id])
		}
	}
	p.equal(t, got)
	p.waiting, p.stale = p.waiting[:0], p.stale[:0]
	clear(p.begins)
}

func (p *pair) equal(t *testing.T, got []decision.Decision) {
	t.Helper()
	want := p.native.Decisions
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("module:\n%+v\nnative:\n%+v", got, want)
	}
	if wake := p.module.NextWake(); wake != p.native.NextWake() {
		t.Fatalf("the next wake is %v, not %v", wake, p.native.NextWake())
	}
	p.native.Decisions = nil
}
