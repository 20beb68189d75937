package proptest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of every reducer that are about whole histories. Each takes a
// machine and a history and returns the violation that it found. Those about single
// states and steps are in step_laws_test.go.

var tick = reducer.Action{Kind: reducer.Tick}

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

// G2: Reduce does not change its input, and no later step changes an older state.
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
			// Later steps do not change the older state.
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

// rigged begins a subject with its rig, without a step.
func rigged(m machine, h history) (*rig, config) {
	s, c := m.begin(h)
	return newRig(s, m.kind), c
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

// G10: the size of a state is a function of its configuration: MaxSize, and what waiters
// take.
func G10(m machine, h history) error {
	r, c := rigged(m, h)
	bound := r.subject.MaxSize() + 48*int(c.limit.Queue+c.bulkhead.Queue)
	for range 3 {
		r.play(h.steps())
		m.meet()
		if n := len(r.subject.Bytes()); n > bound {
			return fmt.Errorf("G10: %d bytes, at most %d expected", n, bound)
		}
	}
	for n := range uint64(100) {
		r.step(reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 1000 + n}})
	}
	if n := len(r.subject.Bytes()); n > bound {
		return fmt.Errorf("G10: %d bytes after a crowd, at most %d expected", n, bound)
	}
	return r.err
}
