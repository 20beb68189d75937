package proptest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of circuit breakers.

// B1: the changes are closed to open, open to half-open, and half-open to open or
// closed, each with a new generation.
func B1(m machine, h history) error {
	r, _ := play(m, h)
	mode, generation := breaker.Closed, uint64(1)
	for _, x := range r.log {
		for _, e := range x.out {
			m.meet()
			to := breaker.Mode(e.Permit.ID)
			legal := mode == breaker.Closed && to == breaker.Open || mode == breaker.Open && to == breaker.HalfOpen ||
				mode == breaker.HalfOpen && (to == breaker.Open || to == breaker.Closed)
			if !legal || e.Permit.Generation <= generation {
				return fmt.Errorf("B1: from %s, generation %d, by %s", mode, generation, x)
			}
			mode, generation = to, e.Permit.Generation
		}
	}
	if c := r.subject.Look().breaker; c.Generation > 0 && (c.Mode != mode || uint64(c.Generation) != generation) {
		return fmt.Errorf("B1: %s of generation %d, reported %s and %d", c.Mode, c.Generation, mode, generation)
	}
	return nil
}

// B2: open refuses until its deadline and admits at it.
func B2(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		c := r.subject.Look().breaker
		if c.Mode != breaker.Open {
			continue
		}
		ask := reducer.Action{Kind: reducer.Acquire, Cost: 1}
		for _, at := range [...]clock.Mark{r.now, c.OpenUntil - 1, c.OpenUntil} {
			m.meet()
			if x := r.again(ask, at); (x.answer.Verdict == reducer.Admit) != (at >= c.OpenUntil) {
				return fmt.Errorf("B2: open until %s, %s", c.OpenUntil, x)
			}
		}
	}
	return r.err
}

// B3: in half-open at most as many probes are pending or finished as configured.
func B3(m machine, h history) error {
	r, c := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		core := r.subject.Look().breaker
		if core.Mode != breaker.HalfOpen {
			continue
		}
		admitted := uint32(0)
		for _, g := range r.grants {
			if g.permit.Generation == uint64(core.Generation) && !g.over && g.at.Add(core.OpenFor) > r.now {
				admitted++
			}
		}
		if uint32(core.ProbesOut)+core.Total > 0 {
			m.meet()
		}
		if max(admitted, uint32(core.ProbesOut))+core.Total > c.breaker.Probes {
			return fmt.Errorf("B3: %d out (%d by the state), %d done, of %d", admitted, core.ProbesOut, core.Total, c.breaker.Probes)
		}
	}
	return r.err
}

// longest is a time after which every deadline of a breaker has passed.
func longest(c breaker.Config) clock.Mark {
	return clock.Mark(max(c.Open.Base, c.Open.Max)+c.HalfOpenMax) + 2
}

// B4: if no probe is ever settled, also none of those that are admitted later, the
// breaker admits a caller again.
func B4(m machine, h history) error {
	r, c := play(m, h)
	if core := r.subject.Look().breaker; core.Mode == breaker.Open {
		r.advance(core.OpenUntil)
	}
	for range c.breaker.Probes {
		r.step(reducer.Action{Kind: reducer.Acquire, Cost: 1})
	}
	if core := r.subject.Look().breaker; core.Mode == breaker.HalfOpen && core.ProbesOut > 0 {
		m.meet()
	}
	for deadline := r.now + 2*longest(c.breaker); r.now <= deadline; {
		if x := step(r.subject.Clone(), reducer.Action{Kind: reducer.Acquire, Cost: 1}, r.now); x.answer.Verdict == reducer.Admit {
			return r.err
		}
		wake, ok := r.subject.NextWake()
		if !ok {
			return fmt.Errorf("B4: %s refuses for ever", r.subject.Text(r.now))
		}
		r.advance(max(wake, r.now+1))
	}
	return fmt.Errorf("B4: %s refuses for longer than its times", r.subject.Text(r.now))
}

// B6: a result of an older generation does not count.
func B6(m machine, h history) error {
	r, _ := rigged(m, h)
	for i, w := range h.steps() {
		r.next(w)
		c := r.subject.Look().breaker
		for _, g := range r.grants {
			if g.permit.Generation == uint64(c.Generation) {
				continue
			}
			m.meet()
			a := reducer.Action{Kind: reducer.Record, Outcome: pick(uint64(i), reducer.OK, reducer.Fail), Permit: g.permit}
			late, idle := r.subject.Clone(), r.subject.Clone()
			step(idle, tick, r.now)
			if x := step(late, a, r.now); x.answer.Verdict != reducer.Stale || !bytes.Equal(late.Bytes(), idle.Bytes()) {
				return fmt.Errorf("B6: %s in generation %d", x, c.Generation)
			}
		}
	}
	return r.err
}

// B7: an outcome that is neither a success nor a failure frees its probe's place and
// is not counted.
func B7(m machine, h history) error {
	r, _ := rigged(m, h)
	r.before = func(a reducer.Action, now clock.Mark) error {
		if a.Kind != reducer.Record {
			return nil
		}
		for _, outcome := range [...]reducer.Outcome{reducer.Ignore, reducer.Throttle, reducer.Cancelled} {
			a.Outcome = outcome
			c, idle := r.subject.Clone(), r.subject.Clone()
			step(idle, reducer.Action{Kind: reducer.Cancel, Permit: a.Permit}, now)
			if x := step(c, a, now); len(x.out) > 0 || !bytes.Equal(c.Bytes(), idle.Bytes()) {
				return fmt.Errorf("B7: %s gives %q", x, c.Text(now))
			}
			was, is := r.subject.Look().breaker, c.Look().breaker
			if was.Mode == breaker.HalfOpen && is.ProbesOut < was.ProbesOut {
				m.meet()
			}
			if was.Generation == is.Generation && (was.Total != is.Total || was.Failed != is.Failed || is.ProbesOut > was.ProbesOut) {
				return fmt.Errorf("B7: %s votes: %q", a, c.Text(now))
			}
		}
		return nil
	}
	r.play(h.steps())
	return r.err
}

// B9: a refusal is not a failure: counts and deadlines stay.
func B9(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		was := *r.subject.Look().breaker
		c := r.subject.Clone()
		x := step(c, reducer.Action{Kind: reducer.Acquire, Cost: 1}, r.now)
		is := *c.Look().breaker
		is.Last = was.Last
		if x.answer.Verdict == reducer.Reject {
			m.meet()
		}
		if x.answer.Verdict == reducer.Reject && is != was {
			return fmt.Errorf("B9: %s makes %+v of %+v", x, is, was)
		}
	}
	return r.err
}

// grown returns how many openings since the last close, of those that outcomes caused, a
// step leaves behind. It is read off the modes that the step enters, never off the number
// that the breaker keeps.
func grown(opens uint32, before breaker.Core, a reducer.Action, now clock.Mark, out reducer.Out) uint32 {
	bad := before.Mode == breaker.HalfOpen && before.Failed+before.Slow > 0
	if a.Kind == reducer.Reset {
		opens = 0
	}
	for i, e := range out {
		switch breaker.Mode(e.Permit.ID) {
		case breaker.HalfOpen:
		case breaker.Open:
			// What time ends before an outcome comes in, it ends at an earlier mark.
			voted := a.Kind == reducer.Record && i == len(out)-1 && e.Permit.Mark == max(now, before.Last)
			if voted && a.Outcome != reducer.Throttle || i == 0 && bad && a.Kind != reducer.Transition && a.Kind != reducer.Reset {
				opens++
			}
		default:
			opens = 0
		}
	}
	return opens
}

// B10: the open time grows by its backoff with each opening since the breaker was
// last closed that outcomes caused, up to the maximum, and with no other.
func B10(m machine, h history) error {
	r, c := rigged(m, h)
	delay := must(backoff.New(c.breaker.Open))
	opens := uint32(0)
	var cores []breaker.Core
	r.before = func(reducer.Action, clock.Mark) error {
		cores = append(cores, *r.subject.Look().breaker)
		return nil
	}
	for _, w := range h.steps() {
		known, opened := len(r.log), clock.Never
		r.next(w)
		for i, x := range r.log[known:] {
			opens = grown(opens, cores[known+i], x.action, x.at, x.out)
			for _, e := range x.out {
				if breaker.Mode(e.Permit.ID) == breaker.Open {
					opened = e.Permit.Mark
				}
			}
		}
		core := r.subject.Look().breaker
		if core.Mode != breaker.Open && core.Mode != breaker.HalfOpen || core.Generation == 0 {
			continue
		}
		if core.Opens != opens {
			return fmt.Errorf("B10: grows by %d openings, outcomes caused %d", core.Opens, opens)
		}
		if core.Mode == breaker.Open && opened != clock.Never {
			m.meet()
			lasts, want := core.OpenUntil.Sub(opened), delay.Nominal(max(opens, 1))
			if c.breaker.Open.Max > 0 && lasts > c.breaker.Open.Max || lasts != want {
				return fmt.Errorf("B10: opening %d lasts %s, by the backoff %s", opens, lasts, want)
			}
		}
	}
	return r.err
}

// B11: with a healthy dependency the breaker closes within a bounded time.
func B11(m machine, h history) error {
	r, c := play(m, h)
	if r.subject.Look().breaker.Mode != breaker.Closed {
		m.meet()
	}
	deadline := r.now + 3*longest(c.breaker)*clock.Mark(c.breaker.Probes+1)
	for r.now <= deadline && r.err == nil {
		if r.subject.Look().breaker.Mode == breaker.Closed {
			return nil
		}
		if x := r.step(reducer.Action{Kind: reducer.Acquire, Cost: 1}); x.Verdict == reducer.Admit {
			r.step(reducer.Action{Kind: reducer.Record, Outcome: reducer.OK, Permit: x.Permit})
			continue
		}
		wake, ok := r.subject.NextWake()
		if !ok {
			wake = deadline + 1
		}
		r.advance(max(wake, r.now+1))
	}
	return fmt.Errorf("B11: still %s", r.subject.Text(r.now))
}

// B12: of the calls in a ramp the floor of the sum of their shares pass.
func B12(m machine, h history) error {
	r, c := rigged(m, h)
	const whole = uint64(reducer.Whole)
	from := uint64(c.breaker.RampFrom.Millionths())
	for _, w := range h.steps() {
		r.next(w)
		s := r.subject.Clone()
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.HalfOpen)}, r.now)
		for range c.breaker.Probes {
			x := step(s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, r.now)
			step(s, reducer.Action{Kind: reducer.Record, Outcome: reducer.OK, Permit: x.answer.Permit}, r.now)
		}
		core, now := s.Look().breaker, r.now.Add(time.Duration(w>>8%24))
		if core.Mode != breaker.Closed || core.RampUntil == clock.Never || now >= core.RampUntil {
			continue
		}
		m.meet()
		share := from + (whole-from)*uint64(max(now, core.Last)-core.Origin)/uint64(core.RampUntil-core.Origin)
		sum, passed := uint64(core.RampSum), uint64(0)
		for n := range 12 {
			x := step(s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, now)
			if x.answer.Verdict == reducer.Admit {
				passed++
			}
			if sum += share; passed != sum/whole {
				return fmt.Errorf("B12: %d of %d calls passed, of %d millionths each: %s", passed, n+1, share, x)
			}
		}
	}
	return r.err
}

// B13: a new breaker and one that is reset are in the initial mode.
func B13(m machine, h history) error {
	r, c := rigged(m, h)
	r.step(reducer.Action{Kind: reducer.Acquire, Cost: 1})
	if c.breaker.Initial != breaker.Closed {
		m.meet()
	}
	if got := r.subject.Look().breaker.Mode; got != c.breaker.Initial {
		return fmt.Errorf("B13: a new one is %s", got)
	}
	for _, w := range h.steps() {
		r.next(w)
		s := r.subject.Clone()
		step(s, reducer.Action{Kind: reducer.Reset}, r.now)
		if got := mode(s); got != c.breaker.Initial {
			return fmt.Errorf("B13: a reset one is %s", got)
		}
	}
	return r.err
}

// B14: an answer that failed or was throttled opens a closed breaker for the time that it
// says, at most for the bound; where the outcome opens it by itself, for the longer time.
func B14(m machine, h history) error {
	r, c := rigged(m, h)
	bound := c.breaker.ObeyRetryAfter
	for i, w := range h.steps() {
		r.next(w)
		s := r.subject.Clone()
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.Closed)}, r.now)
		x := step(s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, r.now)
		says := time.Duration(1 + w%64)
		a := reducer.Action{Kind: reducer.Record, Outcome: pick(uint64(i), reducer.Throttle, reducer.Fail), Permit: x.answer.Permit, Value: uint64(says)}
		x = step(s, a, r.now)
		core := s.Look().breaker
		switch {
		case bound == 0 && a.Outcome == reducer.Throttle && core.Mode != breaker.Closed, bound > 0 && core.Mode != breaker.Open:
			return fmt.Errorf("B14: %s leaves it %s", x, core.Mode)
		case bound > 0:
			m.meet()
			until := core.Last.Add(min(says, bound))
			if core.OpenUntil < until || core.OpenUntil > until && core.OpenUntil > max(until, core.Last.Add(core.OpenFor)) || a.Outcome == reducer.Throttle && core.OpenUntil != until {
				return fmt.Errorf("B14: %s opens it until %s, not %s", x, core.OpenUntil, until)
			}
		}
	}
	return r.err
}

// B15: as many slow outcomes in a row as configured open a closed breaker.
func B15(m machine, h history) error {
	r, c := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		if c.breaker.SlowConsecutive == 0 {
			continue
		}
		m.meet()
		s := r.subject.Clone()
		step(s, reducer.Action{Kind: reducer.Reset}, r.now)
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.Closed)}, r.now)
		now := r.now
		for range c.breaker.SlowConsecutive {
			x := step(s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, now)
			now = max(now, s.Look().last) + clock.Mark(c.breaker.SlowOver) + 1
			if step(s, reducer.Action{Kind: reducer.Record, Outcome: reducer.OK, Permit: x.answer.Permit}, now); mode(s) == breaker.Open {
				break
			}
		}
		if got := mode(s); got != breaker.Open {
			return fmt.Errorf("B15: it is %s after %d slow outcomes in a row", got, c.breaker.SlowConsecutive)
		}
	}
	return r.err
}

// B15, when it is configured: the slow outcomes in a row before a time without
// slow.consecutive do not count after it.
func B15Configured(m machine, h history) error {
	w := h.word(0)
	row := 2 + uint32(w%3)
	next := config{breaker: breaker.Config{Window: breaker.Consecutive, Count: 100, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: 30},
		SlowOver: 1, SlowConsecutive: row}}
	without := next
	without.breaker.SlowOver, without.breaker.SlowConsecutive = 0, 0
	c, now := next.maker(m.kind).New(start), start
	slow := func(n uint32) {
		for range n {
			x := c.Step(reducer.Action{Kind: reducer.Acquire, Cost: 1}, now, nil)
			now += 2
			c.Step(reducer.Action{Kind: reducer.Record, Outcome: reducer.OK, Permit: x.Permit}, now, new(reducer.Out))
		}
	}
	slow(1 + uint32(w>>8%uint64(row-1)))
	c = m.reconfigure(without.maker(m.kind), c, now, nil)
	slow(uint32(w >> 16 % 3))
	c = m.reconfigure(next.maker(m.kind), c, now, nil)
	m.meet()
	for n := uint32(1); n <= row; n++ {
		slow(1)
		if opened := breaker.CoreOf(c).Mode == breaker.Open; opened != (n == row) {
			return fmt.Errorf("B15: after %d of %d slow outcomes since slow.consecutive is set, open is %t", n, row, opened)
		}
	}
	return nil
}

// B14, half-open: an answer with a retry-after never closes it, also where the outcomes of
// all probes would.
func B14Probe(m machine, h history) error {
	r, c := rigged(m, h)
	if c.breaker.ObeyRetryAfter == 0 {
		return nil
	}
	for i, w := range h.steps() {
		r.next(w)
		s := r.subject.Clone()
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.Closed)}, r.now)
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.HalfOpen)}, r.now)
		core := s.Look().breaker
		for n := range c.breaker.Probes {
			x := step(s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, r.now)
			a := reducer.Action{Kind: reducer.Record, Outcome: reducer.OK, Permit: x.answer.Permit}
			if mode(s) != breaker.HalfOpen {
				break // what came in decided
			}
			if n == c.breaker.Probes-1 {
				a.Outcome, a.Value = pick(uint64(i), reducer.Fail, reducer.Throttle), 1+w%64
			}
			x = step(s, a, r.now)
			if a.Value == 0 {
				continue
			}
			m.meet()
			if len(x.out) != 1 || breaker.Mode(x.out[0].Permit.ID) != breaker.Open || x.out[0].Permit.Generation != uint64(core.Generation)+1 {
				return fmt.Errorf("B14: half-open, %s", x)
			}
		}
	}
	return r.err
}

// B16: where successes close a breaker, an outcome that failed and was slow counts once.
func B16(m machine, h history) error {
	w := h.word(0)
	c := drawBreaker(w, breaker.Consecutive, false)
	c.Probes += 2
	c.Successes = 1 + uint32(w>>44%uint64(c.Probes))
	c.SlowOver, c.SlowConsecutive, c.HalfOpenMax = 2, 1+uint32(w>>52%9), 0
	s, now := m.make(config{breaker: c}), start
	for i, w := range h.steps() {
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.Closed)}, now)
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.HalfOpen)}, now)
		good, bad := uint32(0), uint32(0)
		for n := range c.Probes {
			x := step(s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, now)
			a := reducer.Action{Kind: reducer.Record, Outcome: pick(w>>(2*n), reducer.OK, reducer.Fail), Permit: x.answer.Permit}
			a.Mark = now
			slow := w>>(2*n+1)%2 == 1
			if slow {
				a.Mark -= 3
			}
			if slow && a.Outcome == reducer.Fail {
				m.meet()
			}
			if slow || a.Outcome == reducer.Fail {
				bad++
			} else {
				good++
			}
			want := breaker.HalfOpen
			switch {
			case good >= c.Successes:
				want = breaker.Closed
			case bad > c.Probes-c.Successes:
				want = breaker.Open
			}
			if x = step(s, a, now); mode(s) != want {
				return fmt.Errorf("B16: round %d, %d of %d probes good, %d bad, %d successes close it: %s makes it %s, not %s", i, good, c.Probes, bad, c.Successes, x, mode(s), want)
			}
			if want != breaker.HalfOpen {
				break
			}
		}
		now++
	}
	return nil
}

// B17: of failures in a row the last of which opens a closed breaker, the last one opens it
// a nanosecond before the time to forget is over, and begins a new row at its end.
func B17(m machine, h history) error {
	r, c := rigged(m, h)
	for i, w := range h.steps() {
		r.next(w)
		s := r.subject.Clone()
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.ForcedClosed)}, r.now)
		step(s, reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.Closed)}, r.now)
		m.meet()
		p := step(s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, r.now).answer.Permit
		fail := func(now clock.Mark) {
			step(s, reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail, Permit: p}, now)
		}
		now := max(r.now, s.Look().last)
		for range c.breaker.Count - 1 {
			fail(now)
		}
		late := i%2 == 0
		if now = now.Add(c.breaker.Forget - 1); late {
			now++
		}
		if fail(now); (mode(s) == breaker.Open) == late {
			return fmt.Errorf("B17: it is %s after %d failures, the last one %s after the one before", mode(s), c.breaker.Count, now.Sub(r.now))
		}
		for range c.breaker.Count - 1 {
			fail(now)
		}
		if mode(s) != breaker.Open {
			return fmt.Errorf("B17: it is %s after as many failures in a row at one mark", mode(s))
		}
	}
	return r.err
}
