package proptest

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of every reducer. Each takes a machine and a history and
// returns what it found wrong.

var tick = reducer.Action{Kind: reducer.Tick}

// same compares what two subjects said and became.
func same(what string, a, b record, s, t subject) error {
	if a.String() != b.String() {
		return fmt.Errorf("%s: %s, else %s", what, a, b)
	}
	if !bytes.Equal(s.Bytes(), t.Bytes()) {
		return fmt.Errorf("%s: after %s the states are %q and %q", what, a, s.Text(a.at), t.Text(a.at))
	}
	return nil
}

func step(s subject, a reducer.Action, now clock.Mark) record {
	answer, out := s.Step(a, now)
	return record{now, a, answer, out}
}

// G1: the same history gives the same bytes and the same effects.
func G1(m machine, h history) error {
	a, _ := play(m, h)
	b, _ := play(m, h)
	if len(a.log) != len(b.log) {
		return fmt.Errorf("G1: %d steps and %d", len(a.log), len(b.log))
	}
	for i := range a.log {
		if a.log[i].String() != b.log[i].String() {
			return fmt.Errorf("G1: %s, else %s", a.log[i], b.log[i])
		}
	}
	if !bytes.Equal(a.subject.Bytes(), b.subject.Bytes()) {
		return fmt.Errorf("G1: other bytes in the end")
	}
	return nil
}

// G2: Reduce leaves its input as it is, and no later step reaches into an older
// state.
func G2(m machine, h history) error {
	type old struct {
		subject subject
		bytes   []byte
	}
	var all []old
	r, _ := rigged(m, h)
	r.before = func(a reducer.Action, now clock.Mark) error {
		before := r.subject.Bytes()
		next, _ := r.subject.Reduce(a, now)
		if !bytes.Equal(before, r.subject.Bytes()) {
			return fmt.Errorf("G2: Reduce of %s changed its input", a)
		}
		all = append(all, old{next, next.Bytes()})
		if len(all) > 1 {
			// What comes of the older state is not to be seen in it.
			older := all[len(all)-2]
			later, _ := older.subject.Reduce(a, now)
			for range 3 {
				later.Step(reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 99}}, now)
				later.Step(a, now)
			}
		}
		for _, o := range all[max(0, len(all)-4):] {
			if !bytes.Equal(o.bytes, o.subject.Bytes()) {
				return fmt.Errorf("G2: %s changed an older state", a)
			}
		}
		return nil
	}
	r.play(h.steps())
	return r.err
}

// Twin: Reduce(s, a, t) = Step(Clone(s), a, t).
func Twin(m machine, h history) error {
	r, _ := rigged(m, h)
	r.before = func(a reducer.Action, now clock.Mark) error {
		clone := r.subject.Clone()
		want := step(clone, a, now)
		next, effects := r.subject.Reduce(a, now)
		return same("Twin", record{now, a, effects.Answer, effects.Others}, want, next, clone)
	}
	r.play(h.steps())
	return r.err
}

// rigged begins a subject with its rig and plays nothing yet.
func rigged(m machine, h history) (*rig, config) {
	s, c := m.begin(h)
	return newRig(s, m.kind), c
}

// G3: a mark before the last one counts as the last one.
func G3(m machine, h history) error {
	r, _ := rigged(m, h)
	back := time.Duration(1 + h.word(1)%16)
	r.before = func(a reducer.Action, now clock.Mark) error {
		seen := r.subject.Look()
		if !seen.begun {
			return nil
		}
		early, late := r.subject.Clone(), r.subject.Clone()
		last := seen.last
		x, y := step(early, a, last.Add(-back)), step(late, a, last)
		x.at = y.at
		return same("G3", x, y, early, late)
	}
	r.play(h.steps())
	return r.err
}

// G3Word: an algorithm that keeps no last mark admits nothing at an old mark
// that it would not admit now.
func G3Word(m machine, h history) error {
	r, _ := rigged(m, h)
	back := time.Duration(1 + h.word(1)%16)
	r.before = func(a reducer.Action, now clock.Mark) error {
		early, late := r.subject.Clone(), r.subject.Clone()
		x, y := step(early, a, now.Add(-back)), step(late, a, now)
		if x.answer.Verdict == reducer.Admit && y.answer.Verdict != reducer.Admit {
			return fmt.Errorf("G3: %s, but %s", x, y)
		}
		return nil
	}
	r.play(h.steps())
	return r.err
}

// G4: after a tick at the mark of NextWake and serving the queue, NextWake is
// later, or there is none.
func G4(m machine, h history) error {
	r, _ := play(m, h)
	if r.err != nil {
		return r.err
	}
	for range 8 {
		wake, ok := r.subject.NextWake()
		if !ok {
			return nil
		}
		r.advance(wake)
		if after, ok := r.subject.NextWake(); ok && after <= r.now {
			return fmt.Errorf("G4: after a tick at %s the next wake is %s", r.now, after)
		}
	}
	return r.err
}

// G5: a spurious tick is the identity: with one before every step, all else
// is as it was.
func G5(m machine, h history) error {
	a, _ := play(m, h)
	b, _ := rigged(m, h)
	var log []record
	for _, w := range h.steps() {
		before := len(b.log)
		if wake, ok := b.subject.NextWake(); !ok || wake > b.now {
			if x := step(b.subject, tick, b.now); len(x.out) > 0 || x.answer.Verdict > reducer.Done {
				return fmt.Errorf("G5: a spurious %s", x)
			}
		}
		b.next(w)
		log = append(log, b.log[before:]...)
	}
	for i := range min(len(a.log), len(log)) {
		if a.log[i].String() != log[i].String() {
			return fmt.Errorf("G5: %s, with spurious ticks %s", a.log[i], log[i])
		}
	}
	if len(a.log) != len(log) {
		return fmt.Errorf("G5: %d steps, with spurious ticks %d", len(a.log), len(log))
	}
	return nil
}

// G6: neither a tick nor serving the queue does anything strictly before
// NextWake.
func G6(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		wake, ok := r.subject.NextWake()
		if !ok {
			wake = r.now + 1000
		}
		for _, at := range [...]clock.Mark{r.now, wake - 1} {
			if at < r.now || at >= wake {
				continue
			}
			c := r.subject.Clone()
			for _, a := range [...]reducer.Action{tick, {Kind: reducer.Serve}} {
				x := step(c, a, at)
				if len(x.out) > 0 || a.Kind == reducer.Serve && x.answer.Verdict != reducer.Stale {
					return fmt.Errorf("G6: before the wake at %s: %s", wake, x)
				}
			}
		}
	}
	return r.err
}

// G7: Tick(t1) and Tick(t2) are Tick(t2), for t2 before the next wake; for a
// breaker and a bulkhead without a queue for all.
func G7(m machine, h history) error {
	r, c := rigged(m, h)
	for i, w := range h.steps() {
		r.next(w)
		to := r.now + clock.Mark(1+w>>40%40)
		if wake, ok := r.subject.NextWake(); ok && m.kind != breakerFamily && (m.kind != bulkheads || c.bulkhead.Queue > 0) {
			to = min(to, wake-1)
		}
		via := r.now + clock.Mark(w>>48%40)
		if via > to {
			continue
		}
		once, twice := r.subject.Clone(), r.subject.Clone()
		one := step(once, tick, to)
		first, second := step(twice, tick, via), step(twice, tick, to)
		// Changes that nobody could see in between may be told as one.
		if (len(one.out) == 0) != (len(first.out)+len(second.out) == 0) || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			return fmt.Errorf("G7: step %d: %s gives %q, by way of %s and %s it is %q", i, one, once.Text(to), first, second, twice.Text(to))
		}
	}
	return r.err
}

// G8: everything later by the same time decides the same, later by that time.
// Permits of limiters from before the shift are not used any more: they hold
// marks.
func G8(m machine, h history) error {
	by := time.Duration(h.word(1) % (1 << 40))
	a, _ := rigged(m, h)
	steps := h.steps()
	half := len(steps) / 2
	a.play(steps[:half])
	if m.kind == limiters {
		a.grants = nil
	}
	b := *a
	b.subject, b.now, b.told = a.subject.Shift(by), a.now.Add(by), a.told.Add(by)
	b.grants = append([]grant(nil), a.grants...)
	for i := range b.grants {
		b.grants[i].at = b.grants[i].at.Add(by)
	}
	b.waiting = map[uint64]reducer.Answer{}
	for caller, answer := range a.waiting {
		b.waiting[caller] = answer
	}
	b.tickets = append([]uint64(nil), a.tickets...)
	a.log, b.log = nil, nil
	a.play(steps[half:])
	b.play(steps[half:])
	for i := range a.log {
		if i >= len(b.log) {
			return fmt.Errorf("G8: fewer steps when shifted")
		}
		if x, y := relative(a.log[i], 0), relative(b.log[i], by); x != y {
			return fmt.Errorf("G8: %s, shifted by %s: %s", x, by, y)
		}
	}
	return a.err
}

// relative prints a step without what a shift changes.
func relative(x record, by time.Duration) string {
	text := fmt.Sprintf("%s %s cost %d: %s %s free %d", x.at.Add(-by), x.action.Kind, x.action.Cost, x.answer.Verdict, x.answer.Reason, x.answer.Free)
	if at, ok := x.answer.RetryAt(); ok {
		text += fmt.Sprintf(" retry %s", at.Add(-by))
	}
	if x.answer.Verdict == reducer.Wait {
		text += fmt.Sprintf(" turn %s ends %s", x.answer.Mark.Add(-by), x.answer.WaitEnds().Add(-by))
	}
	for _, e := range x.out {
		text += fmt.Sprintf("; %s %s caller %d", e.Kind, e.Reason, e.Caller)
	}
	return text
}

// G9: decode(encode(s)) = s, and the future of a state restored in mid-flight
// is identical.
func G9(m machine, h history) error {
	a, _ := play(m, h)
	b, _ := rigged(m, h)
	for _, w := range h.steps() {
		b.next(w)
		restored, err := b.subject.Restored()
		if err != nil {
			return fmt.Errorf("G9: %w", err)
		}
		if !bytes.Equal(restored.Bytes(), b.subject.Bytes()) || !reflect.DeepEqual(restored.Look(), b.subject.Look()) {
			return fmt.Errorf("G9: restored it is %q, not %q", restored.Text(b.now), b.subject.Text(b.now))
		}
		b.subject = restored
	}
	for i := range a.log {
		if i >= len(b.log) || a.log[i].String() != b.log[i].String() {
			return fmt.Errorf("G9: step %d differs after restoring: %s", i, a.log[i])
		}
	}
	return nil
}

// G10: the size of a state is a function of its configuration.
func G10(m machine, h history) error {
	r, c := rigged(m, h)
	b := c.breaker
	bound := 240 + 48*int(c.limit.Queue+c.bulkhead.Queue+c.bulkhead.Concurrent) + 8*int(b.Probes+2*b.Count)
	for range 3 {
		r.play(h.steps())
		if n := len(r.subject.Bytes()); n > bound {
			return fmt.Errorf("G10: %d bytes, at most %d were to be expected", n, bound)
		}
	}
	for n := range uint64(100) {
		r.step(reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 1000 + n}})
	}
	if n := len(r.subject.Bytes()); n > bound {
		return fmt.Errorf("G10: %d bytes after a crowd, at most %d were to be expected", n, bound)
	}
	return r.err
}

// Sound: no step breaks what Check checks.
func Sound(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		if err := r.subject.Check(); err != nil {
			return fmt.Errorf("Sound: %w", err)
		}
	}
	return r.err
}
