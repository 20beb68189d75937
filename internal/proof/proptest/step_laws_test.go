package proptest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The laws of single states and steps. Each is stated once; drawn histories and
// explorations both check it.

// stepLaw checks a state before it is stepped by an action, or by any possible
// action. It does not change the subject. met says whether the law applied to the
// state.
type stepLaw func(s subject, a reducer.Action, now clock.Mark) (met bool, err error)

// ahead checks a law ahead of every step of a drawn history, and at its end.
func ahead(law stepLaw) func(m machine, h history) error {
	return func(m machine, h history) error {
		r, _ := rigged(m, h)
		r.before = func(a reducer.Action, now clock.Mark) error {
			met, err := law(r.subject, a, now)
			if met {
				m.meet()
			}
			return err
		}
		r.play(h.steps())
		if r.err == nil {
			r.err = r.before(tick, r.now)
		}
		return r.err
	}
}

// aheadOf is ahead for a law that depends on the configuration.
func aheadOf(law func(c config) stepLaw) func(m machine, h history) error {
	return func(m machine, h history) error { return ahead(law(m.draw(h)))(m, h) }
}

// subject is a state of the scene in the form that a law takes.
func (s scene[S]) subject(state S) subject {
	return &erased[S]{s.use.Cell, state, func(state *S) (v view) {
		if s.last != nil {
			v.last, v.begun = s.last(state)
		}
		return v
	}}
}

// atSteps checks a law at every step of an exploration.
func atSteps[S any](law stepLaw) func(scene[S]) checked[S] {
	return func(s scene[S]) checked[S] {
		return checked[S]{Step: func(t passage[S]) error {
			_, err := law(s.subject(t.Before.State), t.Before.Action(t.Action), t.At)
			return err
		}}
	}
}

// atStates checks a law at every state of an exploration.
func atStates[S any](law stepLaw) func(scene[S]) checked[S] {
	return func(s scene[S]) checked[S] {
		return checked[S]{State: func(r room[S], now clock.Mark) error {
			_, err := law(s.subject(r.State), tick, now)
			return err
		}}
	}
}

// asked checks a law at every state of an exploration, with every acquire.
func asked[S any](law stepLaw) func(scene[S]) checked[S] {
	return func(s scene[S]) checked[S] {
		return checked[S]{State: func(r room[S], now clock.Mark) error {
			x := s.subject(r.State)
			for _, a := range questions(s, r) {
				if _, err := law(x, a, now); err != nil {
					return fmt.Errorf("%s: %w", a, err)
				}
			}
			return nil
		}}
	}
}

// same compares the results of two steps, and the subjects after them.
func same(a, b record, s, t subject) error {
	if a.answer != b.answer || !slices.Equal(a.out, b.out) {
		return fmt.Errorf("%s, else %s", a, b)
	}
	if !bytes.Equal(s.Bytes(), t.Bytes()) {
		return fmt.Errorf("after %s the states are %q and %q", a, s.Text(a.at), t.Text(a.at))
	}
	return nil
}

// alikeBy steps two subjects by one action, and compares.
func alikeBy(s, t subject, a reducer.Action, now clock.Mark) error {
	x, y := s.Clone(), t.Clone()
	return same(step(x, a, now), step(y, a, now), x, y)
}

// Sound: after every step Check passes and the state can be decoded.
func Sound(s subject, _ reducer.Action, _ clock.Mark) (bool, error) {
	if _, err := s.Restored(); err != nil {
		return true, err
	}
	return true, s.Check()
}

// Twin: Reduce(s, a, t) = Step(Clone(s), a, t), and a clone between two steps changes nothing: one
// subject takes both steps in place, the other one on clones.
func Twin(s subject, a reducer.Action, now clock.Mark) (bool, error) {
	stepped, reduced := s.Clone(), s
	for range 2 {
		want := step(stepped, a, now)
		next, effects := reduced.Reduce(a, now)
		if err := same(record{now, a, effects.Answer, effects.Others}, want, next, stepped); err != nil {
			return true, err
		}
		reduced = next
	}
	return true, nil
}

// G3: a mark before the last one counts as the last one.
func G3(s subject, a reducer.Action, _ clock.Mark) (bool, error) {
	seen := s.Look()
	if !seen.begun {
		return false, nil
	}
	for _, back := range [...]clock.Mark{1, 13} {
		early, late := s.Clone(), s.Clone()
		if err := same(step(early, a, seen.last-back), step(late, a, seen.last), early, late); err != nil {
			return true, fmt.Errorf("%d ns before the last mark: %w", back, err)
		}
	}
	return true, nil
}

// G4: after a tick and serving the queue NextWake is later, or there is none.
func G4(s subject, _ reducer.Action, now clock.Mark) (bool, error) {
	wake, ok := s.NextWake()
	s = s.Clone()
	s.Step(tick, now)
	for range explore.MaxCallers {
		if answer, _ := s.Step(reducer.Action{Kind: reducer.Serve}, now); answer.Verdict != reducer.Done {
			break
		}
	}
	if at, still := s.NextWake(); still && at <= now {
		return true, fmt.Errorf("after a tick at %s the next wake is %s", now, at)
	}
	return ok && wake <= now, nil
}

// G5: before the next wake a tick has no effects, moves no wake, and changes no later
// decision.
func G5(s subject, a reducer.Action, now clock.Mark) (bool, error) {
	wake, ok := s.NextWake()
	if ok && wake <= now {
		return false, nil
	}
	ticked := s.Clone()
	x := step(ticked, tick, now)
	if at, still := ticked.NextWake(); len(x.out) > 0 || x.answer.Verdict > reducer.Done || at != wake || still != ok {
		return true, fmt.Errorf("a spurious %s, before the next wake at %s, then %s", x, wake, at)
	}
	return true, alikeBy(s, ticked, a, now)
}

// G9: decode(encode(s)) = s, and a restored state decides the same afterwards.
func G9(s subject, a reducer.Action, now clock.Mark) (bool, error) {
	restored, err := s.Restored()
	if err != nil {
		return true, err
	}
	if !bytes.Equal(restored.Bytes(), s.Bytes()) || !reflect.DeepEqual(restored.Look(), s.Look()) {
		return true, fmt.Errorf("restored it is %q, not %q", restored.Text(now), s.Text(now))
	}
	return true, alikeBy(s, restored, a, now)
}

// G17: a peek changes nothing, at any mark, and gives the answer of an acquire at
// that mark.
func G17(s subject, a reducer.Action, now clock.Mark) (bool, error) {
	before, wake := s.Bytes(), now+4
	if at, ok := s.NextWake(); ok {
		wake = at
	}
	for _, at := range [...]clock.Mark{now - 8, now - 1, now, now + 1, now + 2, now + 3, now + 17, wake, wake + 1} {
		for _, cost := range [...]uint32{0, 1, 2, 3, 4, a.Cost} {
			c := s.Clone()
			peek := step(c, reducer.Action{Kind: reducer.Peek, Cost: cost}, at)
			if peek.answer.Changed || len(peek.out) > 0 || !bytes.Equal(before, c.Bytes()) {
				return true, fmt.Errorf("%s changes something", peek)
			}
			p, a := peek.answer, step(c, reducer.Action{Kind: reducer.TryAcquire, Cost: cost}, at).answer
			if p.Verdict != a.Verdict || p.Reason != a.Reason || p.Verdict == reducer.Reject && p.Mark != a.Mark {
				return true, fmt.Errorf("%s, and then %s", peek, a)
			}
		}
	}
	return true, nil
}

// G18: a refusal, a stale action and a tick leave the state as a tick at that mark
// would leave it, bit for bit; and an answer says that the state changed exactly when
// its bytes changed.
func G18(s subject, a reducer.Action, now clock.Mark) (bool, error) {
	next, idle := s.Clone(), s.Clone()
	x := step(next, a, now)
	if changed := !bytes.Equal(next.Bytes(), s.Bytes()); changed != x.answer.Changed {
		return true, fmt.Errorf("%s, and the bytes changed: %t", x, changed)
	}
	if v := x.answer.Verdict; v != reducer.Reject && v != reducer.Stale && a.Kind != reducer.Tick || a.Kind == reducer.Expire {
		return false, nil
	}
	step(idle, tick, now)
	if a.Kind == reducer.Cancel || a.Kind == reducer.Settle {
		// This is one of several ends at its mark: the others may follow.
		step(next, tick, now)
	}
	if !bytes.Equal(next.Bytes(), idle.Bytes()) {
		return true, fmt.Errorf("%s leaves %q, not %q", x, next.Text(now), idle.Text(now))
	}
	return a.Kind != reducer.Tick, nil
}

// L3: a refusal changes nothing but the last mark: it leaves the state as a tick
// would.
func L3(s subject, a reducer.Action, now clock.Mark) (bool, error) {
	if a.Kind != reducer.Acquire && a.Kind != reducer.TryAcquire && a.Kind != reducer.Reserve {
		return false, nil
	}
	refused, idle := s.Clone(), s.Clone()
	x := step(refused, a, now)
	if x.answer.Verdict != reducer.Reject {
		return false, nil
	}
	if step(idle, tick, now); !bytes.Equal(refused.Bytes(), idle.Bytes()) {
		return true, fmt.Errorf("%s leaves %q, not %q", x, refused.Text(now), idle.Text(now))
	}
	return true, nil
}

// L5: a cost of n is n costs of 1 at one instant, and all or nothing.
func L5(capacity uint32) stepLaw {
	return func(s subject, _ reducer.Action, now clock.Mark) (met bool, err error) {
		for n := uint32(2); n <= capacity; n++ {
			whole, parts, before := s.Clone(), s.Clone(), s.Clone()
			all := step(whole, reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now)
			one := uint32(0)
			for range n {
				if step(parts, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now).answer.Verdict == reducer.Admit {
					one++
				}
			}
			met = met || one > 0 && one < n
			free := func(s subject) uint32 { return step(s, reducer.Action{Kind: reducer.Peek}, now).answer.Free }
			admitted := all.answer.Verdict == reducer.Admit
			switch {
			case admitted != (one == n):
				return true, fmt.Errorf("%s, but %d times 1 of %d", all, one, n)
			case admitted && !bytes.Equal(whole.Bytes(), parts.Bytes()):
				return true, fmt.Errorf("%d at once leave %q, one by one %q", n, whole.Text(now), parts.Text(now))
			case !admitted && len(s.Look().waiters) == 0 && free(whole) != free(before):
				return true, fmt.Errorf("the refused %s took something", all)
			}
		}
		return met, nil
	}
}

// L6: a cost above the capacity is always refused, with its own reason and without a
// retry-after.
func L6(capacity uint32) stepLaw {
	return func(s subject, _ reducer.Action, now clock.Mark) (bool, error) {
		for _, kind := range [...]reducer.Kind{reducer.Acquire, reducer.TryAcquire, reducer.Reserve, reducer.Peek} {
			for _, cost := range [...]uint32{capacity + 1, 2*capacity + 1, 1<<32 - 1} {
				x := step(s.Clone(), reducer.Action{Kind: kind, Cost: cost, Permit: reducer.Permit{Mark: clock.Never}}, now)
				if _, told := x.answer.RetryAt(); told || x.answer.Verdict != reducer.Reject || x.answer.Reason != reducer.ReasonCapacity {
					return true, fmt.Errorf("%s", x)
				}
			}
		}
		return true, nil
	}
}

// ofLimit makes a law of one that depends on the capacity of a limiter.
func ofLimit(law func(capacity uint32) stepLaw) func(c config) stepLaw {
	return func(c config) stepLaw { return law(capacity(c.limit)) }
}
