package proptest

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/tokenbucket"
	slow "github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/reducer"
)

// config is the configuration of a machine; the field of its family is set.
type config struct {
	limit    limiter.Config
	breaker  breaker.Config
	bulkhead bulkhead.Config
	budget   budget.Config
}

// machine makes subjects of one kind. Configurations are small and on a grid of
// nanoseconds, so that many events fall on one mark.
type machine struct {
	name string
	kind family
	draw func(h history) config
	make func(c config) subject

	// Machines that are not cells, in place of subjects: see retry_test.go,
	// chaos_test.go, pipeline_test.go, nested_test.go, byhand_test.go, stale_test.go,
	// metrics_test.go and conditions_test.go.
	delays  func(c backoff.Config) delayer
	retries func(c retry.Config) nexter
	draws   func(c chaos.Config) drawer
	flows   func(p pipeline.Policy) *flow
	joins   func(policies ...pipeline.Policy) []*drive.Driver
	nests   func(p pipeline.Policy, split int) *nest
	hands   func(p pipeline.Policy) *byHand
	logs    func(p pipeline.Policy, log []slow.Event) ([]string, error)
	counts  func(p *sluice.Pipeline, observe func(sluice.Event))
	matches func(prefix, value string) bool
	keyOf   func(value string) string

	// adopt is a defect of cell.Maker.Adopt, nil for none.
	adopt func(next cell.Maker, old cell.Cell, now clock.Mark) cell.Cell
	// undone is a defect of the order in which a call leaves its steps, nil for none.
	undone func(all []reducer.Action)

	// met counts how often a check applied, see property.
	met *int
}

// begin draws a configuration and makes a subject of it.
func (m machine) begin(h history) (subject, config) {
	c := m.draw(h)
	return m.make(c), c
}

// with returns a machine whose subjects have a defect.
func (m machine) with(name string, defect mutant) machine {
	sound := m.make
	m.name += " that " + name
	m.make = func(c config) subject { return defect.with(sound(c)) }
	return m
}

// withStep is with for a defect of Step that has its own state. Only a clone and its
// original share that state.
func (m machine) withStep(name string, defect func(c config) stepper) machine {
	sound := m.make
	m.name += " that " + name
	m.make = func(c config) subject { return &mutant{subject: sound(c), step: defect(c)} }
	return m
}

// made is with for a machine whose configuration differs from the one it reports.
func (m machine) made(name string, change func(c *config)) machine {
	sound := m.make
	m.name += " that " + name
	m.make = func(c config) subject {
		change(&c)
		return sound(c)
	}
	return m
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// The machines. Those with a queue are limiters behind a queue; the others are
// an algorithm alone.
var (
	bucket  = limit("token bucket", limiter.TokenBucket, alone)
	fixed   = limit("fixed window", limiter.FixedWindow, alone)
	sliding = limit("sliding counter", limiter.SlidingCounter, alone)

	logged = limit("sliding log", limiter.SlidingLog, alone)
	leaky  = limit("leaky bucket", limiter.LeakyBucket, alone)

	warming       = warm("token bucket with a warm-up", alone)
	queuedWarming = warm("token bucket with a warm-up and a queue", oldest)

	queuedBucket  = limit("token bucket with a queue", limiter.TokenBucket, oldest)
	queuedFixed   = limit("fixed window with a queue", limiter.FixedWindow, oldest)
	queuedSliding = limit("sliding counter with a queue", limiter.SlidingCounter, oldest)
	queuedLog     = limit("sliding log with a queue", limiter.SlidingLog, oldest)
	queuedLeaky   = limit("leaky bucket with a queue", limiter.LeakyBucket, oldest)
	newestBucket  = limit("token bucket with a newest-first queue", limiter.TokenBucket, newest)

	calls       = breaks("breaker of calls", breaker.Calls, false)
	timed       = breaks("breaker of time", breaker.Time, false)
	consecutive = breaks("breaker of failures in a row", breaker.Consecutive, false)
	large       = breaks("breaker of many probes", breaker.Calls, true)

	// forgetful forgets failures in a row after a time.
	forgetful = machine{name: "breaker that forgets failures in a row", kind: breakerFamily, make: consecutive.make,
		draw: func(h history) config {
			c := consecutive.draw(h).breaker
			c.Count, c.Forget = 2+c.Count%2, time.Duration(4+h.word(0)>>54%40)
			return config{breaker: c}
		}}

	// eased has the settings that say how a breaker begins, what an answer does to it, and
	// how the load comes back.
	eased = machine{name: "breaker with a ramp", kind: breakerFamily, make: calls.make,
		draw: func(h history) config {
			w := h.word(0)
			c := drawBreaker(w, pick(w>>50, breaker.Calls, breaker.Time, breaker.Consecutive), false)
			w *= 0x9e3779b97f4a7c15
			c.Initial = pick(w>>20, breaker.Closed, breaker.Closed, breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.ForcedOpen, breaker.ForcedClosed, breaker.MetricsOnly)
			if w>>24%2 == 0 {
				c.ObeyRetryAfter = time.Duration(1 + w>>25%24)
			}
			if w>>32%3 > 0 {
				c.RampOver, c.RampFrom = time.Duration(1+w>>34%24), reducer.Millionths(pick(w>>40, uint32(100_000), 333_333, 500_000, 999_999, 1))
			}
			if w>>46%2 == 0 {
				c.SlowOver, c.SlowConsecutive = time.Duration(1+w>>48%8), 1+uint32(w>>52%3)
			}
			return config{breaker: c}
		}}

	// jitteredOpen has open times that differ with each opening, and half-open
	// stays that end.
	jitteredOpen = machine{name: "breaker of jittered open times", kind: breakerFamily, make: breaks("", breaker.Consecutive, false).make,
		draw: func(h history) config {
			w := h.word(0)
			c := drawBreaker(w, breaker.Consecutive, false)
			c.HalfOpenMax = time.Duration(1 + w>>40%9)
			c.Open.Kind = pick(w>>44, backoff.Constant, backoff.Linear, backoff.Exponential, backoff.Fibonacci, backoff.Decorrelated, backoff.Listed)
			c.Open.Factor, c.Open.Max = 0, pick(w>>48, 0, 8*c.Open.Base)
			if c.Open.Kind == backoff.Exponential {
				c.Open.Factor = pick(w>>50, backoff.FactorOne, backoff.FactorOne+1, 11*backoff.FactorOne/10, 2*backoff.FactorOne)
			}
			if c.Open.Kind == backoff.Listed {
				base := c.Open.Base
				c.Open.Base, c.Open.Max = 0, 0
				c.Open.Delays = pick(w>>50, backoff.Delays(base, 3*base, base), backoff.Delays(2*base, 1, base), backoff.Delays(base))
			}
			if c.Open.Kind != backoff.Decorrelated {
				c.Open.Jitter = pick(w>>54, backoff.Full, backoff.Equal, backoff.NoJitter)
			}
			return config{breaker: c}
		}}

	places = machine{name: "bulkhead", kind: bulkheads, draw: drawBulkhead, make: func(c config) subject {
		return of(must(bulkhead.New(c.bulkhead)), 0, func(s *bulkhead.State) view {
			return view{waiters: waiters(&s.Queue), held: s.Held, last: s.Last, begun: true}
		})
	}}
	// shared has a member for each caller.
	shared = machine{name: "shared bulkhead", kind: bulkheads, draw: drawShared, make: func(c config) subject {
		return of(must(bulkhead.NewShared(c.bulkhead.Shared(1, 0))), 0, func(s *bulkhead.SharedState) view {
			return view{held: s.Held, last: s.Last, begun: true}
		})
	}}
	spending = machine{name: "retry budget", kind: budgets, draw: drawBudget, make: func(c config) subject {
		return of(must(budget.New(c.budget)), 0, func(s *budget.State) view { return view{last: s.Last, begun: s.Begun} })
	}}

	tokens = machine{name: "token-bucket retry budget", kind: tokenBudgets, draw: drawTokens, make: func(c config) subject {
		return of(must(budget.New(c.budget)), 0, func(*budget.State) view { return view{} })
	}}

	adapting = machine{name: "adaptive retry budget", kind: tokenBudgets, draw: drawAdapting, make: func(c config) subject {
		return of(must(budget.New(c.budget)), 0, func(s *budget.State) view { return view{last: s.Last, begun: s.Begun} })
	}}

	// bursts are the algorithms that admit a cost of n as n costs of 1.
	bursts     = []machine{bucket, fixed, sliding, logged, warming}
	algorithms = join(bursts, []machine{leaky, daily})
	queued     = []machine{queuedBucket, queuedFixed, queuedSliding, queuedLog, queuedLeaky, newestBucket, queuedWarming}
	breakers   = []machine{calls, timed, consecutive, large, forgetful}
	// plain are the cells that a refusal does not change.
	plain = join(algorithms, queued, breakers, []machine{places, shared, spending, tokens, adapting})
	cells = join(plain, []machine{eased})
	// undated are the cells that no wall time changes.
	undated = slices.DeleteFunc(slices.Clone(cells), func(m machine) bool { return m.name == daily.name })
)

func join(lists ...[]machine) (all []machine) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// pick returns the n-th of some values, counted around.
func pick[T any](n uint64, values ...T) T { return values[n%uint64(len(values))] }

type order int

const (
	alone order = iota
	oldest
	newest
)

func limit(name string, algorithm limiter.Algorithm, o order) machine {
	return machine{name: name, kind: limiters, draw: func(h history) config { return config{limit: drawLimit(h.word(0), algorithm, o)} }, make: makeLimit}
}

// warm is a token bucket with a warm-up.
func warm(name string, o order) machine {
	m := limit(name, limiter.TokenBucket, o)
	plain := m.draw
	m.draw = func(h history) config {
		c := plain(h)
		w := h.word(0) >> 40
		c.limit.WarmUp = limiter.WarmUp{Over: time.Duration(1 + w%64), Factor: 2 + uint32(w>>6%3)}
		return c
	}
	return m
}

func drawLimit(w uint64, algorithm limiter.Algorithm, o order) limiter.Config {
	c := limiter.Config{Algorithm: algorithm, Count: 1 + uint32(w%4), Period: time.Duration(4 + w>>2%24)}
	if algorithm == limiter.TokenBucket {
		c.Burst = 1 + uint32(w>>8%4)
	}
	if o != alone {
		c.Wait, c.Queue = time.Duration(1+w>>12%48), 1+uint32(w>>20%4)
	}
	if o == newest {
		c.Order = limiter.Newest
	}
	return c
}

func makeLimit(c config) subject {
	return of(reducer.Cell[limiter.State](must(limiter.New(c.limit))), 0, func(s *limiter.State) view {
		return view{waiters: waiters(s.Queue()), last: s.Last, begun: true}
	})
}

func waiters(q *limiter.Queue) (all []limiter.Waiter) {
	for i := range int(q.Len()) {
		all = append(all, *q.At(i))
	}
	return all
}

func breaks(name string, window breaker.WindowKind, big bool) machine {
	draw := func(h history) config { return config{breaker: drawBreaker(h.word(0), window, big)} }
	return machine{name: name, kind: breakerFamily, draw: draw, make: func(c config) subject {
		return of(must(breaker.New(c.breaker)), 0, func(s *breaker.State) view { return lookBreaker(&s.Core) })
	}}
}

func lookBreaker(c *breaker.Core) view {
	copied := *c
	return view{last: c.Last, begun: c.Generation > 0, breaker: &copied}
}

func drawBreaker(w uint64, window breaker.WindowKind, big bool) breaker.Config {
	c := breaker.Config{Window: window, Count: 1 + uint32(w%5), Probes: 1 + uint32(w>>3%3)}
	if big {
		c.Probes += 11
	}
	if w>>42%4 == 0 {
		c.Successes = 1 + uint32(w>>44%uint64(c.Probes))
	}
	if w>>5%3 == 0 {
		c.HalfOpenMax = time.Duration(1 + w>>7%20)
	}
	c.Open = backoff.Config{Kind: backoff.Constant, Base: time.Duration(1 + w>>12%16)}
	if w>>16%2 == 1 {
		c.Open.Kind, c.Open.Factor, c.Open.Max = backoff.Exponential, 2*backoff.FactorOne, 8*c.Open.Base
	}
	if window == breaker.Consecutive {
		return c
	}
	c.Minimum = 1 + uint32(w>>18%uint64(c.Count))
	c.FailureRate = reducer.Millionths(pick(w>>24, uint32(reducer.Whole/2), reducer.Whole/4, reducer.Whole, 1))
	if w>>28%2 == 1 {
		c.SlowOver, c.SlowRate = time.Duration(1+w>>30%8), pick(w>>34, reducer.Percent(50), reducer.Percent(100))
	}
	if window == breaker.Time {
		c.Span = time.Duration(uint64(c.Count) + w>>38%32)
	}
	return c
}

func drawBulkhead(h history) config {
	w := h.word(0)
	c := bulkhead.Config{Concurrent: 1 + uint32(w%3), Queue: uint32(w >> 2 % 4)}
	if c.Queue > 0 && w>>4%2 == 0 {
		c.Wait = time.Duration(1 + w>>6%32)
	}
	if w>>11%2 == 1 {
		c.Lease = time.Duration(1 + w>>12%24)
	}
	c.Order = limiter.Order(w >> 17 % 2)
	return config{bulkhead: c}
}

func drawShared(h history) config {
	c := drawBulkhead(h).bulkhead
	return config{bulkhead: bulkhead.Config{Concurrent: c.Concurrent, Lease: max(1, c.Lease)}}
}

func drawBudget(h history) config {
	w := h.word(0)
	c := budget.Config{Ratio: reducer.Millionths(pick(w, uint32(0), reducer.Whole/5, reducer.Whole/2, 2*reducer.Whole)), Window: time.Duration(10 + w>>2%60)}
	if w>>8%2 == 1 {
		c.MinimumCount, c.MinimumPeriod = 1+uint32(w>>9%3), time.Duration(1+w>>12%40)
	}
	return config{budget: c}
}

// drawTokens draws a bucket of tokens of one of its rules.
func drawTokens(h history) config {
	w := h.word(0)
	c := budget.Config{Rule: budget.Tokens, Tokens: 1 + uint32(w>>1%12)}
	if w%2 == 0 {
		c.Rule, c.TokenRatio = budget.Throttle, reducer.Millionths(pick(w>>8, uint32(500_000), 1_000, 333_000, 1_000_000, 2_600_000))
		return config{budget: c}
	}
	c.Retry, c.Timeout, c.Refund = 1+uint32(w>>8)%min(c.Tokens, 4), 1+uint32(w>>16)%min(c.Tokens, 6), 1+uint32(w>>24)%min(c.Tokens, 2)
	return config{budget: c}
}

// drawAdapting draws an adaptive budget.
func drawAdapting(h history) config {
	w := h.word(0)
	return config{budget: budget.Config{Rule: budget.Adaptive, Window: time.Duration(10 + w>>2%60), OneAbove: reducer.Millionths(pick(w>>8, uint32(reducer.Whole/2), reducer.Whole/3, reducer.Whole)),
		TwoAbove: reducer.Millionths(pick(w>>12, uint32(reducer.Whole/5), reducer.Whole/3, 1)), Wait: time.Duration(1 + w>>16%9)}}
}

// start is the mark of Init.
const start = clock.Mark(0)

// bucketOf returns the state of a token bucket.
func bucketOf(s subject) tokenbucket.State { return s.(*erased[limiter.State]).state.Bucket() }

// nudge shifts the marks of a limiter's counts: a small defect.
func nudge(s subject, by time.Duration) {
	e := s.(*erased[limiter.State])
	e.state = reducer.ValuesOf(e.cell).Shift(e.state, by)
}

// used is a settle of a limiter by which so many permits were used without an
// acquire.
func used(s subject, now clock.Mark, permits uint64) reducer.Action {
	known, _ := s.Clone().Step(reducer.Action{Kind: reducer.TryAcquire}, now)
	return reducer.Action{Kind: reducer.Settle, Value: permits, Permit: reducer.Permit{Generation: known.Generation}}
}

// charge takes a permit without an acquire: a small defect.
func charge(s subject, now clock.Mark) { s.Step(used(s, now, 1), now) }
