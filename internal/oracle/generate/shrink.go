package generate

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/reducer"
)

// Shrink makes a failing case smaller for as long as fails stays true, and
// returns the smallest that it found. fails must be true for the given case. It
// is asked about valid logs alone, in which with this seed of the run no call has
// the id of a live one.
func Shrink(seed uint64, p pipeline.Policy, events []oracle.Event, fails func(pipeline.Policy, []oracle.Event) bool) (pipeline.Policy, []oracle.Event) {
	s := &shrinker{seed: seed, policy: p, events: events, fails: fails}
	for smaller := true; smaller; {
		smaller = s.dropEvents()
		smaller = s.promote() || smaller
		smaller = s.dropSteps() || smaller
		smaller = s.simplify() || smaller
	}
	return s.policy, s.events
}

// shrinker holds the smallest case so far.
type shrinker struct {
	seed   uint64
	policy pipeline.Policy
	events []oracle.Event
	fails  func(pipeline.Policy, []oracle.Event) bool
}

// try keeps the case if it is valid and still fails.
func (s *shrinker) try(p pipeline.Policy, events []oracle.Event) bool {
	if _, err := oracle.Run(p, s.seed, events); err != nil || !s.fails(p, events) {
		return false
	}
	s.policy, s.events = p, events
	return true
}

// dropEvents leaves out runs of events, long ones first.
func (s *shrinker) dropEvents() bool {
	smaller := false
	for n := len(s.events); n > 0; n /= 2 {
		for at := 0; at < len(s.events); {
			end := min(at+n, len(s.events))
			rest := append(append([]oracle.Event(nil), s.events[:at]...), s.events[end:]...)
			if s.try(s.policy, rest) {
				smaller = true
			} else {
				at += n
			}
		}
	}
	return smaller
}

// promote begins with the policy of a configure instead of coming to it.
func (s *shrinker) promote() bool {
	for i, e := range s.events {
		if e.Policy == nil {
			continue
		}
		rest := append(append([]oracle.Event(nil), s.events[:i]...), s.events[i+1:]...)
		if s.try(*e.Policy, rest) {
			return true
		}
	}
	return false
}

// dropSteps leaves out steps, first in all policies at once, then in each.
func (s *shrinker) dropSteps() bool {
	smaller := false
	for i := len(s.policy.Steps) - 1; i >= 0; i-- {
		smaller = s.everywhere(func(p pipeline.Policy) pipeline.Policy { return without(p, i) }) || smaller
	}
	for which := -1; which < len(s.events); which++ {
		if which >= 0 && s.events[which].Policy == nil {
			continue
		}
		for i := len(s.at(which).Steps) - 1; i >= 0; i-- {
			smaller = s.in(which, func(p pipeline.Policy) pipeline.Policy { return without(p, i) }) || smaller
		}
	}
	return smaller
}

// without returns the policy without step i, unless it is the only one.
func without(p pipeline.Policy, i int) pipeline.Policy {
	if i >= len(p.Steps) || len(p.Steps) < 2 {
		return p
	}
	p.Steps = append(append([]pipeline.Step(nil), p.Steps[:i]...), p.Steps[i+1:]...)
	return p
}

// at returns the first policy for -1, else the one of an event.
func (s *shrinker) at(which int) pipeline.Policy {
	if which < 0 {
		return s.policy
	}
	return *s.events[which].Policy
}

// in changes one policy, if that makes a difference and still fails.
func (s *shrinker) in(which int, change func(pipeline.Policy) pipeline.Policy) bool {
	old := s.at(which)
	p := change(old)
	if same(old, p) {
		return false
	}
	if which < 0 {
		return s.try(p, s.events)
	}
	events := append([]oracle.Event(nil), s.events...)
	events[which].Policy = &p
	return s.try(s.policy, events)
}

// everywhere changes all policies at once.
func (s *shrinker) everywhere(change func(pipeline.Policy) pipeline.Policy) bool {
	first := change(s.policy)
	events := append([]oracle.Event(nil), s.events...)
	differ := !same(first, s.policy)
	for i, e := range events {
		if e.Policy != nil {
			p := change(*e.Policy)
			differ = differ || !same(p, *e.Policy)
			events[i].Policy = &p
		}
	}
	return differ && s.try(first, events)
}

// same compares two policies by what is printed of them.
func same(a, b pipeline.Policy) bool { return string(PolicyJSON(a)) == string(PolicyJSON(b)) }

// simplify makes settings and events plainer, one at a time.
func (s *shrinker) simplify() bool {
	smaller := s.everywhere(func(p pipeline.Policy) pipeline.Policy {
		p.Fallback = nil
		return p
	})
	for which := -1; which < len(s.events); which++ {
		if which >= 0 && s.events[which].Policy == nil {
			continue
		}
		for i := range s.at(which).Steps {
			for _, simpler := range append(plainerBy(s.at(which).Steps[i].Kind()), plainer...) {
				change := func(p pipeline.Policy) pipeline.Policy {
					p.Steps = append([]pipeline.Step(nil), p.Steps...)
					if i < len(p.Steps) {
						simpler(&p.Steps[i])
						p.Steps[i] = plain(p.Steps[i])
					}
					return p
				}
				if which < 0 && s.everywhere(change) || s.in(which, change) {
					smaller = true
				}
			}
		}
	}
	for i := range s.events {
		for _, simpler := range plainerEvents {
			events := append([]oracle.Event(nil), s.events...)
			simpler(&events[i])
			if string(EventsJSON(events[i:i+1])) != string(EventsJSON(s.events[i:i+1])) && s.try(s.policy, events) {
				smaller = true
			}
		}
	}
	return smaller
}

// plainer are the ways to make a step plainer that its row does not give. None of them makes it
// invalid.
var plainer = []func(*pipeline.Step){
	func(s *pipeline.Step) { s.Shadow = false },
	func(s *pipeline.Step) { s.Per = nil },
	func(s *pipeline.Step) { s.Per = s.Per[:min(len(s.Per), 1)] },
	func(s *pipeline.Step) { s.Keys = 0 },
	func(s *pipeline.Step) { s.Keys = min(s.Keys, 1) },
	func(s *pipeline.Step) { s.WhenFull = pipeline.FullEvict },
	func(s *pipeline.Step) { s.Missing = pipeline.MissingShare },
	change(func(c *hedge.Config) { c.Budgeted = false }),
	change(func(c *hedge.Config) { c.Samples, c.Minimum = min(c.Samples, 1), min(c.Minimum, 1) }),
	change(func(c *hedge.Config) {
		if c.After == 0 {
			c.Percentile, c.Samples, c.Minimum, c.Parallel = reducer.Share{}, 0, 0, false
			c.After = time.Second
		}
	}),
	change(func(c *chaos.Config) { c.Slow, c.By, c.To = reducer.Share{}, 0, 0 }),
	change(func(c *chaos.Config) { c.Throttle, c.RetryAfter = reducer.Share{}, 0 }),
	change(func(c *retry.Config) { c.Budgeted = false }),
	change(func(c *retry.Config) { c.Backoff = plainBackoff(c.Backoff) }),
	change(func(c *retry.Config) { c.Backoff = noJitter(c.Backoff) }),
	change(func(c *retry.Config) { c.Attempts = min(c.Attempts, 2) }),
	change(func(c *breaker.Config) { c.Open = plainBackoff(c.Open) }),
	change(func(c *breaker.Config) { c.Open = noJitter(c.Open) }),
	change(func(c *breaker.Config) { c.Forget = 0 }),
	change(func(c *breaker.Config) { c.Successes = 0 }),
	change(func(c *breaker.Config) { c.Probes, c.Successes = min(c.Probes, 1), min(c.Successes, 1) }),
	change(func(c *limiter.Config) { c.Wait, c.Queue, c.Order = 0, 0, limiter.Oldest }),
	change(func(c *limiter.Config) { c.Block.After = min(c.Block.After, 1) }),
	change(func(c *limiter.Config) { c.Block.For = plainBackoff(c.Block.For) }),
	change(func(c *limiter.Config) { c.Cost = limiter.Cost{} }),
	change(func(c *limiter.Config) { c.Charge, c.SettleMax = limiter.ChargeStart, 0 }),
	change(func(c *limiter.Config) { c.SettleMax = 0 }),
	change(func(c *limiter.Config) { c.Counts = 0 }),
	change(func(c *limiter.Config) { c.Cost.Attribute = "" }),
	change(func(c *limiter.Config) {
		if c.Algorithm != limiter.TokenBucket && c.Calendar.Unit == calendar.NoUnit {
			c.Algorithm, c.Burst = limiter.TokenBucket, c.Count
		}
	}),
	change(func(c *limiter.Config) { c.Calendar = calendar.Config{} }),
	change(func(c *limiter.Config) { c.Calendar.Zone = calendar.Zone{} }),
	change(func(c *limiter.Config) { c.Calendar.Zone = calendar.Zone{Offset: c.Calendar.Zone.Offset} }),
	change(func(c *limiter.Config) { c.Count = min(c.Count, 1) }),
	change(func(c *bulkhead.Config) { c.Queue, c.Wait, c.Order = 0, 0, limiter.Oldest }),
}

// change makes a change of a mechanism's settings one of a step. Settings that the mechanism
// refuses together stay as they were.
func change[C mechanism.Config](settings func(*C)) func(*pipeline.Step) {
	return func(s *pipeline.Step) {
		before := s.Config
		pipeline.Edit(s, settings)
		if s.Config == nil {
			return
		}
		if _, err := mechanisms.Compile(s.Config); err != nil {
			s.Config = before
		}
	}
}

func plainBackoff(c backoff.Config) backoff.Config {
	if c.Kind == backoff.Listed {
		c.Base = max(1, c.Delays.At(0))
	}
	if c.Kind != backoff.None {
		c = backoff.Config{Kind: backoff.Constant, Base: c.Base}
	}
	return c
}

func noJitter(c backoff.Config) backoff.Config {
	c.Jitter, c.Share = backoff.NoJitter, reducer.Share{}
	return c
}

// plainerEvents are the ways to make an event plainer.
var plainerEvents = []func(*oracle.Event){
	func(e *oracle.Event) { e.Deadline = nil },
	func(e *oracle.Event) { e.RetryAfter = nil },
	func(e *oracle.Event) { e.Used = nil },
	func(e *oracle.Event) { e.Attempt = 0 },
	func(e *oracle.Event) { e.Key = "" },
	func(e *oracle.Event) { e.Attributes = nil },
	func(e *oracle.Event) {
		if e.Op == "call" {
			e.Cost = 1
		}
	},
	func(e *oracle.Event) { e.At = e.At / int64(time.Second) * int64(time.Second) },
}
