package drive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// A script has a policy, as in a policy document, and then events with their marks:
// call, done, cancel, renew, tick; free prints how many permits of a step are free. The output of an event is its decisions, including
// those that were due before it. The directive configure replaces the policy.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		r := &runner{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			a := script.NewArgs(t, d.Pos, "")
			switch d.Cmd {
			case "policy":
				r.driver, r.calls, r.names = drive.New(plan(t, d.Input), 0), map[string]decision.Handle{}, map[decision.Handle]string{}
				if d.HasArg("state") {
					r.driver.Describe = cell.Text
				}
				return ""
			case "configure":
				r.driver.Configure(plan(t, d.Input))
				return r.decisions("")
			case "run":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSpace(line)
					out.WriteString(r.event(script.NewArgs(t, d.Pos, line), line))
				}
				return out.String()
			}
			a.Fail("unknown directive %q", d.Cmd)
			return ""
		})
	})
}

func plan(t *testing.T, text string) *pipeline.Plan {
	t.Helper()
	parsed, err := policy.ParseOne("script.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Compile(parsed.Policy)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type runner struct {
	driver *drive.Driver
	keys   drive.Keys
	calls  map[string]decision.Handle
	names  map[decision.Handle]string
}

// event plays a line: a mark, an operation and the name of a call.
func (r *runner) event(a *script.Args, line string) string {
	now, ok := script.ParseMark(a.Word())
	if !ok {
		a.Fail("a line begins with its mark")
	}
	r.driver.Advance(now)
	before := r.decisions("")
	verb, name := a.Word(), a.Word()
	done := true
	switch verb {
	case "call":
		attributes := map[string]string{}
		for _, key := range []string{"key", "tenant"} {
			attributes[key], _ = a.Text(key)
		}
		request := drive.Request{Cost: a.Count32("cost", 1), Deadline: a.Duration("deadline", -1), NoHedge: a.Is("alone")}
		if !a.Is("bare") {
			lookup := func(k string) string { return attributes[strings.TrimPrefix(k, "header:")] }
			request.Keys, request.Missing = r.keys.Of(r.driver.Plan(), lookup, r.driver.Uses)
		}
		slot := r.driver.NextSlot()
		h := r.driver.Begin(&request)
		if h.Slot() != slot {
			a.Fail("the call has slot %d, %d was announced", h.Slot(), slot)
		}
		r.calls[name], r.names[h] = h, name
	case "done":
		told, used := a.Has("retry_after"), a.Has("used")
		done = r.driver.Done(r.calls[name], drive.Result{Attempt: a.Count32("attempt", 0), Outcome: a.Outcome(), Told: told, RetryAfter: a.Duration("retry_after", 0),
			HasUsed: used, Used: a.Count32("used", 0)})
	case "free":
		i := 0
		for r.driver.Plan().StepName(i) != name {
			i++
		}
		answer, _ := r.driver.Ask(i, 0, reducer.Action{Kind: reducer.Peek})
		line += fmt.Sprintf("  %d", answer.Free)
	case "cancel":
		done = r.driver.Cancel(r.calls[name])
	case "renew":
		done = r.driver.Renew(r.calls[name], a.Count32("attempt", 0))
	case "tick":
	default:
		a.Fail("unknown event %q", verb)
	}
	a.Close()
	if !done {
		line += "  (stale)"
	}
	return before + line + "\n" + r.decisions("    ")
}

// decisions prints the decisions since its last call.
func (r *runner) decisions(indent string) string {
	var out strings.Builder
	for _, d := range r.driver.Decisions {
		fmt.Fprintf(&out, "%s%v %s %v", indent, d.At, r.names[d.Call], d.Kind)
		for _, word := range []string{d.Outcome.String(), d.Step, d.Reason.String()} {
			if word != "" {
				out.WriteString(" " + word)
			}
		}
		if d.Attempt > 0 {
			fmt.Fprintf(&out, " attempt=%d", d.Attempt)
		}
		if d.Won > 0 {
			fmt.Fprintf(&out, " won=%d", d.Won)
		}
		if d.Until != 0 && d.Until != clock.Never {
			fmt.Fprintf(&out, " until=%v", d.Until)
		}
		if (d.Kind == decision.Reject || d.Kind == decision.Inject) && d.RetryAfter >= 0 {
			fmt.Fprintf(&out, " retry_after=%v", d.RetryAfter)
		}
		if d.Held {
			out.WriteString(" held")
		}
		if d.Shadow {
			out.WriteString(" shadow")
		}
		if d.Fallback {
			out.WriteString(" fallback")
		}
		if d.State != "" {
			fmt.Fprintf(&out, " [%s]", d.State)
		}
		out.WriteString("\n")
		if d.Last && r.driver.Live(d.Call) {
			out.WriteString("WRONG: the last decision of a call that goes on\n")
		}
	}
	r.driver.Decisions = r.driver.Decisions[:0]
	return out.String()
}

func TestKinds(t *testing.T) {
	if got := decision.Configured.String() + " " + decision.Kind(99).String(); got != "configured unknown" {
		t.Error(got)
	}
}

// The zero handle, and the handle of a call which is over, name no call.
func TestHandles(t *testing.T) {
	if h := decision.HandleOf(3, 4); h.Slot() != 3 || h.Generation() != 4 {
		t.Error(h)
	}
	d := drive.New(plan(t, "steps: [{timeout: 1s}]"), 0)
	if d.Live(decision.Handle{}) || d.Cancel(decision.Handle{}) || d.Renew(decision.Handle{}, 0) || d.Done(decision.Handle{}, drive.Result{Outcome: reducer.OK}) {
		t.Error("the zero handle names a call")
	}
	first := d.Begin(&drive.Request{Deadline: -1})
	d.Done(first, drive.Result{Outcome: reducer.OK})
	second := d.Begin(&drive.Request{Deadline: -1})
	if first.Slot() != second.Slot() || d.Live(first) || !d.Live(second) || d.Cancel(first) {
		t.Error("the slot of a call that is over still names it")
	}
	if d.Now() != 0 || d.Plan().Len() != 1 {
		t.Errorf("is at %v with %d steps", d.Now(), d.Plan().Len())
	}
}

// A step keeps as many cells as it has keys, whatever the cells hold: also after a
// hundred thousand tenants, each seen once; the numbers of their keys are assigned
// again.
func TestCellsAreEvicted(t *testing.T) {
	p := pipeline.Policy{Steps: []pipeline.Step{{Config: limiter.Config{Count: 1, Period: time.Hour}, Per: []string{"key"}, Keys: 5000}}}
	bounded, err := pipeline.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	d := drive.New(bounded, 0)
	var keys drive.Keys
	most := uint32(0)
	for n := range 100_000 {
		request := drive.Request{Cost: 1, Deadline: -1}
		request.Keys, request.Missing = keys.Of(d.Plan(), func(string) string { return fmt.Sprint(n) }, d.Uses)
		most = max(most, request.Keys[0])
		h := d.Begin(&request)
		d.Done(h, drive.Result{Outcome: reducer.OK})
		d.Advance(d.Now().Add(time.Second))
		d.Decisions = d.Decisions[:0]
	}
	if got := d.Counts(0); got.Keys != 5000 || got.Evictions != 95_000 {
		t.Errorf("kept %+v", got)
	}
	if most > 10_000 {
		t.Errorf("the numbers of evicted keys are not given again: the greatest is %d", most)
	}
}

// A step that another policy does not have leaves nothing behind once the calls
// that began under it are over.
func TestVanishedStepsLeaveNothing(t *testing.T) {
	named := func(name string) *pipeline.Plan {
		return plan(t, "steps: [{limit: {rate: 1/1s, per: key, name: "+name+"}}, {bulkhead: {concurrent: 5, per: key, name: x-"+name+"}}]")
	}
	d := drive.New(named("a0"), 0)
	var keys drive.Keys
	begin := func(key string) decision.Handle {
		request := drive.Request{Cost: 1, Deadline: -1}
		request.Keys, request.Missing = keys.Of(d.Plan(), func(string) string { return key }, d.Uses)
		return d.Begin(&request)
	}
	most := uint32(0)
	for n := range 20 {
		var live []decision.Handle
		for i := range 100 {
			live = append(live, begin(fmt.Sprintf("%d of %d", i, n)))
		}
		d.Configure(named(fmt.Sprintf("a%d", n+1)))
		for _, h := range live {
			d.Done(h, drive.Result{Outcome: reducer.OK})
		}
		d.Decisions = d.Decisions[:0]
	}
	for number := range uint32(5000) {
		if d.Uses(number) && number > 0 {
			most = number
		}
	}
	if most != 0 {
		t.Errorf("key %d is in use", most)
	}
}

// Breakers that change while a plan becomes active affect no call, and there may be
// no calls yet.
func TestConfigureWithoutCalls(t *testing.T) {
	const steps = "steps: [{breaker: {window: {consecutive: 1}, open: 1s, probes: 1}}, {breaker: {window: {consecutive: 1}, open: 1s, probes: 1}}]"
	before, after := drive.New(plan(t, steps), 0), drive.New(plan(t, steps), 0)
	before.Done(before.Begin(&drive.Request{Cost: 1, Deadline: -1}), drive.Result{Outcome: reducer.Fail})
	for step := range 2 {
		if err := after.Revive(step, 0, before.AppendState(nil, step, 0), 0); err != nil {
			t.Fatal(err)
		}
	}
	after.Advance(clock.Mark(5 * time.Second))
	after.Configure(plan(t, steps))
	if n := len(after.Decisions); n != 1 || after.Decisions[0].Kind != decision.Configured {
		t.Errorf("%d decisions: %v", n, after.Decisions)
	}
}
