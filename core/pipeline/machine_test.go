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

// A script plays the driver of one call: policy compiles the steps, and in call
// each line is a mark and what the cells or the world say. Beside it stands what
// the plan wants done: cells to leave, with which actions, and then what.
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
	step := int(a.Count("step", 0))
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
		for i := int(r.call.Entered); i < r.plan.Len(); i++ {
			answer.Permit.Generation, answer.Permit.ID = uint64(i+1), uint64(100+i)
			r.plan.Pass(&r.call, i, r.plan.Asks(i), reducer.Answer{Verdict: reducer.Admit, Permit: answer.Permit}, now)
		}
		return r.show(r.plan.Advance(&r.call, &pipeline.Event{Kind: pipeline.Entered}, now))
	case "pass":
		a.Close()
		action, ask := r.plan.Passes(step, &r.call, 7)
		next, shadow := r.plan.Pass(&r.call, step, ask, answer, now)
		text := fmt.Sprintf("%s, next %v", action, names[next])
		if !ask {
			text = fmt.Sprintf("asks nothing, next %v", names[next])
		}
		if shadow {
			text += " (shadow)"
		}
		return text + r.marks()
	}
	e := pipeline.Event{Kind: kind(a, verb), Step: uint8(step), Answer: answer, Open: a.Is("open"), Granted: a.Is("granted")}
	if e.Told = a.Has("retry_after"); e.Told {
		e.RetryAfter = a.Duration("retry_after", 0)
	}
	e.Outcome = a.Outcome()
	a.Close()
	before := r.call
	call, effect := r.plan.Reduce(r.call, e, now)
	if r.call != before {
		t.Fatal("G2: Reduce changed its input")
	}
	if again := r.plan.Advance(&r.call, &e, now); again != effect || r.call != call {
		t.Fatalf("Advance: %+v %+v, Reduce: %+v %+v", again, r.call, effect, call)
	}
	return r.show(effect)
}

var names = []string{"", "entered", "refused", "parked", "granted", "dropped", "finished", "consulted", "woken", "resumed", "gaveup", "settled"}

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
	dos    = []string{"nothing", "enter", "start", "consult", "sleep", "return", "refuse", "give up"}
	phases = []string{"entering", "waiting", "running", "deciding", "sleeping", "over"}
)

// show prints an effect, and takes the actions with which cells are left.
func (r *runner) show(e pipeline.Effect) string {
	var said []string
	for i := int(e.LeaveFrom) - 1; i >= int(e.LeaveTo); i-- {
		if action, ok := r.plan.Leave(&r.call, i); ok {
			said = append(said, fmt.Sprintf("leave %d: %v", i, action))
		}
	}
	if i, ok := e.CutStep(); ok {
		said = append(said, "cut by "+r.plan.StepName(i))
	}
	do := dos[e.Do]
	switch e.Do {
	case pipeline.Enter:
		do += fmt.Sprintf(" from %d", e.From)
	case pipeline.Refuse, pipeline.GiveUp:
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
	if at := r.plan.CutAt(&r.call); at != clock.Never {
		text += ", cut " + at.String()
	}
	if at := r.plan.ResumesAt(&r.call); at != clock.Never {
		text += ", resumes " + at.String()
	}
	return text
}

// A call is a value without pointers: a driver keeps it where it likes.
func TestCallIsFlat(t *testing.T) { script.Flat[pipeline.Call](t) }
