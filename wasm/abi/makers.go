package abi

import (
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/planbytes"
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// settings reads the settings of one mechanism from the first size bytes of the buffer, as
// plan bytes have them behind the head of a step.
func settings[C any](m *Module, size uint32, c *C, plan func(*C, *planwire.Coder)) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	if n := size + objectBytes; m.short(n, n, forObject) {
		return NoMemory
	}
	v := planwire.Reader(src)
	if plan(c, &v); !v.Close() {
		return m.wrongPlan(&planbytes.Error{Step: -1, Field: v.Field()})
	}
	return 0
}

// made names what a constructor made of settings.
func (m *Module) made(o object, err error) int32 {
	if err == nil {
		return m.put(o)
	}
	if wrong, ok := err.(*reducer.ConfigError); ok && !reducer.ErrorTexts {
		return m.named(BadPolicy, wrong.Field)
	}
	return m.failed(BadPolicy, err)
}

// maker makes cells of one configuration.
type maker struct {
	cell.Maker
	// queued says that time alone may change the state of other callers: a cell
	// serves a queue, or ends waits and leases.
	queued bool
	// timeless is Slots.Timeless of a closed breaker.
	timeless uint32
	// grows is the most bytes that a cell takes later than when it is made.
	grows uint32
}

// timeless is Slots.Timeless of a closed breaker that needs no time for an acquire, and for a
// success that ends it.
func timeless(acquire, success bool) uint32 {
	switch {
	case success:
		return TimelessCall
	case acquire:
		return TimelessAcquire
	}
	return 0
}

// Limiter makes a maker of limiters of the settings in the buffer. What they say about the
// cost of a call is for pipelines: here each call of a cell names its cost.
func (m *Module) Limiter(size uint32) int32 {
	var c limiter.Config
	if code := settings(m, size, &c, limiter.Plan); code < 0 {
		return code
	}
	c.Cost, c.Charge, c.SettleMax, c.Counts = limiter.Cost{}, limiter.ChargeStart, 0, 0
	made, err := limiter.Cells(c)
	return m.made(object{maker: &maker{Maker: made, queued: c.Wait > 0, grows: bytesOf(c.Growth())}}, err)
}

// Bulkhead is Limiter for bulkheads.
func (m *Module) Bulkhead(size uint32) int32 {
	var c bulkhead.Config
	if code := settings(m, size, &c, bulkhead.Plan); code < 0 {
		return code
	}
	made, err := bulkhead.Cells(c)
	return m.made(object{maker: &maker{Maker: made, queued: true, grows: bytesOf(c.Growth())}}, err)
}

// Breaker is Limiter for breakers.
func (m *Module) Breaker(size uint32) int32 {
	var c breaker.Config
	if code := settings(m, size, &c, breaker.Plan); code < 0 {
		return code
	}
	made, err := breaker.Cells(c)
	return m.made(object{maker: &maker{Maker: made, timeless: timeless(c.Timeless()), grows: bytesOf(c.Growth())}}, err)
}

// What a closed breaker needs no time for.
const (
	TimelessCall    = 1 // an acquire, and a success that ends it
	TimelessAcquire = 2 // an acquire
)

// Retry makes a retry of the settings in the buffer, as retry.Plan writes them: without a
// budget, and with the first word of refusals, because no step is below it.
func (m *Module) Retry(size uint32) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	if m.short(objectBytes, objectBytes, forObject) {
		return NoMemory
	}
	v := numbers{src: src}
	c := retry.Config{Attempts: v.count(), Backoff: v.backoff(), MaxElapsed: v.duration(), Refusals: retry.EndRefused}
	v.next(0)
	v.next(0)
	if v.wrong || len(v.src) > 0 {
		return m.fail(BadBytes, "no settings of a retry without a budget")
	}
	made, err := retry.New(c)
	return m.made(object{retry: made}, err)
}
