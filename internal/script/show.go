package script

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// answer says in words what a step answered.
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
