package script

import (
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// answer says in words what a step answered.
func (r *runner[S]) answer(action reducer.Action, a reducer.Answer) string {
	text := string(explore.AppendAnswer(nil, action.Kind, a))
	if action.Kind == reducer.Reserve && a.Verdict == reducer.Admit && r.spec.Permit != nil {
		text += r.spec.Permit(r.cell.Cell, r.state, a.Permit, r.now)
	}
	return text
}

func (r *runner[S]) others(out reducer.Out) []string {
	var said []string
	for _, e := range out {
		said = append(said, string(explore.AppendOther(nil, e, r.spec.Modes)))
	}
	return said
}

// line shows the state at the present mark, and the next wake.
func (r *runner[S]) line() string {
	text := string(r.cell.AppendText(nil, r.state, r.now))
	if at, ok := r.cell.NextWake(r.state); ok {
		text += ", wake " + explore.MarkText(at)
	}
	return text
}
