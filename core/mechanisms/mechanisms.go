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

// Row returns the row of a mechanism, nil for one that this version does not have.
func Row(k mechanism.Kind) *mechanism.Row {
	switch k {
	case mechanism.Timeout:
		return timeout.Row()
	case mechanism.Retry:
		return retry.Row()
	case mechanism.Breaker:
		return breaker.Row()
	case mechanism.Limit:
		return limiter.Row()
	case mechanism.Bulkhead:
		return bulkhead.Row()
	case mechanism.Hedge:
		return hedge.Row()
	case mechanism.Adaptive:
		return adaptive.Row()
	case mechanism.Chaos:
		return chaos.Row()
	}
	return nil
}

// Docs returns the texts of a mechanism for people, nil for one that this version
// does not have. A program that does not call it does not link the texts.
func Docs(k mechanism.Kind) *mechanism.Docs {
	switch k {
	case mechanism.Timeout:
		return timeout.Docs()
	case mechanism.Retry:
		return retry.Docs()
	case mechanism.Breaker:
		return breaker.Docs()
	case mechanism.Limit:
		return limiter.Docs()
	case mechanism.Bulkhead:
		return bulkhead.Docs()
	case mechanism.Hedge:
		return hedge.Docs()
	case mechanism.Adaptive:
		return adaptive.Docs()
	case mechanism.Chaos:
		return chaos.Docs()
	}
	return nil
}

// Read reads the settings of a mechanism from plan bytes. It returns nil for a mechanism
// that this version does not have.
func Read(k mechanism.Kind, v *planwire.Coder) mechanism.Config {
	switch k {
	case mechanism.Timeout:
		return read(timeout.Plan, v)
	case mechanism.Retry:
		return read(retry.Plan, v)
	case mechanism.Breaker:
		return read(breaker.Plan, v)
	case mechanism.Limit:
		return read(limiter.Plan, v)
	case mechanism.Bulkhead:
		return read(bulkhead.Plan, v)
	case mechanism.Hedge:
		return read(hedge.Plan, v)
	case mechanism.Adaptive:
		return read(adaptive.Plan, v)
	case mechanism.Chaos:
		return read(chaos.Plan, v)
	}
	return nil
}

func read[C mechanism.Config](plan func(*C, *planwire.Coder), v *planwire.Coder) mechanism.Config {
	var c C
	plan(&c, v)
	return c
}

// Write appends the settings of a configuration to plan bytes. It is a function apart
// from Read, so that a program that writes no plans does not link it.
func Write(c mechanism.Config, v *planwire.Coder) {
	switch c := c.(type) {
	case timeout.Config:
		timeout.Plan(&c, v)
	case retry.Config:
		retry.Plan(&c, v)
	case breaker.Config:
		breaker.Plan(&c, v)
	case limiter.Config:
		limiter.Plan(&c, v)
	case bulkhead.Config:
		bulkhead.Plan(&c, v)
	case hedge.Config:
		hedge.Plan(&c, v)
	case adaptive.Config:
		adaptive.Plan(&c, v)
	case chaos.Config:
		chaos.Plan(&c, v)
	}
}

// Part is what a configuration compiles to: cells, a part of the call machine, or
// both.
type Part struct {
	// Config is the configuration with its defaults.
	Config mechanism.Config
	Traits mechanism.Traits
	// Queued says that calls may wait at a cell.
	Queued bool
	// Cost of a call at the step, when it is taken, and for which outcomes.
	Cost   limiter.Cost
	Charge limiter.Charge
	Counts limiter.Outcomes
	// Beyond is the most permits that the end of a call takes beyond its cost.
	Beyond uint32
	// Obeys says that the cells take the retry-after of an outcome.
	Obeys bool
	// Timed says that the cells take the time that an attempt has.
	Timed bool
	// Maker makes the cells of the step. Nil for a step that keeps no state.
	Maker   cell.Maker
	Timeout *timeout.Machine
	Retry   *retry.Machine
	Hedge   *hedge.Machine
	Chaos   *chaos.Machine
}

// Compile fills in the defaults of a configuration, validates it and compiles it.
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
		p.Config, p.Traits, p.Obeys = c, breaker.Traits, c.ObeyRetryAfter > 0
		p.Maker, err = breaker.Cells(c)
	case limiter.Config:
		c = c.WithDefaults()
		p.Config, p.Traits, p.Queued = c, limiter.Traits, c.Queue > 0
		p.Cost, p.Charge, p.Counts, p.Beyond = c.Cost, c.Charge, c.Counts, c.MostBeyond()
		p.Maker, err = limiter.Cells(c)
	case bulkhead.Config:
		c = c.WithDefaults()
		p.Config, p.Traits, p.Queued = c, bulkhead.Traits, c.Queue > 0
		p.Cost = c.Cost
		p.Maker, err = bulkhead.Cells(c)
	case adaptive.Config:
		c = c.WithDefaults()
		p.Config, p.Traits, p.Cost, p.Timed = c, adaptive.Traits, c.Cost, c.OverShare.Positive()
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
