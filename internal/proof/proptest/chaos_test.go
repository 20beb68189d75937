package proptest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of injections.

// drawer is chaos.Machine.Draw.
type drawer func(seed uint64, attempt uint32) chaos.Injection

var injecting = machine{name: "chaos", draws: func(c chaos.Config) drawer { return must(chaos.New(c)).Draw }}

// drawing is a chaos step with a defect.
func drawing(name string, defect func(c chaos.Config, d drawer, seed uint64, attempt uint32) chaos.Injection) machine {
	return machine{name: "chaos that " + name, draws: func(c chaos.Config) drawer {
		d := injecting.draws(c)
		return func(seed uint64, attempt uint32) chaos.Injection { return defect(c, d, seed, attempt) }
	}}
}

// chaosLines are the invariants of injections.
var chaosLines = []property{
	{"D1", "0% injects nothing, 100% into every attempt, and a higher share keeps the injections of a lower one", D1, []machine{injecting},
		drawing("draws by the share, too", func(c chaos.Config, d drawer, seed uint64, attempt uint32) chaos.Injection {
			return d(seed+uint64(c.Fail.Millionths()), attempt)
		})},
	{"D2", "latency is at least by, at most to, and reaches both", D2, []machine{injecting},
		drawing("never draws the greatest latency", func(c chaos.Config, d drawer, seed uint64, attempt uint32) chaos.Injection {
			x := d(seed, attempt)
			if x.Delay == c.To && c.To > c.By {
				x.Delay--
			}
			return x
		})},
	{"D3", "an injected result decides as the same result of the dependency at its mark, after all else that is due", D3, []machine{flowing},
		driven("reports an injected failure as throttling", func(_ *flow, t told) []told {
			if t.Kind == decision.Inject && t.Outcome == reducer.Fail {
				t.Outcome = reducer.Throttle
			}
			return []told{t}
		})},
	{"D4", "in shadow, and with shares of 0%, a chaos step changes no decision", D4, []machine{flowing},
		under("injects in shadow", func(p *pipeline.Policy) { p.Steps[len(p.Steps)-1].Shadow = false })},
}

// drawChaos draws any shares, on the grid of nanoseconds of the other steps.
func drawChaos(w uint64) chaos.Config {
	c := chaos.Config{
		Fail:     pick(w, reducer.Share{}, reducer.Percent(30), reducer.Percent(50), reducer.Percent(100)),
		Throttle: pick(w>>2, reducer.Share{}, reducer.Percent(20)), RetryAfter: time.Duration(w >> 3 % 8),
		Ignore: pick(w>>6, reducer.Share{}, reducer.Percent(20)),
		Slow:   pick(w>>7, reducer.Share{}, reducer.Percent(50), reducer.Percent(100)), By: time.Duration(1 + w>>9%6),
	}
	if c.Fail.Millionths() == reducer.Whole {
		c.Throttle, c.Ignore = reducer.Share{}, reducer.Share{}
	}
	if w>>12%2 == 0 {
		c.To = c.By + time.Duration(w>>13%6)
	}
	return c
}

// D1: the numbers of an attempt do not depend on the shares.
func D1(m machine, h history) error {
	low := reducer.Millionths(uint32(h.word(0) % (reducer.Whole + 1)))
	high := reducer.Millionths(low.Millionths() + uint32(h.word(1)%uint64(reducer.Whole+1-low.Millionths())))
	none, all := m.draws(chaos.Config{}), m.draws(chaos.Config{Fail: reducer.Percent(100), Slow: reducer.Percent(100), By: 1})
	few, many := m.draws(chaos.Config{Fail: low, Slow: low, By: 1}), m.draws(chaos.Config{Fail: high, Slow: high, By: 1})
	for _, w := range h.steps() {
		seed, attempt := extremes(w), uint32(1+w>>50%8)
		if x := none(seed, attempt); !x.Nothing() {
			return fmt.Errorf("D1: seed %d, attempt %d: %+v at 0%%", seed, attempt, x)
		}
		if x := all(seed, attempt); x.Outcome != reducer.Fail || x.Delay != 1 {
			return fmt.Errorf("D1: seed %d, attempt %d: %+v at 100%%", seed, attempt, x)
		}
		x, y := few(seed, attempt), many(seed, attempt)
		if !x.Nothing() {
			m.meet()
		}
		if x.Outcome != 0 && y.Outcome == 0 || x.Delay > 0 && y.Delay == 0 {
			return fmt.Errorf("D1: seed %d, attempt %d: %+v at %s, %+v at %s", seed, attempt, x, low, y, high)
		}
	}
	return nil
}

// D2: latency stays in its range, also where that is all durations, and reaches the ends
// of a short one.
func D2(m machine, h history) error {
	c := chaos.Config{
		Slow: pick(h.word(0), reducer.Percent(100), reducer.Percent(50)),
		By:   pick(h.word(0)>>1, 1, time.Duration(1+h.word(0)>>8%100), math.MaxInt64-1, math.MaxInt64),
	}
	c.To = pick(h.word(1), c.By, c.By+(math.MaxInt64-c.By)/3, math.MaxInt64, min(c.By, math.MaxInt64-2)+2)
	draw := m.draws(c)
	for _, w := range h.steps() {
		x := draw(extremes(w), uint32(1+w>>50%8))
		if x.Delay == 0 {
			continue
		}
		m.meet()
		if x.Delay < c.By || x.Delay > c.To {
			return fmt.Errorf("D2: %s is not from %s to %s", x.Delay, c.By, c.To)
		}
	}
	if c.To-c.By > 2 || c.Slow.Millionths() < reducer.Whole {
		return nil
	}
	var seen [3]bool
	for seed := range uint64(200) {
		seen[draw(seed, 1).Delay-c.By] = true
	}
	if !seen[0] || !seen[c.To-c.By] {
		return fmt.Errorf("D2: from %s to %s, an end is not drawn: %v", c.By, c.To, seen)
	}
	return nil
}

// D3: a second pipeline without the step gets, by its dependency, the results that the
// first one reports as injected, and the results of the dependency that the first one
// takes. Both decide the same.
func D3(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	whole := pipeline.Policy{Steps: append(slices.Clone(p.Steps), pipeline.Step{Name: "chaos", Config: drawChaos(h.word(1))})}
	a, b := m.flows(whole), flowing.flows(p)
	followed := 0
	follow := func() {
		for ; followed < len(a.said); followed++ {
			t := a.said[followed]
			if t.Kind != decision.Inject || t.Outcome == 0 {
				continue
			}
			m.meet()
			b.pass(t.At)
			b.driver.Done(b.handles[t.call], drive.Result{Attempt: t.Attempt, Outcome: t.Outcome, Told: t.RetryAfter > 0, RetryAfter: max(0, t.RetryAfter)})
			b.collect()
		}
	}
	for _, w := range h.steps() {
		to := a.driver.Now() + pause(w)
		a.pass(to)
		follow()
		b.pass(to)
		n := len(a.handles)
		switch call := recent(max(1, n), w>>24); {
		case w%8 < 4 || n == 0:
			cost := pick(w>>16, uint32(1), 1, 1, 2, 0)
			a.begin(cost)
			b.begin(cost)
		case w%8 < 7:
			result := drive.Result{Outcome: pick(w>>16, reducer.Fail, reducer.OK, reducer.Throttle, reducer.Ignore)}
			if a.driver.Done(a.handles[call], result) {
				b.driver.Done(b.handles[call], result)
			}
		default:
			a.driver.Cancel(a.handles[call])
			b.driver.Cancel(b.handles[call])
		}
		a.collect()
		b.collect()
		follow()
	}
	return agree("D3", a.said, b.said, func(t told) bool { return t.Kind != decision.Inject && t.Kind != decision.Start })
}

// D4: the step is the last one of a policy, with its shares in shadow, and with all of
// them 0.
func D4(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	plain := played(flowing, p, h)
	for _, step := range []pipeline.Step{
		{Name: "chaos", Config: drawChaos(h.word(1)), Shadow: true},
		{Name: "chaos", Config: chaos.Config{By: 1}, Shadow: true},
		{Name: "chaos", Config: chaos.Config{By: 1}},
	} {
		with := played(m, pipeline.Policy{Steps: append(slices.Clone(p.Steps), step)}, h)
		for _, t := range with.said {
			if t.Kind == decision.Inject {
				m.meet()
			}
		}
		if err := agree("D4", with.said, plain.said, func(t told) bool { return t.Kind != decision.Inject }); err != nil {
			return err
		}
	}
	return nil
}
