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
		m.meet()
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
			m.meet()
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
		m.meet()
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
		m.meet()
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
		if y.answer.Verdict == reducer.Reject {
			m.meet()
		}
		if x.answer.Verdict == reducer.Admit && y.answer.Verdict != reducer.Admit {
			return fmt.Errorf("G3: %s, but %s", x, y)
		}
		return nil
	}
	r.play(h.steps())
	return r.err
}

// G9: decode(encode(s)) = s, and the future of a state restored in mid-flight
// is identical.
func G9(m machine, h history) error {
	a, _ := play(m, h)
	b, _ := rigged(m, h)
	for _, w := range h.steps() {
		b.next(w)
		m.meet()
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
		m.meet()
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

// G17: a peek changes nothing, at any mark, and answers as the acquire at that mark
// would.
func G17(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		before := r.subject.Bytes()
		at := r.now + clock.Mark(w>>40%64) - 8
		if wake, ok := r.subject.NextWake(); ok && w>>46%4 == 0 {
			at = wake + clock.Mark(w>>48%2)
		}
		cost := uint32(w >> 48 % 5)
		s := r.subject.Clone()
		peek := step(s, reducer.Action{Kind: reducer.Peek, Cost: cost}, at)
		if peek.answer.Changed || len(peek.out) > 0 || !bytes.Equal(before, s.Bytes()) {
			return fmt.Errorf("G17: %s changes something", peek)
		}
		m.meet()
		p, a := peek.answer, step(s, reducer.Action{Kind: reducer.TryAcquire, Cost: cost}, at).answer
		if p.Verdict != a.Verdict || p.Reason != a.Reason || p.Verdict == reducer.Reject && p.Mark != a.Mark {
			return fmt.Errorf("G17: %s, and then %s", peek, a)
		}
	}
	return r.err
}

// G18: a refusal, a stale action and a spurious tick leave the state as a tick at
// that mark would leave it, bit for bit; and an answer says that the state changed
// exactly when its bytes are others.
func G18(m machine, h history) error {
	r, _ := rigged(m, h)
	r.before = func(a reducer.Action, now clock.Mark) error {
		asked, idle := r.subject.Clone(), r.subject.Clone()
		x := step(asked, a, now)
		if changed := !bytes.Equal(asked.Bytes(), r.subject.Bytes()); changed != x.answer.Changed {
			return fmt.Errorf("G18: %s, and the bytes changed: %t", x, changed)
		}
		if v := x.answer.Verdict; v != reducer.Reject && v != reducer.Stale || a.Kind == reducer.Expire {
			return nil
		}
		m.meet()
		step(idle, tick, now)
		if a.Kind == reducer.Cancel || a.Kind == reducer.Settle {
			// One of the ends of its mark: the others may come after it.
			step(asked, tick, now)
		}
		if !bytes.Equal(asked.Bytes(), idle.Bytes()) {
			return fmt.Errorf("G18: %s leaves %q, not %q", x, asked.Text(now), idle.Text(now))
		}
		return nil
	}
	r.play(h.steps())
	return r.err
}

// Sound: no step breaks what Check checks.
func Sound(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		m.meet()
		if err := r.subject.Check(); err != nil {
			return fmt.Errorf("Sound: %w", err)
		}
	}
	return r.err
}
