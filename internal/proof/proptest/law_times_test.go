package proptest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants about time.

// G6: neither a tick nor serving the queue has an effect strictly before NextWake.
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
				m.meet()
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
		m.meet()
		once, twice := r.subject.Clone(), r.subject.Clone()
		one := step(once, tick, to)
		first, second := step(twice, tick, via), step(twice, tick, to)
		// Changes without an observer between them may be reported as one.
		if (len(one.out) == 0) != (len(first.out)+len(second.out) == 0) || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			return fmt.Errorf("G7: step %d: %s gives %q, by way of %s and %s it is %q", i, one, once.Text(to), first, second, twice.Text(to))
		}
	}
	return r.err
}

// G8: if all marks are later by the same time, the decisions are the same, later by
// that time. Permits that limiters granted before the shift are not used after it:
// they hold marks.
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
		m.meet()
		if i >= len(b.log) {
			return fmt.Errorf("G8: fewer steps when shifted")
		}
		if x, y := relative(a.log[i], 0), relative(b.log[i], by); x != y {
			return fmt.Errorf("G8: %s, shifted by %s: %s", x, by, y)
		}
	}
	return a.err
}

// relative prints a step without its marks, which a shift changes.
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
