package mechanisms

import (
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

func read[C mechanism.Config](plan func(*C, *planwire.Coder), v *planwire.Coder) mechanism.Config {
	var c C
	plan(&c, v)
	return c
}

// Part is what a configuration compiles to: cells, a part of the call machine, or
// both.
type Part struct {
	// Config is the configuration with its defaults.
	Config mechanism.Config
	// Traits of the mechanism and of the configuration.
	Traits mechanism.Traits
	// Cost of a call at the step, when it is taken, and for which outcomes.
	Cost   limiter.Cost
	Charge limiter.Charge
	Counts limiter.Outcomes
	// Beyond is the most permits that the end of a call takes beyond its cost.
	Beyond uint32
	// Maker makes the cells of the step. Nil for a step that keeps no state.
	Maker   cell.Maker
	Timeout *timeout.Machine
	Retry   *retry.Machine
	Hedge   *hedge.Machine
	Chaos   *chaos.Machine
}

// Compile fills in the defaults of a configuration, validates it and compiles it. It is
// the one list of mechanisms that is written by hand.
// The error is a reducer.ConfigError, or several as reducer.ConfigErrors returns them.
func Compile(c mechanism.Config) (p Part, err error) {
	switch c := c.(type) {
	case timeout.Config:
		p.Config, p.Traits = c, timeout.Traits
		p.Timeout, err = timeout.New(c)
	case retry.Config:
		c = c.WithDefaults()
		p.Config, p.Traits = c, retry.Traits
		if p.Retry, err = retry.New(c); err == nil && p.Retry.Budget() != nil {
			p.Maker = p.Retry.Budget().Cells()
		}
	case breaker.Config:
		c = c.WithDefaults()
		p.Config, p.Traits = c, breaker.Traits|mechanism.Obeys.If(c.ObeyRetryAfter > 0)
		p.Maker, err = breaker.Cells(c)
	case limiter.Config:
		c = c.WithDefaults()
		p.Config, p.Traits = c, limiter.Traits|mechanism.Queues.If(c.Queue > 0)
		p.Cost, p.Charge, p.Counts, p.Beyond = c.Cost, c.Charge, c.Counts, c.MostBeyond()
		p.Maker, err = limiter.Cells(c)
	case bulkhead.Config:
		c = c.WithDefaults()
		p.Config, p.Traits = c, bulkhead.Traits|mechanism.Queues.If(c.Queue > 0)|mechanism.Lapses.If(c.Lease > 0)
		p.Cost = c.Cost
		p.Maker, err = bulkhead.Cells(c)
	case adaptive.Config:
		c = c.WithDefaults()
		p.Config, p.Cost = c, c.Cost
		p.Traits = adaptive.Traits | mechanism.Timed.If(c.OverShare.Positive()) | mechanism.Lapses.If(c.Lease > 0)
		p.Maker, err = adaptive.Cells(c)
	case chaos.Config:
		p.Config, p.Traits = c, chaos.Traits
		p.Chaos, err = chaos.New(c)
	case hedge.Config:
		c = c.WithDefaults()
		p.Config, p.Traits = c, hedge.Traits
		if p.Hedge, err = hedge.New(c); err == nil {
			p.Maker = p.Hedge.Cells()
		}
	default:
		kind := mechanism.Kind(0)
		if c != nil {
			kind = c.Kind()
		}
		err = reducer.BadCount("kind", uint64(kind), "a configuration of this package, not a pointer to one")
	}
	return p, err
}
