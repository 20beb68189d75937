package script

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Spec is what the interpreter must know of a mechanism.
type Spec[S any] struct {
	// New makes a machine of the words of a new or a configure.
	New func(*Args) (reducer.Cell[S], error)
	// Adopt takes over a state by another configuration. nil for none.
	Adopt func(s S, from, to reducer.Cell[S], now clock.Mark, out *reducer.Out) S
	// Modes are the names of what a transition leads to.
	Modes []string
	// Permit says more of a permit that was reserved. nil for nothing.
	Permit func(reducer.Cell[S], reducer.Permit) string
}

// Run runs all scripts of a folder.
func Run[S any](t *testing.T, folder string, spec Spec[S]) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in %s (%v)", folder, err)
	}
	golden := goldens{folder: filepath.Join(folder, "golden"), used: map[string]bool{}}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			r := &runner[S]{spec: spec, golden: &golden}
			datadriven.RunTest(t, path, r.directive)
			r.aliasing(t)
		})
	}
	if !t.Failed() {
		golden.unused(t)
	}
}

// runner plays one script.
type runner[S any] struct {
	spec    Spec[S]
	golden  *goldens
	cell    reducer.Cell[S]
	state   S
	now     clock.Mark
	got     map[uint64]got
	history []past[S]
}

// got is what was got for an id.
type got struct {
	permit reducer.Permit
	ticket uint64
	cost   uint32
}

func (r *runner[S]) directive(t *testing.T, d *datadriven.TestData) string {
	words := make([]string, len(d.CmdArgs))
	for i, arg := range d.CmdArgs {
		words[i] = arg.String()
	}
	a := NewArgs(t, d.Pos, strings.Join(words, " "))
	switch d.Cmd {
	case "new":
		return r.begin(t, a)
	case "configure":
		return r.configure(t, a)
	case "run":
		a.Close()
		return r.run(t, d)
	case "golden":
		name := a.Word()
		a.Close()
		return check(t, r.golden, name, r.cell, r.state, r.now)
	}
	a.Fail("unknown directive %q", d.Cmd)
	return ""
}

func (r *runner[S]) begin(t *testing.T, a *Args) string {
	r.now = a.Mark("at", 0)
	cell, err := r.spec.New(a)
	a.Close()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	r.aliasing(t)
	r.cell, r.state, r.got = cell, cell.Init(r.now), map[uint64]got{}
	holds(t, a.where, r.cell, r.state, r.now)
	if !r.cell.Fresh(r.state, r.now) {
		a.Fail("the first state is not fresh")
	}
	return r.line() + "\n"
}

func (r *runner[S]) configure(t *testing.T, a *Args) string {
	r.now = a.Mark("at", r.now)
	cell, err := r.spec.New(a)
	a.Close()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var out reducer.Out
	r.remember()
	r.state = r.spec.Adopt(r.cell.Clone(r.state), r.cell, cell, r.now, &out)
	r.cell = cell
	holds(t, a.where, r.cell, r.state, r.now)
	return strings.Join(append(r.others(out), r.line()), "; ") + "\n"
}

// run prints a table with a row for each line.
func (r *runner[S]) run(t *testing.T, d *datadriven.TestData) string {
	var rows [][3]string
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		a := NewArgs(t, d.Pos, line)
		verb := a.Word()
		if m, ok := ParseMark(verb); ok {
			r.now = m
			verb = a.Word()
		}
		id := a.Count("id", 0)
		action := r.action(a, verb, id)
		a.Close()
		effects := r.step(t, d.Pos+": "+line, action)
		r.keep(id, action, effects)
		said := append([]string{r.answer(action, effects.Answer)}, r.others(effects.Others)...)
		rows = append(rows, [3]string{line, strings.Join(said, "; "), r.line()})
	}
	return table(rows)
}

// action makes the action of a line. What was got for the id is what it is about.
func (r *runner[S]) action(a *Args, verb string, id uint64) reducer.Action {
	for kind := reducer.Acquire; kind <= reducer.Reset; kind++ {
		if kind.String() != verb {
			continue
		}
		action := reducer.Action{Kind: kind}
		r.details(a, &action, id)
		return action
	}
	a.Fail("unknown action %q", verb)
	return reducer.Action{}
}

func (r *runner[S]) details(a *Args, action *reducer.Action, id uint64) {
	had, known := r.got[id]
	switch action.Kind {
	case reducer.Acquire, reducer.TryAcquire, reducer.Peek, reducer.Reserve:
		action.Cost = a.Count32("cost", 1)
		action.Permit = reducer.Permit{ID: id, Mark: a.Mark("until", 0)}
	case reducer.Leave, reducer.Expire:
		action.ID = id
		if known {
			action.ID = had.ticket
		}
	case reducer.Transition:
		to, _ := a.Text("to")
		action.Cost = uint32(slices.Index(r.spec.Modes, to))
		action.Mark = a.Mark("until", 0)
	default:
		action.Permit = reducer.Permit{ID: id}
		if known {
			action.Permit = had.permit
		}
		action.Cost = a.Count32("cost", had.cost)
		if action.Kind == reducer.Record {
			action.Mark = a.Mark("began", action.Mark)
			action.Outcome = a.Outcome()
		}
	}
}

// keep remembers what the step gave to whom.
func (r *runner[S]) keep(id uint64, action reducer.Action, effects reducer.Effects) {
	asks := action.Kind == reducer.Acquire || action.Kind == reducer.TryAcquire || action.Kind == reducer.Reserve
	switch {
	case id == 0 || !asks:
	case effects.Answer.Verdict == reducer.Admit:
		r.got[id] = got{permit: effects.Answer.Permit, cost: action.Cost}
	case effects.Answer.Verdict == reducer.Wait:
		r.got[id] = got{ticket: effects.Answer.ID, cost: action.Cost}
	}
	for _, e := range effects.Others {
		if e.Kind == reducer.Grant {
			g := r.got[e.Caller]
			g.permit = e.Permit
			r.got[e.Caller] = g
		}
	}
}

func (r *runner[S]) answer(action reducer.Action, a reducer.Answer) string {
	text := a.Verdict.String()
	if a.Reason != reducer.NoReason {
		text += " " + a.Reason.String()
	}
	if at, ok := a.RetryAt(); ok {
		text += ", retry at " + show(at)
	}
	if at, ok := a.Until(); ok {
		text += " until " + show(at)
	}
	if a.Verdict == reducer.Wait && a.WaitEnds() != clock.Never {
		text += ", ends " + show(a.WaitEnds())
	}
	if action.Kind == reducer.Peek {
		text += fmt.Sprintf(", free %d", a.Free)
	} else if action.Kind == reducer.Reserve && a.Verdict == reducer.Admit && r.spec.Permit != nil {
		text += r.spec.Permit(r.cell, a.Permit)
	}
	return text
}

func (r *runner[S]) others(out reducer.Out) []string {
	var said []string
	for _, e := range out {
		switch e.Kind {
		case reducer.Change:
			text := "change to " + r.spec.Modes[e.Permit.ID] + " at " + show(e.Permit.Mark)
			if e.Reason != reducer.NoReason {
				text += " (" + e.Reason.String() + ")"
			}
			said = append(said, text)
		case reducer.Drop:
			said = append(said, fmt.Sprintf("drop %d (%v)", e.Caller, e.Reason))
		default:
			said = append(said, fmt.Sprintf("%v %d", e.Kind, e.Caller))
		}
	}
	return said
}

// line shows the state at the present mark, and the next wake.
func (r *runner[S]) line() string {
	text := string(r.cell.AppendText(nil, r.state, r.now))
	if at, ok := r.cell.NextWake(r.state); ok {
		text += ", wake " + show(at)
	}
	return text
}

// show writes a mark as a script does: one near an end counts from it.
func show(m clock.Mark) string {
	const near = clock.Never - clock.Mark(1000*time.Hour)
	switch {
	case m > near && m != clock.Never:
		return "never-" + clock.Never.Sub(m).String()
	case m < -near && m != clock.Always:
		return "always+" + m.Sub(clock.Always).String()
	}
	return m.String()
}

// widest is the width of a column beyond which its rows stand out.
const widest = 48

func table(rows [][3]string) string {
	var width [2]int
	for _, row := range rows {
		for i := range width {
			width[i] = max(width[i], min(len(row[i]), widest))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s  %-*s  %s\n", width[0], row[0], width[1], row[1], row[2])
	}
	return b.String()
}
