package proptest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The laws of every cell, at every state that can be reached.

// questions are the acquires of a new caller, and the ends of the permits that are
// held.
func questions[S any](s scene[S], r room[S]) (all []reducer.Action) {
	all = append(all, reducer.Action{Kind: reducer.Serve})
	asked := 0
	for _, a := range s.use.Alphabet {
		switch a.Kind {
		case reducer.Acquire, reducer.TryAcquire:
			a.ID = uint64(len(r.Callers)) + 1
			all = append(all, a)
			asked++
		case reducer.Record, reducer.Release, reducer.Cancel, reducer.Renew:
			for i := range r.Callers {
				if r.Callers[i].Standing == explore.Holds {
					all = append(all, r.Action(explore.Deed{Caller: uint64(i + 1), Action: a}))
				}
			}
		}
	}
	return all
}

// exploredG2: Reduce leaves its input as it was.
func exploredG2[S any](s scene[S]) checked[S] {
	return checked[S]{Step: func(t passage[S]) error {
		if !bytes.Equal(t.Before.Bytes, s.encoded(t.Before.State, 0)) {
			return fmt.Errorf("%v changed its input", t.Action)
		}
		return nil
	}}
}

// exploredG8: a day later the cell decides the same.
func exploredG8[S any](s scene[S]) checked[S] {
	const day = 24 * time.Hour
	c := s.use.Cell
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		later := reducer.ValuesOf(c).Shift(r.State, day)
		wake, ok := reducer.ValuesOf(c).NextWake(r.State)
		if at, still := reducer.ValuesOf(c).NextWake(later); still != ok || ok && at != wake.Add(day) {
			return fmt.Errorf("a day later the next wake is %s, not %s", at, wake.Add(day))
		}
		for _, a := range questions(s, r) {
			was := tried(c, r.State, a, now)
			if a.Kind == reducer.Cancel || a.Kind == reducer.Release || a.Kind == reducer.Record || a.Kind == reducer.Renew {
				a.Permit = s.move(a.Permit, day)
			}
			is := tried(c, later, a, now.Add(day))
			if err := alike(was, is, day); err != nil {
				return fmt.Errorf("a day later %s: %w", a, err)
			}
			r := r
			r.State, r.Bytes = was.state, reducer.ValuesOf(c).AppendState(nil, was.state)
			if !s.told(s.moved(r, is.state, day), now.Add(day), r, now) {
				return fmt.Errorf("a day later %s leads to %q, not %q", a, c.AppendText(nil, &is.state, 0), c.AppendText(nil, &was.state, 0))
			}
		}
		return nil
	}}
}

// alike compares the results of two steps, except for the words that only the cell
// reads, and shifted by the time between them.
func alike[S any](was, is done[S], by time.Duration) error {
	a, b := was.answer, is.answer
	if a.Verdict != b.Verdict || a.Reason != b.Reason || a.Free != b.Free || len(was.out) != len(is.out) ||
		(a.Verdict == reducer.Reject || a.Verdict == reducer.Wait) && b.Mark != a.Mark.Add(by) {
		return fmt.Errorf("%s, not %s", is.effects(), was.effects())
	}
	for i, e := range was.out {
		if o := is.out[i]; o.Kind != e.Kind || o.Reason != e.Reason || o.Caller != e.Caller {
			return fmt.Errorf("%s, not %s", is.effects(), was.effects())
		}
	}
	return nil
}

// exploredG12: a grant or a drop ends a wait, once, and a wait that is over gets
// neither.
func exploredG12[S any](s scene[S]) checked[S] {
	return checked[S]{Step: func(t passage[S]) error {
		waiting := slices.Clone(t.Before.Queue)
		if t.Effects.Answer.Verdict == reducer.Wait && t.Action.Action.Kind == reducer.Acquire {
			waiting = append(waiting, t.Action.Caller)
		}
		for _, e := range t.Effects.Others {
			if e.Kind != reducer.Grant && e.Kind != reducer.Drop {
				continue
			}
			i := slices.Index(waiting, e.Caller)
			if i < 0 {
				return fmt.Errorf("%s, and it does not wait", e)
			}
			waiting = slices.Delete(waiting, i, i+1)
		}
		return nil
	}}
}

// exploredG13: an action that is late, a duplicate or has an unknown permit changes
// nothing, and is answered so.
func exploredG13[S any](s scene[S]) checked[S] {
	c := s.use.Cell
	unknown := reducer.Permit{Generation: 1 << 40, ID: 7, Mark: 1}
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		idle := tried(c, r.State, tick, now).state
		for _, a := range s.late {
			late := []reducer.Action{{Kind: a.Kind, Outcome: a.Outcome, Cost: a.Cost, Permit: unknown}}
			for i := range r.Callers {
				if r.Callers[i].Standing == explore.Late {
					late = append(late, r.Action(explore.Deed{Caller: uint64(i + 1), Action: a}))
				}
			}
			for _, a := range late {
				if d := tried(c, idle, a, now); d.answer.Verdict != reducer.Stale || len(d.out) > 0 || !s.equal(d.state, idle) {
					return fmt.Errorf("%s, late: %s", a, d.effects())
				}
			}
		}
		return nil
	}}
}
