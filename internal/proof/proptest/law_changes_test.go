package proptest

import (
	"bytes"
	"fmt"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants about changes of a state.

// exact are the machines whose answers say exactly whether the state changed.
var exact = join(breakers, []machine{jitteredOpen, places, shared, spending})

// G18Late is G18 when due work has not been done before: a refusal leaves the state
// as a tick at its mark does, bit for bit. A stale action does that too, or leaves
// the state unchanged, or as a tick just before its mark.
func G18Late(m machine, h history) error {
	r, _ := rigged(m, h)
	r.without = reducer.Peek
	r.before = func(a reducer.Action, now clock.Mark) error {
		for _, late := range [...]clock.Mark{0, 1, 5, 33} {
			at := now + late
			next, ticked, before := r.subject.Clone(), r.subject.Clone(), r.subject.Clone()
			x := step(next, a, at)
			step(ticked, tick, at)
			step(before, tick, at-1)
			got, was := next.Bytes(), r.subject.Bytes()
			if x.answer.Changed == bytes.Equal(got, was) {
				return fmt.Errorf("G18: %s, and %x became %x", x, was, got)
			}
			same := bytes.Equal(got, ticked.Bytes())
			switch x.answer.Verdict {
			case reducer.Reject:
				m.meet()
				if !same {
					return fmt.Errorf("G18: %s leaves %q, a tick %q", x, next.Text(at), ticked.Text(at))
				}
			case reducer.Stale:
				if !same && !bytes.Equal(got, was) && !bytes.Equal(got, before.Bytes()) {
					return fmt.Errorf("G18: %s leaves %q, a tick %q", x, next.Text(at), ticked.Text(at))
				}
			}
		}
		return nil
	}
	r.play(h.steps())
	return r.err
}

// G19: the number of effects of a step is bounded by the configuration and by the
// waiters and holders, however much time passed before it.
func G19(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		x := step(r.subject.Clone(), tick, r.now+clock.Mark(w>>20%(1<<40)))
		seen := r.subject.Look()
		bound := len(seen.waiters) + int(seen.held)
		if seen.breaker != nil {
			bound = 5
			if seen.breaker.Mode != breaker.Closed {
				m.meet()
			}
		} else if bound > 0 {
			m.meet()
		}
		if len(x.out) > bound {
			return fmt.Errorf("G19: %s has %d effects", x.action, len(x.out))
		}
	}
	return r.err
}

// G20: when no place is held and no caller waits, the encoding of a bulkhead is as long as the
// encoding of a new one with its numbers.
func G20(m machine, h history) error {
	r, c := play(m, h)
	seen := r.subject.Look()
	if seen.held > 0 {
		m.meet()
	}
	for _, w := range seen.waiters {
		r.subject.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: w.Ticket}}, r.now)
	}
	for _, g := range r.grants {
		r.subject.Step(reducer.Action{Kind: reducer.Release, Permit: g.permit, Cost: g.cost}, r.now)
	}
	if n, fresh := len(r.subject.Bytes()), len(m.make(c).Bytes()); n > fresh+4 {
		return fmt.Errorf("G20: %q takes %d bytes, a new one %d", r.subject.Text(r.now), n, fresh)
	}
	return r.err
}
