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

// questions are what any cell can be asked by somebody new, and the ends of the
// permits that are out.
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

// exploredSound: no step breaks what Check checks.
func exploredSound[S any](s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], _ clock.Mark) error { return s.use.Cell.Check(r.State) }}
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

// exploredTwin: Reduce is Step on a clone.
func exploredTwin[S any](s scene[S]) checked[S] {
	return checked[S]{Step: func(t passage[S]) error {
		c := s.use.Cell
		twin := tried(c, t.Before.State, t.Before.Action(t.Action), t.At)
		return s.differ(done[S]{t.After.State, t.Effects.Answer, t.Effects.Others}, twin)
	}}
}

// exploredG3: a mark before the last one counts as the last one.
func exploredG3[S any](s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], _ clock.Mark) error {
		last, ok := s.last(&r.State)
		if !ok {
			return nil
		}
		for _, a := range questions(s, r) {
			late := tried(s.use.Cell, r.State, a, last)
			if err := s.differ(tried(s.use.Cell, r.State, a, last-1), late); err != nil {
				return fmt.Errorf("%s a nanosecond before the last mark: %w", a, err)
			}
		}
		return nil
	}}
}

// exploredG4: after a tick and serving, the next wake is later, or there is none.
func exploredG4[S any](s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		var out reducer.Out
		after := settled(s.use.Cell, r.State, now, &out)
		if at, ok := s.use.Cell.NextWake(after); ok && at <= now {
			return fmt.Errorf("after a tick at %s the next wake is %s", now, at)
		}
		return nil
	}}
}

// exploredG5: before the next wake a tick does nothing to anybody, and no later
// step can tell that it was.
func exploredG5[S any](s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		c := s.use.Cell
		wake, ok := c.NextWake(r.State)
		if ok && wake <= now {
			return nil
		}
		ticked := tried(c, r.State, tick, now)
		if still, yet := c.NextWake(ticked.state); len(ticked.out) > 0 || still != wake || yet != ok {
			return fmt.Errorf("a tick at %s, before the next wake at %s: %s, then %s", now, wake, ticked.effects(), still)
		}
		for _, a := range questions(s, r) {
			if err := s.differ(tried(c, r.State, a, now), tried(c, ticked.state, a, now)); err != nil {
				return fmt.Errorf("%s tells that there was a tick: %w", a, err)
			}
		}
		return nil
	}}
}

// exploredG8: a day later all is the same.
func exploredG8[S any](s scene[S]) checked[S] {
	const day = 24 * time.Hour
	c := s.use.Cell
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		later := c.Shift(r.State, day)
		wake, ok := c.NextWake(r.State)
		if at, still := c.NextWake(later); still != ok || ok && at != wake.Add(day) {
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
			r.State, r.Bytes = was.state, c.AppendState(nil, was.state)
			if !s.told(s.moved(r, is.state, day), now.Add(day), r, now) {
				return fmt.Errorf("a day later %s leads to %q, not %q", a, c.AppendText(nil, is.state, 0), c.AppendText(nil, was.state, 0))
			}
		}
		return nil
	}}
}

// alike compares what two steps said, but for what a cell alone understands, and
// for the time between them.
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

// exploredG9: decoded and encoded again a state is the same, and goes on alike.
func exploredG9[S any](s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		restored, err := s.use.Cell.DecodeState(r.Bytes)
		if err != nil {
			return err
		}
		if again := s.encoded(restored, 0); !bytes.Equal(again, r.Bytes) {
			return fmt.Errorf("restored it is %x, not %x", again, r.Bytes)
		}
		for _, a := range questions(s, r) {
			if err := s.differ(tried(s.use.Cell, restored, a, now), tried(s.use.Cell, r.State, a, now)); err != nil {
				return fmt.Errorf("restored it answers %s otherwise: %w", a, err)
			}
		}
		return nil
	}}
}

// exploredG18: a refusal, a stale action and a tick leave the state as a tick at
// that mark leaves it, and an answer says that the state changed exactly when its
// bytes are others.
func exploredG18[S any](s scene[S]) checked[S] {
	return checked[S]{Step: func(t passage[S]) error {
		if changed := !bytes.Equal(t.Before.Bytes, t.After.Bytes); changed != t.Effects.Answer.Changed {
			return fmt.Errorf("%s: the state changed: %t", t.Effects, changed)
		}
		a := t.Action.Action.Kind
		switch v := t.Effects.Answer.Verdict; {
		case v != reducer.Reject && v != reducer.Stale && a != reducer.Tick, a == reducer.Expire:
			return nil
		}
		after := t.After.State
		if a == reducer.Cancel || a == reducer.Settle {
			// One of the ends of its mark: the others may come after it.
			after = tried(s.use.Cell, after, tick, t.At).state
		}
		if idle := tried(s.use.Cell, t.Before.State, tick, t.At).state; !s.equal(after, idle) {
			return fmt.Errorf("%s leaves %q, a tick %q", t.Effects, s.use.Cell.AppendText(nil, t.After.State, t.At), s.use.Cell.AppendText(nil, idle, t.At))
		}
		return nil
	}}
}

// exploredG12: a grant and a drop end a wait, once, and whose wait is over gets
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

// exploredG13: what is done late, twice or with a permit that never was changes
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
