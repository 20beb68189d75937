package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// G16, for each mechanism. A history is played on two cells; in its middle the second
// one is reconfigured.

// maker is the cell maker of a configuration.
func (c config) maker(f family) cell.Maker {
	switch f {
	case limiters:
		return must(limiter.Cells(c.limit))
	case breakerFamily:
		return must(breaker.Cells(c.breaker))
	case bulkheads:
		return must(bulkhead.Cells(c.bulkhead))
	}
	return must(budget.New(c.budget)).Cells()
}

// reconfigure adopts a cell as the machine does; a mutant has its own way.
func (m machine) reconfigure(next cell.Maker, old cell.Cell, now clock.Mark, out *reducer.Out) cell.Cell {
	if m.adopt != nil {
		return m.adopt(next, old, now)
	}
	return cell.Adopt(next, old, now, out)
}

// changed is a cell and its copy under another configuration.
type changed struct {
	kept, changed cell.Cell
	was, next     config
	now           clock.Mark
	dropped       reducer.Out // by the change
}

// reconfigured plays the first half of a history and changes the configuration.
func reconfigured(m machine, h history, change func(c *config, w uint64)) (*changed, history) {
	_, was := m.begin(h)
	next := was
	change(&next, h.word(1))
	steps := h.steps()
	half := len(steps) / 2
	before, after := was.maker(m.kind), next.maker(m.kind)
	first := &player{kind: m.kind, cell: before.New(start)}
	second := &player{kind: m.kind, cell: before.New(start)}
	for _, w := range steps[:half] {
		first.play(w)
		second.play(w)
	}
	c := &changed{kept: first.cell, was: was, next: next, now: first.now}
	c.changed = m.reconfigure(after, second.cell, first.now, &c.dropped)
	return c, steps[half:]
}

// player plays a history on a cell. It names callers as a rig does.
type player struct {
	kind    family
	cell    cell.Cell
	now     clock.Mark
	callers uint64
	permits []reducer.Permit
}

func (d *player) play(w uint64) {
	d.now += clock.Mark(w % 8 * (w >> 3 % 2))
	var out reducer.Out
	for d.cell.Due().Ends <= d.now && d.cell.Due().Ends != clock.Never {
		d.cell.Step(reducer.Action{Kind: reducer.Tick}, d.cell.Due().Ends, &out)
	}
	d.callers++
	a := reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: d.callers}}
	switch {
	case w>>4%2 == 1:
	case d.kind == budgets:
		a = reducer.Action{Kind: reducer.Record}
	case d.kind == tokenBudgets:
		a = reducer.Action{Kind: reducer.Release, Outcome: pick(w>>20, reducer.OK, reducer.Fail)}
	}
	if n := uint64(len(d.permits)); n > 0 && w>>4%3 == 0 && d.kind != limiters {
		i := w >> 8 % n
		a = reducer.Action{Kind: exitKind(d.kind), Outcome: pick(w>>16, reducer.OK, reducer.Fail), Permit: d.permits[i]}
		d.permits = append(d.permits[:i:i], d.permits[i+1:]...)
	}
	if d.kind == breakerFamily && w>>40%8 == 0 {
		a = reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.HalfOpen)}
	}
	if x := d.cell.Step(a, d.now, &out); x.Verdict == reducer.Admit && a.Kind == reducer.Acquire {
		d.permits = append(d.permits, x.Permit)
	}
	for d.cell.Step(reducer.Action{Kind: reducer.Serve}, d.now, &out).Verdict == reducer.Done {
	}
}

// atOnce is how many permits a copy of the cell grants now, waiters included.
func atOnce(m cell.Maker, c cell.Cell, now clock.Mark) (n int) {
	copied := m.New(now)
	if err := copied.Restore(c.AppendState(nil)); err != nil {
		panic(err)
	}
	var out reducer.Out
	for copied.Step(reducer.Action{Kind: reducer.Serve}, now, &out).Verdict == reducer.Done {
		n++
	}
	for ; n < 40; n++ {
		if copied.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now, &out).Verdict != reducer.Admit {
			break
		}
	}
	return n
}

// compare fails when a lower limit grants more at once, or a higher one less.
func (c *changed) compare(m machine, lower, higher bool) error {
	before, after := atOnce(c.was.maker(m.kind), c.kept, c.now), atOnce(c.next.maker(m.kind), c.changed, c.now)
	if before > 0 || after > 0 {
		m.meet()
	}
	if lower && after > before || higher && after < before {
		return fmt.Errorf("G16: %+v to %+v: %d at once became %d", c.was, c.next, before, after)
	}
	return nil
}

// never checks that the changed cell has never granted more than the kept one when
// both receive the same acquires.
func (c *changed) never(steps history, ask func(w uint64) reducer.Action) error {
	before, after := 0, 0
	for _, w := range steps {
		c.now += clock.Mark(w % 8 * (w >> 3 % 2))
		a := ask(w)
		if c.kept.Step(a, c.now, nil).Verdict == reducer.Admit {
			before++
		}
		if c.changed.Step(a, c.now, nil).Verdict == reducer.Admit {
			after++
		}
		if after > before {
			return fmt.Errorf("G16: %+v to %+v: at %s it has granted %d, unchanged %d", c.was, c.next, c.now, after, before)
		}
	}
	return nil
}

func asks(uint64) reducer.Action { return reducer.Action{Kind: reducer.TryAcquire, Cost: 1} }

// G16Limit: a lowered limit never admits more, neither at once nor later; a raised
// one admits no less at once; a waiter keeps its place, unless it can never be
// served.
func G16Limit(m machine, h history) error {
	c, rest := reconfigured(m, h, func(c *config, w uint64) {
		l := &c.limit
		if l.Algorithm == limiter.TokenBucket {
			l.Burst = 1 + uint32(w>>3%5)
		}
		if l.Algorithm != limiter.TokenBucket || w%2 == 1 {
			l.Count = min(1+uint32(w>>8%5), uint32(l.Period))
		}
	})
	was, next := c.was.limit, c.next.limit
	lower := capacity(next) <= capacity(was) && next.Count <= was.Count
	higher := capacity(next) >= capacity(was) && next.Count >= was.Count
	if len(c.dropped) > 0 {
		return fmt.Errorf("G16: %+v to %+v drops %v, which ask for one", was, next, c.dropped)
	}
	if err := c.compare(m, lower, higher); err != nil {
		return err
	}
	if was.Wait > 0 || !lower {
		return nil
	}
	return c.never(rest, asks)
}

// G16Bulkhead: a lowered bulkhead keeps its holders and waiters, and grants nothing
// until a place is free; a raised one grants no less at once.
func G16Bulkhead(m machine, h history) error {
	c, _ := reconfigured(m, h, func(c *config, w uint64) { c.bulkhead.Concurrent = 1 + uint32(w%5) })
	was, next := c.was.bulkhead.Concurrent, c.next.bulkhead.Concurrent
	if err := c.compare(m, next <= was, next >= was); err != nil {
		return err
	}
	held := func(c cell.Cell) (n uint32) {
		must(fmt.Sscanf(cell.Text(c, 0), "held %d/", &n))
		return n
	}
	if held(c.kept) != held(c.changed) {
		return fmt.Errorf("G16: %d held became %d", held(c.kept), held(c.changed))
	}
	if n := atOnce(c.next.maker(m.kind), c.changed, c.now); uint32(n) > next-min(next, held(c.changed)) {
		return fmt.Errorf("G16: %d of %d are held, and %d more are granted", held(c.changed), next, n)
	}
	return nil
}

// G16Budget: a lowered budget never grants more, neither at once nor later; a raised
// one no less at once; counts stay.
func G16Budget(m machine, h history) error {
	c, rest := reconfigured(m, h, func(c *config, w uint64) {
		c.budget.Ratio = reducer.Millionths(pick(w, uint32(0), reducer.Whole/5, reducer.Whole/2, reducer.Whole, 2*reducer.Whole))
	})
	next, was := c.next.budget.Ratio.Millionths(), c.was.budget.Ratio.Millionths()
	lower := next <= was
	if err := c.compare(m, lower, next >= was); err != nil || !lower {
		return err
	}
	return c.never(rest, func(w uint64) reducer.Action {
		if w>>4%2 == 0 {
			return reducer.Action{Kind: reducer.Record}
		}
		return asks(w)
	})
}

// G16Tokens: what was taken of the tokens stays taken: fewer of them never grant more, at
// once, and more of them no less.
func G16Tokens(m machine, h history) error {
	c, _ := reconfigured(m, h, func(c *config, w uint64) {
		c.budget.Tokens = max(1, c.budget.Retry, c.budget.Timeout, c.budget.Refund) + uint32(w%9)
	})
	return c.compare(m, c.next.budget.Tokens <= c.was.budget.Tokens, c.next.budget.Tokens >= c.was.budget.Tokens)
}

// G16Breaker: a breaker keeps its state and its deadline; a changed window starts
// without outcomes, an unchanged one keeps them; with fewer probes it never admits
// more, with more probes never less. Only finished probes may decide its state at
// once.
func G16Breaker(m machine, h history) error {
	c, _ := reconfigured(m, h, func(c *config, w uint64) {
		if c.breaker.Window != breaker.Consecutive {
			c.breaker.FailureRate = reducer.Millionths(pick(w>>8, uint32(reducer.Whole/2), reducer.Whole/4, reducer.Whole, 1))
		}
		switch {
		case w>>12%2 == 0:
		case c.breaker.Window == breaker.Time && w>>13%2 == 0:
			c.breaker.Span++
		case c.breaker.Forget > 0 && w>>13%2 == 0:
			c.breaker.Forget++
		default:
			c.breaker.Count++
			c.breaker.Span = max(c.breaker.Span, time.Duration(c.breaker.Count)*min(1, c.breaker.Span))
		}
		c.breaker.Successes = 0 // as many probes of more or fewer decide otherwise
		c.breaker.Probes = min(1+uint32(w%6)+c.breaker.Probes/10*10, breaker.MaxProbes)
	})
	was, is := breaker.CoreOf(c.kept), breaker.CoreOf(c.changed)
	c.kept.Step(reducer.Action{Kind: reducer.Tick}, c.now, &c.dropped)
	if was.Mode == breaker.HalfOpen && was.Total > 0 {
		return nil
	}
	kept, anew := *was, c.was.breaker.Count != c.next.breaker.Count || c.was.breaker.Span != c.next.breaker.Span || c.was.breaker.Forget != c.next.breaker.Forget
	if was.Mode == breaker.Closed && anew {
		kept.Total, kept.Failed, kept.Slow = 0, 0, 0
	}
	if kept.Total != is.Total || kept.Failed != is.Failed || kept.Slow != is.Slow {
		return fmt.Errorf("G16: %+v to %+v: %d failed of %d became %d of %d", c.was.breaker, c.next.breaker, was.Failed, was.Total, is.Failed, is.Total)
	}
	ends := func(c *breaker.Core) [3]clock.Mark { return [...]clock.Mark{c.OpenUntil, c.HalfOpenUntil, c.RampUntil} }
	if was.Mode != is.Mode || ends(was) != ends(is) || was.Generation != is.Generation {
		return fmt.Errorf("G16: %s until %s became %s until %s", was.Mode, ends(was), is.Mode, ends(is))
	}
	return c.compare(m, c.next.breaker.Probes <= c.was.breaker.Probes, c.next.breaker.Probes >= c.was.breaker.Probes)
}

// L20: a limit whose rate changes again and again, and which is asked at every instant at
// which it would admit, admits at least what its least rate gives, and at most what its
// greatest one does.
func L20(m machine, h history) error {
	const scale = 1_000 // what a change rounds is far below an interval
	base := m.draw(h)
	draw := func(w uint64) config { // rates that are near each other
		c := base
		c.limit.Period = c.limit.Period*scale - time.Duration(w%uint64(c.limit.Period*scale/8))
		if w>>20%4 == 0 && c.limit.Algorithm == limiter.TokenBucket {
			c.limit.Burst = 1 + uint32(w>>22%4)
		}
		return c
	}
	c := draw(h.word(1))
	cell, now := c.maker(m.kind).New(start), start
	admitted, changes := int64(0), 0
	least, most := c.limit, c.limit // of each setting
	for _, w := range h.steps() {
		until := now + 1 + clock.Mark(w>>24%uint64(2*interval(c.limit)))
		for now < until {
			x := cell.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now, nil)
			switch {
			case x.Verdict == reducer.Admit:
				admitted++
			case x.Mark >= until:
				now = until
			default:
				now = x.Mark
			}
		}
		next := draw(w)
		cell = m.reconfigure(next.maker(m.kind), cell, now, nil)
		c = next
		changes++
		least.Count, most.Count = min(least.Count, c.limit.Count), max(most.Count, c.limit.Count)
		least.Period, most.Period = max(least.Period, c.limit.Period), min(most.Period, c.limit.Period)
		most.Burst = max(most.Burst, c.limit.Burst)
	}
	passed := now.Sub(start)
	if changes > 20 {
		m.meet()
	}
	low, high := int64(passed)/interval(least), int64(most.Admits(passed))
	if least.Algorithm == limiter.FixedWindow || least.Algorithm == limiter.SlidingLog {
		low = int64(passed/least.Period) * int64(least.Count)
	}
	if admitted < low || admitted > high {
		return fmt.Errorf("L20: after %d changes in %v it has admitted %d, not %d to %d", changes, passed, admitted, low, high)
	}
	return nil
}

// L13Configured: a permit that is cancelled at the mark of its grant returns all that it
// took, also where the limit is reconfigured between the two.
func L13Configured(m machine, h history) error {
	c := m.draw(h)
	draw := func(w uint64) config {
		c := c
		if c.limit.Algorithm == limiter.TokenBucket {
			c.limit.Burst = 2 + uint32(w%4)
		}
		c.limit.Count = min(1+uint32(w>>8%5), uint32(c.limit.Period))
		if u := &c.limit.WarmUp; u.Over > 0 {
			u.Over, u.Factor = time.Duration(1+w>>16%200), 2+uint32(w>>24%9)
		}
		return c
	}
	first := draw(h.word(1))
	was := first.maker(m.kind)
	busy := &player{kind: m.kind, cell: was.New(start)}
	for _, w := range h.steps() {
		busy.play(w)
		kept, taken := was.New(busy.now), was.New(busy.now)
		for _, c := range []cell.Cell{kept, taken} {
			if err := c.Restore(busy.cell.AppendState(nil)); err != nil {
				return err
			}
		}
		x := taken.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, busy.now, nil)
		if x.Verdict != reducer.Admit {
			continue
		}
		next := draw(w * 0x9e3779b97f4a7c15).maker(m.kind)
		kept = m.reconfigure(next, kept, busy.now, nil)
		taken = m.reconfigure(next, taken, busy.now, nil)
		taken.Step(reducer.Action{Kind: reducer.Cancel, Cost: 1, Permit: x.Permit}, busy.now, nil)
		m.meet()
		free := func(c cell.Cell) uint32 { return c.Step(reducer.Action{Kind: reducer.Peek}, busy.now, nil).Free }
		if free(kept) != free(taken) {
			return fmt.Errorf("L13: %+v to %+v at %s: %d are free, and %d with a permit that is taken before and cancelled after", first.limit, draw(w*0x9e3779b97f4a7c15).limit, busy.now, free(kept), free(taken))
		}
	}
	return nil
}

// wholePermits applies a configuration of a token bucket with the whole permits that are
// free, and forgets the part of the next one that has refilled.
func wholePermits(next cell.Maker, old cell.Cell, now clock.Mark) cell.Cell {
	free := old.Step(reducer.Action{Kind: reducer.Peek}, now, nil).Free
	made := next.New(now)
	m, state := limiter.Of(made)
	c := m.Config()
	state.SetBucket(tokenbucket.State{TAT: now + clock.Mark(int64(c.Burst-min(free, c.Burst))*interval(c))})
	return made
}

// forgets applies a configuration with a new state in place of the old one.
func forgets(next cell.Maker, _ cell.Cell, now clock.Mark) cell.Cell { return next.New(now) }

// configured returns the machine with a defect in how it is configured.
func (m machine) configured(name string, adopt func(next cell.Maker, old cell.Cell, now clock.Mark) cell.Cell) machine {
	m.name += " that " + name
	m.adopt = adopt
	return m
}

// configureLines are G16 for each mechanism, and L20.
var configureLines = []property{
	{"G16", "a lowered limit never admits more, at once or later; a raised one admits no less at once; waiters keep their places", G16Limit,
		join(algorithms, queued), bucket.configured("starts with a new state when it is reconfigured", forgets)},
	{"L20", "a limit that is reconfigured again and again in a window admits at least the least of its rates x the window, and at most what its greatest one would", L20,
		[]machine{bucket, leaky, fixed, logged}, bucket.configured("carries whole permits alone when it is reconfigured", wholePermits)},
	{"L13", "a permit that is cancelled at the mark of its grant returns all, also where the limit is reconfigured between the two", L13Configured,
		[]machine{bucket, warming, fixed, logged}, bucket.configured("carries free permits alone when it is reconfigured", wholePermits)},
	{"G16", "a reconfigured bulkhead keeps its holders, and admits no call until they are fewer than a lowered maximum", G16Bulkhead,
		[]machine{places}, places.configured("forgets its holders", forgets)},
	{"G16", "a reconfigured breaker keeps its state and its deadline, and a changed window starts without outcomes; fewer probes never admit more, more probes never less", G16Breaker,
		breakers, consecutive.configured("starts with a new state when it is reconfigured", forgets)},
	{"G16", "a reconfigured retry budget keeps its counts; a lowered one never grants more, a raised one no less at once", G16Budget,
		[]machine{spending}, spending.configured("forgets its granted retries", forgets)},
	{"G16", "a reconfigured bucket of tokens keeps what was taken; fewer tokens never grant more at once, more of them no less", G16Tokens,
		[]machine{tokens}, tokens.configured("is full again when it is reconfigured", forgets)},
}
