package oracle

import (
	"cmp"
	"math/big"
	"slices"

	cfg "github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// hedgeCell is the cell of a hedge: what it knows of past attempts, and its own
// budget.
type hedgeCell struct {
	cfg     cfg.Config
	samples []sample    // of the last first attempts of rounds
	budget  *budgetCell // nil without one of its own
}

func newHedge(c cfg.Config) *hedgeCell {
	h := &hedgeCell{}
	h.configure(c)
	return h
}

// hedgeConfig returns the settings of the plan's hedge step.
func (c *call) hedgeConfig() cfg.Config {
	return pipeline.ConfigOf[cfg.Config](c.plan.steps[c.plan.hedge].Step)
}

// mostHedges returns how many hedges a round starts at most.
func mostHedges(c cfg.Config) int {
	if c.Max == 0 {
		return cfg.DefaultMax
	}
	return int(c.Max)
}

// mostSamples returns how many durations a percentile uses.
func mostSamples(c cfg.Config) int {
	switch {
	case !c.Percentile.Positive():
		return 0
	case c.Samples == 0:
		return cfg.DefaultSamples
	}
	return int(c.Samples)
}

// leastSamples returns how many durations there must be.
func leastSamples(c cfg.Config) int {
	if c.Minimum == 0 {
		return min(cfg.DefaultMinimum, mostSamples(c))
	}
	return int(c.Minimum)
}

// split passes the hedge step, or the end of the steps without one: the first
// attempt of the round sets out, and with `parallel` the others at once after it.
// Reading: the first one does not yet live beside the others when it sets out, so
// a refusal of it ends the call.
func (e *Engine) split(c *call) {
	c.above.state = running
	if c.plan.hedged() && c.denies(c.plan.hedge) {
		if !e.reject(c.above, c.plan.hedge, answer{reason: "missing", retryAt: never}) {
			return
		}
	}
	e.setOut(c, nil)
	if !c.plan.hedged() || !c.hedgeConfig().Parallel {
		return
	}
	for !c.over && !c.sleeping && c.hedges < mostHedges(c.hedgeConfig()) {
		e.hedge(c)
	}
}

// setOut starts the way of the attempt whose turn it is to set out.
func (e *Engine) setOut(c *call, took *big.Rat) {
	p := c.newPath(c.last)
	p.took, p.hedge = took, c.hedges > 0
	c.attempts = append(c.attempts, p)
	e.pass(p, c.plan.hedge+1)
}

// hedge starts a hedge if the budget grants it. Readings: one that is refused
// below counts in `max`; in shadow the line names the number that the attempt
// would have, which the next attempt has all the same, and each hedge that would
// start with `parallel` has its line.
func (e *Engine) hedge(c *call) {
	took, granted := e.hedgeGranted(c)
	if !granted {
		c.hedges = mostHedges(c.hedgeConfig()) // no further one in this round
		return
	}
	c.hedges++
	s := c.plan.steps[c.plan.hedge]
	number := c.last + 1
	if s.Shadow {
		number = c.last + c.hedges
	}
	e.say(c.id, "hedge", append([]any{"attempt", number, "step", s.Name}, inShadow(s.Shadow)...)...)
	if !s.Shadow {
		c.last = number
		e.setOut(c, took)
	}
}

// hedgeGranted asks the hedge's own budget, else the budget of the retry. Reading: in
// shadow it takes from its own budget alone, for one of a retry that is not in
// shadow would then grant fewer retries; nor does it use the retry's key. And a
// call whose plan has a budget has none where the step, which keeps durations, was
// configured without one since.
func (e *Engine) hedgeGranted(c *call) (took *big.Rat, granted bool) {
	h, r := c.plan.hedge, c.plan.retry
	if c.hedgeConfig().Budgeted {
		cell := c.use(h)
		if cell == nil || cell.hedge.budget == nil {
			return nil, true
		}
		return cell.hedge.budget.grant(c.asks(""), e.now)
	}
	if r < 0 || !pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step).Budgeted {
		return nil, true
	}
	if c.plan.steps[h].Shadow && !c.skips(r) {
		cell := c.plan.steps[r].group.find(c.event)
		if cell == nil {
			cell = c.plan.steps[r].group.newCell()
		}
		return nil, cell.budget.allows(c.asks(""), e.now)
	}
	cell := c.use(r)
	if cell == nil {
		return nil, true
	}
	return cell.budget.grant(c.asks(""), e.now)
}

// startClock sets when a hedge follows the attempt, which was just admitted. It
// is the latest of its round, for a hedge starts when the latest one runs. A
// percentile is looked up now.
func (e *Engine) startClock(p *path) {
	c := p.call
	if !c.plan.hedged() {
		return
	}
	h := c.hedgeConfig()
	if h.Percentile.Positive() {
		c.samples = c.use(c.plan.hedge)
	}
	if h.Parallel || c.hedges >= mostHedges(h) {
		return
	}
	delay := int64(h.After)
	if h.Percentile.Positive() {
		if c.samples == nil {
			return
		}
		// Reading: as at a limiter, the cell has the settings of the active policy.
		own := c.samples.hedge
		if !own.cfg.Percentile.Positive() || len(own.samples) < leastSamples(own.cfg) {
			return
		}
		delay = percentile(own.samples, own.cfg.Percentile)
	}
	p.hedgeAt = after(e.now, delay)
}

// sample is how long the first attempt of a round took, or, where it was cut, ran until its
// hedge won.
type sample struct {
	took int64
	cut  bool
}

// percentile returns the least of the durations that at least the share of all samples does not
// exceed. What a cut sample counts goes to those above it in equal parts, rounded down to a
// millionth; the greatest one has none above it.
func percentile(samples []sample, share reducer.Share) int64 {
	sorted := slices.Clone(samples)
	slices.SortFunc(sorted, func(a, b sample) int {
		switch {
		case a.took != b.took:
			return cmp.Compare(a.took, b.took)
		case a.cut == b.cut:
			return 0
		case a.cut:
			return 1
		}
		return -1
	})
	weights := make([]int64, len(sorted))
	for i := range weights {
		weights[i] = int64(reducer.Whole)
	}
	sum, want := int64(0), int64(len(sorted))*int64(share.Millionths())
	for i, s := range sorted {
		above := weights[i+1:]
		if s.cut {
			for k := range above {
				above[k] += weights[i] / int64(len(above))
			}
			continue
		}
		if sum += weights[i]; sum >= want {
			return s.took
		}
	}
	return sorted[len(sorted)-1].took
}

// sample adds the time of a first attempt.
func (h *hedgeCell) sample(took int64, cut bool) {
	h.samples = append(h.samples, sample{took, cut})
	h.trim()
}

// trim forgets all but the last samples. Reading: it does so at once when
// `samples` is lowered, to none without a percentile.
func (h *hedgeCell) trim() {
	if n := len(h.samples) - mostSamples(h.cfg); n > 0 {
		h.samples = slices.Clone(h.samples[n:])
	}
}

// configure changes the settings. Reading: a budget starts with a new state unless
// there was one; the samples stay.
func (h *hedgeCell) configure(c cfg.Config) {
	h.cfg = c
	h.trim()
	switch {
	case !c.Budgeted:
		h.budget = nil
	case h.budget == nil:
		h.budget = newBudget(c.Budget)
	default:
		h.budget.configure(c.Budget)
	}
}
