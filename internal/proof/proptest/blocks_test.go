package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// blocking returns a limiter with blocks.
func blocking(name string, algorithm limiter.Algorithm) machine {
	m := limit(name, algorithm, alone)
	plain := m.draw
	m.draw = func(h history) config {
		c := plain(h)
		w := h.word(0) >> 40
		c.limit.Block = limiter.Block{After: 1 + uint32(w%3), For: backoff.Config{Kind: backoff.Linear, Base: time.Duration(1 + w>>2%30)}}
		return c
	}
	return m
}

// L17: a bucket that was idle for long gives its burst and, asked at every instant, as
// many permits as its clock says: (F + 1) / 2F of the rate in the warm-up, then the rate.
func L17(m machine, h history) error {
	r, c := play(m, h)
	r.advance(r.now + 100_000)
	if len(r.grants) > 0 {
		m.meet()
	}
	u, taken := c.limit.WarmUp, int64(0)
	over, factor := int64(u.Over), int64(u.Factor)
	for at := range 3 * over {
		now := r.now + clock.Mark(at)
		for step(r.subject, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now).answer.Verdict == reducer.Admit {
			taken++
		}
		w := min(at, over)
		reading := w*(2*over+(factor-1)*w)/(2*over*factor) + at - w
		if want := int64(c.limit.Burst) + reading/interval(c.limit); taken != want {
			return fmt.Errorf("L17: after %d ns of use %d permits, not %d", at, taken, want)
		}
	}
	return r.err
}

// L18: refusals block for the time of their number, calls during a block change nothing,
// and a time without refusals ends the row.
func L18(m machine, h history) error {
	r, c := play(m, h)
	b, blocks, refused, over, blocked := c.limit.Block, int64(0), uint32(0), clock.Mark(0), false
	for _, x := range r.log {
		good := max(int64(c.limit.Period), blocks*int64(b.For.Base))
		asks := x.action.Kind == reducer.Acquire || x.action.Kind == reducer.TryAcquire || x.action.Kind == reducer.Reserve
		bars := blocked && x.at < over
		if !bars && asks && (blocks > 0 || refused > 0) && x.at >= over.Add(time.Duration(good)) {
			blocks, refused, blocked = 0, 0, false
		}
		switch {
		case x.action.Kind == reducer.Reset:
			blocks, refused, blocked = 0, 0, false
		case x.action.Kind == reducer.Transition && bars:
			over = x.at
		case !asks || x.answer.Reason == reducer.ReasonCapacity:
		case bars != (x.answer.Reason == reducer.ReasonBlocked):
			return fmt.Errorf("L18: %s, blocked until %d: %v", x, over, bars)
		case bars:
			m.meet()
			if x.answer.Mark < over {
				return fmt.Errorf("L18: %s, blocked until %d", x, over)
			}
		case x.answer.Verdict == reducer.Admit && x.action.Cost > 0:
			refused = 0
		case x.answer.Verdict == reducer.Reject:
			over, blocked = x.at, false
			if refused++; refused == b.After {
				refused, blocked = 0, true
				blocks++
				over = x.at.Add(time.Duration(blocks) * b.For.Base)
				if x.answer.Mark < over {
					return fmt.Errorf("L18: %s begins a block until %d", x, over)
				}
			}
		}
	}
	return r.err
}

// blockLines are the invariants of warm-ups and of blocks.
var blockLines = []property{
	{"L17", "after a long idle time a bucket gives its burst, and as much as its warm-up says at full load", L17, []machine{warming},
		warming.made("begins at a smaller part of its rate", func(c *config) { c.limit.WarmUp.Factor++ })},
	{"L18", "refusals in a row begin blocks that grow, which calls during them do not extend", L18,
		[]machine{blockedBucket, blockedWindow, blockedLog},
		blockedBucket.with("extends a block at each call", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Reason == reducer.ReasonBlocked && a.Kind != reducer.Peek {
				nudge(s, 1)
			}
			return answer, out
		}))},
	{"L2", "a retry-after of a limit with blocks is exact", L2, []machine{blockedBucket, blockedWindow, blockedLog},
		blockedBucket.with("admits a nanosecond before the end of a block", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Reason == reducer.ReasonBlocked {
				answer.Mark++
			}
			return answer, out
		}))},
	{"L14", "a new state of a limit with blocks in place of a fresh one decides the same", L14, []machine{blockedBucket, blockedWindow, blockedLog},
		blockedBucket.with("reports fresh during a row", mutant{fresh: func(subject, clock.Mark) bool { return true }})},
}

var (
	blockedBucket = blocking("token bucket with blocks", limiter.TokenBucket)
	blockedWindow = blocking("fixed window with blocks", limiter.FixedWindow)
	blockedLog    = blocking("sliding log with blocks", limiter.SlidingLog)
)
