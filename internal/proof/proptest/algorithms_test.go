package proptest

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of the algorithms of rate limiters.

// L7: a token bucket counted in fractions of a permit, a leaky bucket as a meter, and
// the machine (GCRA) decide the same.
func L7(m machine, h history) error {
	s, c := m.begin(h)
	every := big.NewRat(interval(c.limit), 1)
	burst := big.NewRat(int64(c.limit.Burst), 1)
	tokens, level := new(big.Rat).Set(burst), new(big.Rat)
	now := start
	for _, w := range h.steps() {
		passed := int64(w % 16 * (w >> 4 % 2))
		now += clock.Mark(passed)
		back := new(big.Rat).Quo(big.NewRat(passed, 1), every)
		if tokens.Add(tokens, back); tokens.Cmp(burst) > 0 {
			tokens.Set(burst)
		}
		if level.Sub(level, back); level.Sign() < 0 {
			level.SetInt64(0)
		}
		cost := big.NewRat(int64(w>>5%6), 1)
		x := step(s, reducer.Action{Kind: reducer.TryAcquire, Cost: uint32(w >> 5 % 6)}, now)
		enough := tokens.Cmp(cost) >= 0
		room := new(big.Rat).Add(level, cost).Cmp(burst) <= 0
		admitted := x.answer.Verdict == reducer.Admit
		if !admitted && x.answer.Reason == reducer.ReasonRate {
			m.meet()
		}
		if enough != room || enough != admitted {
			return fmt.Errorf("L7: %s, by tokens %t, by level %t", x, enough, room)
		}
		if admitted {
			tokens.Sub(tokens, cost)
			level.Add(level, cost)
		}
	}
	return nil
}

// L8: a fixed window holds at most its count; any window of that length holds
// at most twice as much.
func L8(m machine, h history) error {
	r, c := rigged(m, h)
	r.without = reducer.Cancel // a window without permits may stay open
	r.play(h.steps())
	if r.refusals(reducer.ReasonRate, reducer.ReasonWait, reducer.ReasonFull) > 0 {
		m.meet()
	}
	sum, end := int64(0), clock.Always
	for _, u := range r.uses(granted) {
		if u.cost == 0 {
			continue
		}
		if u.at >= end {
			sum, end = 0, u.at+clock.Mark(c.limit.Period)
		}
		if sum += u.cost; sum > int64(c.limit.Count) {
			return fmt.Errorf("L8: %d in a window that may hold %d", sum, c.limit.Count)
		}
	}
	return bounded(r.uses(granted), func(w int64) int64 { return (1 + w/int64(c.limit.Period) + 1) * int64(c.limit.Count) })
}

// L9: a sliding log holds at most its count in every window of its period, and in a
// longer window the sum of its parts.
func L9(m machine, h history) error {
	r, c := play(m, h)
	if r.refusals(reducer.ReasonRate, reducer.ReasonWait, reducer.ReasonFull) > 0 {
		m.meet()
	}
	if err := bounded(r.uses(granted), func(w int64) int64 { return (w/int64(c.limit.Period) + 1) * int64(c.limit.Count) }); err != nil {
		return fmt.Errorf("L9: %w", err)
	}
	return nil
}

// L12Leaky: after a departure of cost c from a leaky bucket the next one is at least c
// intervals later. Reservations depart when they may be used.
func L12Leaky(m machine, h history) error {
	r, c := play(m, h)
	if r.refusals(reducer.ReasonRate, reducer.ReasonWait, reducer.ReasonFull) > 0 {
		m.meet()
	}
	departed := slices.DeleteFunc(r.uses(ready), func(u use) bool { return u.cost == 0 })
	slices.SortStableFunc(departed, func(a, b use) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(departed); i++ {
		before, next := departed[i-1], departed[i]
		if least := before.at + clock.Mark(before.cost*interval(c.limit)); next.at < least {
			return fmt.Errorf("L12: a departure at %s of cost %d, and the next one at %s, not from %s on", before.at, before.cost, next.at, least)
		}
	}
	return nil
}

// L10: a sliding counter admits when previous x (D - elapsed) + (current + cost) x D
// <= count x D, recounted from the list of all uses, in exact integers.
func L10(m machine, h history) error {
	s, c := m.begin(h)
	d, count := int64(c.limit.Period), int64(c.limit.Count)
	origin, now, lastUse := int64(-1), int64(0), int64(0)
	var all []use
	for _, w := range h.steps() {
		now += int64(w % 8 * (w >> 3 % 4))
		cost := int64(1 + w>>5%2)
		x := step(s, reducer.Action{Kind: reducer.TryAcquire, Cost: uint32(cost)}, clock.Mark(now))
		if origin < 0 || (now-origin)/d-(lastUse-origin)/d > 2 {
			origin, all = now, nil
		}
		n := (now - origin) / d
		previous, current := int64(0), int64(0)
		for _, u := range all {
			switch (int64(u.at) - origin) / d {
			case n - 1:
				previous += u.cost
			case n:
				current += u.cost
			}
		}
		fits := previous*(d-(now-origin-n*d))+(current+cost)*d <= count*d
		if previous > 0 {
			m.meet()
		}
		if fits != (x.answer.Verdict == reducer.Admit) {
			return fmt.Errorf("L10: %s, with previous %d and current %d of %d", x, previous, current, count)
		}
		if fits {
			all = append(all, use{clock.Mark(now), cost})
			lastUse = now
		} else if len(all) == 0 {
			origin = -1
		}
	}
	return nil
}

// L16: after a long time without use exactly the capacity is admitted.
func L16(m machine, h history) error {
	r, c := play(m, h)
	r.advance(r.now + 100_000)
	if len(r.waiting) > 0 {
		return fmt.Errorf("L16: a caller still waits")
	}
	if len(r.grants) > 0 {
		m.meet()
	}
	for n := range capacity(c.limit) + 1 {
		x := step(r.subject, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, r.now)
		if (x.answer.Verdict == reducer.Admit) != (n < capacity(c.limit)) {
			return fmt.Errorf("L16: %s after %d of %d", x, n, capacity(c.limit))
		}
	}
	return r.err
}
