package script

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// Spec describes a mechanism to the interpreter.
type Spec[S any] struct {
	// New makes a machine of the words of a new or a configure.
	New func(*Args) (reducer.Cell[S], error)
	// Modes are the names of what a transition leads to.
	Modes []string
	// Permit describes a permit that was just reserved. nil for no description.
	Permit func(c reducer.Cell[S], s S, p reducer.Permit, now clock.Mark) string
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
	cell    reducer.Values[S]
	state   S
	lived   S // state, stepped in place from the beginning on, as a driver does
	now     clock.Mark
	got     map[uint64]got
	history []past[S]
	twin    twin[S]
}

// got is the permit or ticket of an id.
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
	machine, err := r.spec.New(a)
	a.Close()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	r.aliasing(t)
	r.cell = reducer.ValuesOf(machine)
	r.state, r.lived, r.got = r.cell.Init(r.now), r.cell.Init(r.now), map[uint64]got{}
	r.twin = twin[S]{state: r.cell.Init(r.now.Add(later)), got: map[uint64]got{}, alive: movable(r.now)}
	holds(t, a.where, r.cell, r.state, r.now)
	if !r.cell.Fresh(r.state, r.now) {
		a.Fail("the first state is not fresh")
	}
	return r.line() + "\n"
}

func (r *runner[S]) configure(t *testing.T, a *Args) string {
	r.now = a.Mark("at", r.now)
	machine, err := r.spec.New(a)
	a.Close()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	next := reducer.ValuesOf(machine)
	var out reducer.Out
	r.remember()
	r.state = next.Adopt(r.state, r.cell.Cell, r.now, &out)
	var unused reducer.Out
	r.twin.state = next.Adopt(r.twin.state, r.cell.Cell, r.now.Add(later), &unused)
	next.Inherit(&r.lived, r.cell.Cell, r.now, &unused)
	r.cell = next
	if !bytes.Equal(r.cell.Encode(nil, &r.lived), r.cell.Encode(nil, &r.state)) {
		a.Fail("the state that no step cloned is configured to another state")
	}
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
		again := a.copy()
		action := r.action(a, verb, r.got[id], id, 0)
		a.Close()
		effects := r.step(t, d.Pos+": "+line, action)
		r.got = keep(r.got, id, action, effects)
		r.twin.follow(t, d.Pos+": "+line, r, r.action(again, verb, r.twin.got[id], id, later), id, effects)
		said := append([]string{r.answer(action, effects.Answer)}, r.others(effects.Others)...)
		rows = append(rows, [3]string{line, strings.Join(said, "; "), r.line()})
	}
	return explore.Table(rows)
}

// action makes the action of a line. The action is about the permit or ticket of the
// id, and marks are moved by offset.
func (r *runner[S]) action(a *Args, verb string, had got, id uint64, offset time.Duration) reducer.Action {
	for kind := reducer.Acquire; kind <= reducer.Configure; kind++ {
		if kind.String() != verb {
			continue
		}
		action := reducer.Action{Kind: kind}
		r.details(a, &action, had, id, offset)
		return action
	}
	a.Fail("unknown action %q", verb)
	return reducer.Action{}
}

func (r *runner[S]) details(a *Args, action *reducer.Action, had got, id uint64, offset time.Duration) {
	known := had != (got{})
	switch action.Kind {
	case reducer.Acquire, reducer.TryAcquire, reducer.Peek, reducer.Reserve:
		action.Cost = a.Count32("cost", 1)
		action.Permit = reducer.Permit{ID: id, Mark: a.Mark("until", 0).Add(offset)}
		if a.Has("deadline") {
			*action = action.WithDeadline(a.Mark("deadline", 0).Add(offset))
		}
		action.Outcome = a.Outcome()
	case reducer.Leave, reducer.Expire:
		action.ID = id
		if known {
			action.ID = had.ticket
		}
	case reducer.Transition:
		to, _ := a.Text("to")
		action.Cost = uint32(slices.Index(r.spec.Modes, to))
		action.Mark = a.Mark("until", 0).Add(offset)
	default:
		action.Permit = reducer.Permit{ID: id}
		if known {
			action.Permit = had.permit
		}
		action.Cost = a.Count32("cost", had.cost)
		if action.Kind == reducer.Settle {
			action.Value = a.Count("used", 0)
		}
		if action.Kind == reducer.Record {
			if a.Has("began") {
				action.Mark = a.Mark("began", 0).Add(offset)
			}
		}
		action.Outcome = a.Outcome()
	}
}

// keep stores the permits and tickets of the step by caller.
func keep(had map[uint64]got, id uint64, action reducer.Action, effects reducer.Effects) map[uint64]got {
	asks := action.Kind == reducer.Acquire || action.Kind == reducer.TryAcquire || action.Kind == reducer.Reserve
	switch {
	case id == 0 || !asks:
	case effects.Answer.Verdict == reducer.Admit:
		had[id] = got{permit: effects.Answer.Permit, cost: action.Cost}
	case effects.Answer.Verdict == reducer.Wait:
		had[id] = got{ticket: effects.Answer.ID, cost: action.Cost}
	}
	for _, e := range effects.Others {
		if e.Kind == reducer.Grant {
			g := had[e.Caller]
			g.permit = e.Permit
			had[e.Caller] = g
		}
	}
	return had
}
