package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// A script plays the driver of one call: policy compiles the steps, and in call each
// line is a mark with an event or an answer of a cell. The output is the effect of
// the plan: the cells to leave, with their actions, and what to do next.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		r := &runner{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "policy" {
				parsed, err := policy.ParseOne("script.yaml", []byte(d.Input))
				if err != nil {
					t.Fatal(err)
				}
				if r.plan, err = pipeline.Compile(parsed.Policy); err != nil {
					t.Fatal(err)
				}
				return r.steps()
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				fmt.Fprintf(&out, "%-42s %s\n", line, r.event(t, script.NewArgs(t, d.Pos, line)))
			}
			return out.String()
		})
	})
}

type runner struct {
	plan *pipeline.Plan
	call pipeline.Call
}

func (r *runner) steps() string {
	var out strings.Builder
	for i := range r.plan.Len() {
		fmt.Fprintf(&out, "%d %s", i, r.plan.StepName(i))
		if r.plan.Shadow(i) {
			out.WriteString(" shadow")
		}
		if r.plan.Maker(i) != nil {
			out.WriteString(" (cell)")
		}
		out.WriteString("\n")
	}
	breakers, budget := r.plan.Consults()
	fmt.Fprintf(&out, "retry %d, consults breakers %b and budget %d\n", r.plan.RetryIndex(), breakers, budget)
	return out.String()
}

// event plays a line and prints what follows.
func (r *runner) event(t *testing.T, a *script.Args) string {
	now, ok := script.ParseMark(a.Word())
	if !ok {
		a.Fail("a line begins with its mark")
	}
	verb := a.Word()
	step, try := int(a.Count("step", 0)), uint8(a.Count("attempt", 0))
	answer := reducer.Answer{Permit: reducer.Permit{Generation: uint64(step + 1), ID: uint64(100 + step), Mark: now}}
	if a.Is("wait") {
		answer = reducer.Waiting(uint64(100+step), clock.Never, a.Mark("ends", clock.Never))
	} else if a.Is("admit") {
		answer.Verdict = reducer.Admit
	} else if a.Has("reason") {
		answer = reducer.Rejected(reason(a), a.Mark("retry", clock.Never))
	}
	switch verb {
	case "begin":
		r.call = pipeline.Call{}
		effect := r.plan.Begin(&r.call, a.Count32("cost", 1), a.Mark("deadline", clock.Never), 0)
		a.Close()
		return r.show(effect)
	case "enter":
		// Every step admits.
		a.Close()
		for i := int(r.call.Try(try).Entered); i < r.end(try); i++ {
			answer.Permit.Generation, answer.Permit.ID = uint64(i+1), uint64(100+i)
			r.pass(try, i, reducer.Answer{Verdict: reducer.Admit, Permit: answer.Permit}, now)
		}
		return r.show(r.plan.Advance(&r.call, &pipeline.Event{Kind: pipeline.Entered, Attempt: try}, now))
	case "pass":
		a.Close()
		next, shadow := r.pass(try, step, answer, now)
		text := "asks, next " + names[next]
		if !r.plan.Asks(step) {
			text = "asks nothing, next " + names[next]
		}
		if shadow {
			text += " (shadow)"
		}
		return text + r.marks()
	}
	e := pipeline.Event{Kind: kind(a, verb), Attempt: try, Step: uint8(step), Answer: answer, Open: a.Is("open"), Granted: a.Is("granted")}
	if e.Told = a.Has("retry_after"); e.Told {
		e.RetryAfter = a.Duration("retry_after", 0)
	}
	e.Outcome = a.Outcome()
	a.Close()
	return r.show(r.plan.Advance(&r.call, &e, now))
}

// end returns the number of the first step that an attempt does not pass.
func (r *runner) end(try uint8) int {
	if h := r.plan.HedgeIndex(); h >= 0 && try == 0 {
		return h + 1
	}
	return r.plan.Len()
}

// pass takes an attempt past a step, as a driver does.
func (r *runner) pass(try uint8, i int, answer reducer.Answer, now clock.Mark) (next pipeline.EventKind, shadow bool) {
	a := r.call.Try(try)
	if !r.plan.Asks(i) {
		r.plan.Skip(a, i, now)
		return pipeline.Entered, false
	}
	return r.plan.Pass(&r.call, a, i, &answer)
}

var names = []string{"", "entered", "refused", "parked", "granted", "dropped", "finished", "consulted", "woken", "resumed", "hedged", "settled", "continued", "abandoned"}

func kind(a *script.Args, verb string) pipeline.EventKind {
	for i, name := range names {
		if name == verb {
			return pipeline.EventKind(i)
		}
	}
	a.Fail("unknown event %q", verb)
	return 0
}

func reason(a *script.Args) reducer.Reason {
	text, _ := a.Text("reason")
	for r := reducer.NoReason; r <= reducer.ReasonTimeout; r++ {
		if r.String() == text {
			return r
		}
	}
	a.Fail("unknown reason %q", text)
	return 0
}

var (
	dos    = []string{"nothing", "enter", "start", "consult", "sleep", "set out", "watch", "fail", "continue", "lose", "drop", "return", "refuse", "give up"}
	phases = []string{"entering", "waiting", "running", "racing", "deciding", "sleeping", "settling", "over"}
)

// show prints an effect, and takes the actions with which cells are left.
func (r *runner) show(e pipeline.Effect) string {
	var said []string
	for i := int(e.LeaveFrom) - 1; i >= int(e.LeaveTo); i-- {
		if kind, permit := r.plan.Leaving(&r.call, e.Attempt, i); kind != 0 {
			said = append(said, fmt.Sprintf("leave %d: %v", i, r.plan.Leave(&r.call, e.Attempt, i, kind, permit)))
		}
	}
	if i := e.Cut(); i != pipeline.NoCut {
		said = append(said, "cut by "+r.plan.StepName(i))
	}
	do := dos[e.Do]
	if e.Attempt > 0 {
		do += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	switch e.Do {
	case pipeline.Enter, pipeline.SetOut:
		do += fmt.Sprintf(" from %d", e.Step)
	case pipeline.Fail:
		do += fmt.Sprintf(" (%v)", e.Reason)
	case pipeline.Refuse, pipeline.GiveUp, pipeline.Drop:
		do += fmt.Sprintf(" at %d (%v)", e.Step, e.Reason)
		if e.Do == pipeline.Refuse && e.At != clock.Never {
			do += " retry at " + e.At.String()
		}
	case pipeline.Return:
		do += fmt.Sprintf(" %v %v", e.Outcome, e.Reason)
	case pipeline.Sleep, pipeline.Consult:
		do += " " + e.At.String()
	}
	said = append(said, strings.TrimSpace(do))
	return strings.Join(said, "; ") + "; " + phases[r.call.Phase] + r.marks()
}

func (r *runner) marks() string {
	text := ""
	if at := r.plan.EndsAt(&r.call); at != clock.Never {
		text += ", ends " + at.String()
	}
	if at := r.plan.CutAt(&r.call, 0); at != clock.Never {
		text += ", cut " + at.String()
	}
	if at := r.plan.ResumesAt(&r.call); at != clock.Never {
		text += ", resumes " + at.String()
	}
	return text
}

// What an attempt holds is a value without pointers.
func TestAttemptIsFlat(t *testing.T) { script.Flat[pipeline.Attempt](t) }
