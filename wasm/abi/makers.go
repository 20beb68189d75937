package abi

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// config reads Slots.Config, one number after another.
type config struct {
	numbers *[40]float64
	next    int
	wrong   bool
}

func (m *Module) config() config { return config{numbers: &m.Slots.Config} }

func (c *config) number() float64 {
	if c.next == len(c.numbers) {
		c.wrong = true // settings that exclude each other
		return 0
	}
	n := c.numbers[c.next]
	c.next++
	return n
}

// count reads a whole number from 0 to most.
func (c *config) count(most float64) uint32 {
	n := c.number()
	if !(n >= 0 && n <= most) || n != float64(uint32(n)) {
		c.wrong = true
		return 0
	}
	return uint32(n)
}

// duration reads milliseconds, rounded to nanoseconds.
func (c *config) duration() time.Duration {
	n := c.number()
	if math.IsNaN(n) {
		c.wrong = true
	}
	if n < 0 {
		return time.Duration(whole(n - 0.5/nanos))
	}
	return time.Duration(whole(n + 0.5/nanos))
}

func (c *config) uint32() uint32       { return c.count(1<<32 - 1) }
func (c *config) byte() uint8          { return uint8(c.count(255)) }
func (c *config) share() reducer.Share { return reducer.Millionths(c.uint32()) }

func (c *config) backoff() backoff.Config {
	return backoff.Config{
		Kind: backoff.Kind(c.byte()), Base: c.duration(), Factor: backoff.Factor(c.uint32()),
		Max: c.duration(), Jitter: backoff.JitterKind(c.byte()), Share: c.share(), Delays: c.delays(),
	}
}

// delays reads how many delays there are, and each of them.
func (c *config) delays() backoff.List {
	list := make([]time.Duration, c.count(backoff.MaxDelays))
	for i := range list {
		list[i] = c.duration()
	}
	return backoff.Delays(list...)
}

// calendar reads a unit, a zone, and the wall time of mark 0.
func (c *config) calendar() calendar.Config {
	unit, zone := calendar.Unit(c.byte()), calendar.Packed{}
	for i := range zone {
		zone[i] = c.uint32()
	}
	seconds := time.Duration(c.uint32()) * time.Second
	return calendar.Config{Unit: unit, Zone: calendar.Unpack(zone), Epoch: seconds + time.Duration(c.uint32())}
}

// made names what a constructor made of the configuration.
func (m *Module) made(c *config, o object, err error) int32 {
	if c.wrong {
		return m.fail(BadArgument, "the configuration has a number that is not whole or out of range")
	}
	if err == nil {
		if m.short(objectBytes, objectBytes, forObject) {
			return NoMemory
		}
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

// What is added to the order of a limiter where further numbers are behind it.
const (
	MoreBlock  = 2 // those of its blocks: after how many refusals, and the time as a backoff
	MoreWarmUp = 4 // behind those, the two of its warm-up
	MoreZone   = 8 // behind those, the unit, the zone, and the seconds and nanoseconds of the wall time of mark 0
)

// Limiter makes a maker of limiters: algorithm, count, period, burst, wait,
// queue, order, and what the order adds.
func (m *Module) Limiter() int32 {
	c := m.config()
	l := limiter.Config{
		Algorithm: limiter.Algorithm(c.byte()), Count: c.uint32(), Period: c.duration(), Burst: c.uint32(),
		Wait: c.duration(), Queue: c.uint32(), Order: limiter.Order(c.byte()),
	}
	more := l.Order
	l.Order &^= MoreBlock | MoreWarmUp | MoreZone
	if more&MoreBlock != 0 {
		l.Block.After, l.Block.For = c.uint32(), c.backoff()
	}
	if more&MoreWarmUp != 0 {
		l.WarmUp.Over, l.WarmUp.Factor = c.duration(), c.uint32()
	}
	if more&MoreZone != 0 {
		l.Calendar = c.calendar()
	}
	made, err := limiter.Cells(l)
	return m.made(&c, object{maker: &maker{Maker: made, queued: c.numbers[4] > 0, grows: limiterBytes(l)}}, err)
}

// Bulkhead makes a maker of bulkheads: concurrent, queue, wait, order, lease.
func (m *Module) Bulkhead() int32 {
	c := m.config()
	b := bulkhead.Config{
		Concurrent: c.uint32(), Queue: c.uint32(), Wait: c.duration(), Order: limiter.Order(c.byte()), Lease: c.duration(),
	}
	made, err := bulkhead.Cells(b)
	return m.made(&c, object{maker: &maker{Maker: made, queued: true, grows: bulkheadBytes(b)}}, err)
}

// Breaker makes a maker of breakers: window, count, span, minimum, failure
// rate, slow over, slow rate, probes, successes, the longest half-open, the open time
// as a backoff. Where moreSettings is added to the window there follow: slow in a row, the
// initial mode, the longest retry-after to obey, ramp over, ramp from, forget.
func (m *Module) Breaker() int32 {
	c := m.config()
	kind := c.byte()
	b := breaker.Config{
		Window: breaker.WindowKind(kind &^ moreSettings), Count: c.uint32(), Span: c.duration(), Minimum: c.uint32(), FailureRate: c.share(),
		SlowOver: c.duration(), SlowRate: c.share(), Probes: c.uint32(), Successes: c.uint32(), HalfOpenMax: c.duration(), Open: c.backoff(),
	}
	if kind&moreSettings != 0 {
		b.SlowConsecutive, b.Initial, b.ObeyRetryAfter = c.uint32(), breaker.Mode(c.byte()), c.duration()
		b.RampOver, b.RampFrom, b.Forget = c.duration(), c.share(), c.duration()
	}
	made, err := breaker.Cells(b)
	return m.made(&c, object{maker: &maker{Maker: made, timeless: timeless(b, true), grows: breakerBytes(b)}}, err)
}

// moreSettings is the bit of the window of a breaker that says that its newer settings
// follow.
const moreSettings = 1 << 6

// What a closed breaker needs no time for.
const (
	TimelessCall    = 1 // an acquire, and a success that ends it
	TimelessAcquire = 2 // an acquire
)

// timeless returns what a closed breaker needs no time for: its permits have a mark
// for slow calls alone, and buckets count the outcomes.
func timeless(c breaker.Config, judges bool) uint32 {
	switch {
	case !judges || c.SlowOver > 0:
		return 0
	case c.Window == breaker.Time:
		return TimelessAcquire
	}
	return TimelessCall
}

// Retry makes a retry: attempts, the longest time in which they start, the backoff.
func (m *Module) Retry() int32 {
	c := m.config()
	made, err := retry.New(retry.Config{Attempts: c.uint32(), MaxElapsed: c.duration(), Backoff: c.backoff()})
	return m.made(&c, object{retry: made}, err)
}
