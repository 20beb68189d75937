package script

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// twin plays the same script a day later on the line of marks, in the state that
// the first one has, shifted. Both must decide alike (G8). Near the ends of the
// line, where marks stop moving, it ends.
type twin[S any] struct {
	state S
	got   map[uint64]got
	alive bool
}

const later = 24*time.Hour + 1

// far is where marks still move freely.
const far = 200 * 365 * 24 * time.Hour

func movable(m clock.Mark) bool { return m > clock.Mark(-far) && m < clock.Mark(far) }

// move shifts a mark, none of the ends and not the zero of an unused field.
func move(m clock.Mark) clock.Mark {
	if m == clock.Never || m == clock.Always {
		return m
	}
	return m.Add(later)
}

// follow plays a step that came to the effects.
func (w *twin[S]) follow(t *testing.T, where string, r *runner[S], a reducer.Action, id uint64, effects reducer.Effects) {
	t.Helper()
	if w.alive = w.alive && movable(r.now); !w.alive {
		return
	}
	now := r.now.Add(later)
	var found reducer.Effects
	w.state, found = r.cell.Reduce(w.state, a, now)
	w.got = keep(w.got, id, a, found)
	if want, got := shifted(effects).String(), plain(found).String(); want != got {
		t.Fatalf("%s: G8: a day later it says %s, want %s", where, got, want)
	}
	w.wakes(t, where, r)
}

// wakes compares the marks of the next wake, and the first state, shifted, with
// the twin's.
func (w *twin[S]) wakes(t *testing.T, where string, r *runner[S]) {
	t.Helper()
	want, ok := r.cell.NextWake(r.state)
	if ok && !movable(want) {
		w.alive = false
		return
	}
	shiftedState := r.cell.Shift(r.state, later)
	if err := r.cell.Check(shiftedState); err != nil {
		t.Fatalf("%s: Shift: %v", where, err)
	}
	for name, s := range map[string]S{"a day later": w.state, "shifted": shiftedState} {
		if got, still := r.cell.NextWake(s); still != ok || ok && got != want.Add(later) {
			t.Fatalf("%s: G8: %s the next wake is %v, want %v", where, name, got, want.Add(later))
		}
		for _, cost := range []uint32{0, 1, 2} {
			a := reducer.Action{Kind: reducer.Acquire, Cost: cost, Permit: reducer.Permit{ID: 98}}
			_, one := r.cell.Reduce(r.state, a, r.now)
			_, other := r.cell.Reduce(s, a, r.now.Add(later))
			if want, got := shifted(one).String(), plain(other).String(); want != got {
				t.Fatalf("%s: G8: %s %v is answered %s, want %s", where, name, a, got, want)
			}
		}
	}
}

// plain leaves out of effects what a cell alone understands.
func plain(e reducer.Effects) reducer.Effects {
	if e.Answer.Verdict == reducer.Admit {
		e.Answer.Generation, e.Answer.ID = 0, 0
	}
	others := make(reducer.Out, 0, len(e.Others))
	for _, o := range e.Others {
		if o.Kind != reducer.Change {
			o.Permit.Generation, o.Permit.ID = 0, 0
		}
		others = append(others, o)
	}
	e.Others = others
	return e
}

// shifted returns the effects as they are a day later.
func shifted(e reducer.Effects) reducer.Effects {
	e = plain(e)
	switch e.Answer.Verdict {
	case reducer.Admit, reducer.Reject:
		e.Answer.Mark = move(e.Answer.Mark)
	case reducer.Wait:
		e.Answer.Mark = move(e.Answer.Mark)
		e.Answer.Generation = uint64(move(clock.Mark(e.Answer.Generation)))
	}
	for i := range e.Others {
		if e.Others[i].Kind != reducer.Drop {
			e.Others[i].Permit.Mark = move(e.Others[i].Permit.Mark)
		}
	}
	return e
}
