package oracle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	cfg "github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/reducer"
)

// TestAdaptiveRounds plays thousands of outcomes at a limit of the oracle and at the machine
// side by side: more than the calls of a random log, which seldom end a round.
func TestAdaptiveRounds(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(60) {
		if err := playRounds(rand.New(rand.NewPCG(seed, 7)), kinds); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, kind := range []string{"raised", "lowered", "given back", "held", "grown by half"} {
		if kinds[kind] < 20 {
			t.Errorf("only %d rounds are %s", kinds[kind], kind)
		}
	}
}

var outcomeNames = map[reducer.Outcome]string{reducer.OK: "ok", reducer.Fail: "fail", reducer.Timeout: "timeout", reducer.Throttle: "throttle",
	reducer.Ignore: "ignore", reducer.Cancelled: "cancel"}

// attempt is an attempt at both.
type attempt struct {
	permit reducer.Permit
	leave  func(outcome string, since, now int64)
	place  *place
}

func playRounds(r *rand.Rand, kinds map[string]int) error {
	c := cfg.Config{
		Minimum: 1 + r.Uint32N(3), Increase: 1 + r.Uint32N(3), Decrease: reducer.Percent([]uint32{1, 10, 50, 100}[r.IntN(4)]),
		Tolerance: reducer.Percent([]uint32{1, 15, 15, 33, 50}[r.IntN(5)]),
	}
	c.Initial = c.Minimum + r.Uint32N(30)
	c.Maximum = c.Initial + r.Uint32N(1+30*r.Uint32N(2))
	if r.IntN(2) == 0 {
		c.Over = time.Duration(50 + r.IntN(50))
	} else {
		c.OverShare = reducer.Percent([]uint32{20, 60, 100}[r.IntN(3)])
	}
	if r.IntN(4) == 0 {
		c.Lease = 200
	}
	m, err := cfg.New(c)
	if err != nil {
		return err
	}
	s, a := reducer.ValuesOf(m).Init(0), newAdaptive(c)
	var held []attempt
	now := int64(0)
	var out reducer.Out
	for phase := range 12 {
		// In each phase calls are as likely to be answered late, or not at all.
		bad, hangs, load := r.Float64()*r.Float64(), r.IntN(3) == 0, 1+r.IntN(40)
		for range 200 {
			now += int64(r.IntN(3))
			for len(held) < load && r.IntN(4) > 0 {
				cost, bound := int64(1+r.IntN(1+r.IntN(2)*3)), now+int64(20+r.IntN(200))
				if r.IntN(3) == 0 {
					bound = never
				}
				ask := reducer.Action{Kind: reducer.Acquire, Cost: uint32(cost)}
				if bound != never {
					ask = ask.WithDeadline(clock.Mark(bound))
				}
				got, want := m.Step(&s, ask, clock.Mark(now), &out), a.ask(cost)
				if (got.Verdict == reducer.Admit) != (want.verdict == admit) || got.Reason.String() != want.reason {
					return fmt.Errorf("phase %d at %d: %v, not %v, by %s", phase, now, got, want, m.AppendText(nil, &s, 0))
				}
				if want.verdict != admit {
					break
				}
				place, leave := a.take(cost, bound, now)
				held = append(held, attempt{got.Permit, leave, place})
			}
			if len(held) == 0 {
				continue
			}
			i := r.IntN(len(held))
			x := held[i]
			held = append(held[:i], held[i+1:]...)
			outcome, since := reducer.OK, now-int64(r.IntN(20))
			switch f := r.Float64(); {
			case f < bad && hangs:
				outcome, since = reducer.Timeout, now-100
			case f < bad:
				since = now - int64(r.IntN(200))
				outcome = []reducer.Outcome{reducer.OK, reducer.OK, reducer.Fail, reducer.Throttle, reducer.Timeout}[r.IntN(5)]
			case f > 0.95:
				outcome = []reducer.Outcome{reducer.Ignore, reducer.Cancelled, reducer.Fail}[r.IntN(3)]
			}
			p, before := x.permit, a.limit
			p.Mark = clock.Mark(since)
			answer := m.Step(&s, reducer.Action{Kind: reducer.Record, Outcome: outcome, Permit: p}, clock.Mark(now), &out)
			if stale := answer.Verdict == reducer.Stale; stale != x.place.lapsed {
				return fmt.Errorf("phase %d at %d: %v, and it is lapsed: %v", phase, now, answer, x.place.lapsed)
			}
			rounds, last := a.round.after, a.fall
			x.leave(outcomeNames[outcome], since, now)
			if int64(s.Limit) != a.limit || int64(s.InUse()) != a.inUse() {
				return fmt.Errorf("phase %d at %d: %s, not %d places of %d", phase, now, m.AppendText(nil, &s, 0), a.inUse(), a.limit)
			}
			if err := m.Check(&s); err != nil {
				return err
			}
			if rounds != a.round.after {
				kinds[kindOf(before, a, last)]++
			}
			for _, x := range held {
				if c.Lease > 0 && x.place.leaseEnd <= now && !x.place.lapsed {
					x.place.lapsed = true
					a.free(x.place, x.place.leaseEnd)
				}
			}
			out = out[:0]
			m.Step(&s, reducer.Action{Kind: reducer.Tick}, clock.Mark(now), &out)
		}
	}
	return nil
}

// kindOf says what a round did.
func kindOf(before int64, a *adaptiveCell, last *fall) string {
	switch {
	case a.limit < before:
		return "lowered"
	case last != nil && last.fresh && a.limit == last.limit && a.hold > 0:
		return "given back"
	case a.limit == before && a.hold > 0:
		return "held"
	case a.limit > before+3:
		return "grown by half"
	case a.limit > before:
		return "raised"
	}
	return "kept"
}
