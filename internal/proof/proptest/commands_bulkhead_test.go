package proptest

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// naiveBulkhead is an oracle of a bulkhead.
type naiveBulkhead struct {
	word    uint64
	config  bulkhead.Config
	now     int64
	callers uint64
	holders []queuer // by their grants; ends is the end of the lease
	queue   []queuer // oldest first
	all     []uint64 // all callers that have held a place
	said    []string
}

func beginBulkhead(w uint64) oracle {
	return &naiveBulkhead{word: w, config: places.draw(history{w}).bulkhead}
}

func (b *naiveBulkhead) w() uint64 { return b.word }

func (b *naiveBulkhead) copy() *naiveBulkhead {
	next := *b
	next.holders, next.queue, next.all, next.said = slices.Clone(b.holders), slices.Clone(b.queue), slices.Clone(b.all), nil
	return &next
}

func (b *naiveBulkhead) end(d int64) int64 {
	if d == 0 {
		return math.MaxInt64
	}
	return b.now + d
}

func (b *naiveBulkhead) hold(id uint64, cost int64) {
	b.holders = append(b.holders, queuer{id: id, cost: cost, ends: b.end(int64(b.config.Lease))})
	b.all = append(b.all, id)
}

// fits reports whether as many places are free as a cost says.
func (b *naiveBulkhead) fits(cost int64) bool {
	for _, h := range b.holders {
		cost += h.cost
	}
	return cost <= int64(b.config.Concurrent)
}

func (b *naiveBulkhead) serve() {
	for len(b.queue) > 0 {
		i := 0
		if b.config.Order == limiter.Newest {
			i = len(b.queue) - 1
		}
		next := b.queue[i]
		if !b.fits(next.cost) {
			return
		}
		b.queue = slices.Delete(b.queue, i, i+1)
		b.hold(next.id, next.cost)
		b.said = append(b.said, fmt.Sprintf("grant %d", next.id))
	}
}

// pass advances time by a nanosecond: waits end, then leases, then the queue is
// served.
func (b *naiveBulkhead) pass() {
	b.now++
	for _, q := range slices.Clone(b.queue) {
		if q.ends <= b.now {
			b.queue = slices.DeleteFunc(b.queue, func(o queuer) bool { return o.id == q.id })
			b.said = append(b.said, fmt.Sprintf("drop %d", q.id))
		}
	}
	// Of leases with the same end, the one that was set first ends first.
	for _, h := range slices.Clone(b.holders) {
		if h.ends <= b.now {
			b.release(h.id)
			b.said = append(b.said, fmt.Sprintf("lapse %d", h.id))
		}
	}
	b.serve()
}

func (b *naiveBulkhead) release(id uint64) bool {
	before := len(b.holders)
	b.holders = slices.DeleteFunc(b.holders, func(h queuer) bool { return h.id == id })
	return len(b.holders) < before
}

func (b *naiveBulkhead) acquire(id uint64, cost int64, waits bool) string {
	c := b.config
	switch {
	case cost > int64(c.Concurrent):
		return "reject capacity"
	case b.fits(cost) && (len(b.queue) == 0 || c.Order == limiter.Newest):
		b.hold(id, cost)
		return "admit"
	case !waits || c.Queue == 0 || len(b.queue) >= int(c.Queue) && c.Order == limiter.Oldest:
		return "reject full"
	case len(b.queue) >= int(c.Queue):
		b.said = append(b.said, fmt.Sprintf("drop %d", b.queue[0].id))
		b.queue = b.queue[1:]
	}
	b.queue = append(b.queue, queuer{id: id, cost: cost, ends: b.end(int64(c.Wait))})
	return "wait unknown"
}

func (b *naiveBulkhead) do(c command) (oracle, string) {
	b = b.copy()
	answer := "done"
	switch c.verb {
	case "acquire", "try":
		b.callers++
		answer = b.acquire(b.callers, max(1, int64(c.choice%4)), c.verb == "acquire")
	case "release", "renew":
		if len(b.all) == 0 {
			return b, "nothing"
		}
		id := b.all[c.choice%len(b.all)]
		i := slices.IndexFunc(b.holders, func(h queuer) bool { return h.id == id })
		switch {
		case i < 0:
			answer = "stale"
		case c.verb == "renew":
			h := b.holders[i]
			if ends := b.end(int64(b.config.Lease)); ends != h.ends {
				h.ends = ends
				b.holders = append(slices.Delete(b.holders, i, i+1), h)
			}
		default:
			b.release(id)
		}
	case "leave":
		if len(b.queue) == 0 {
			return b, "nothing"
		}
		i := c.choice % len(b.queue)
		b.queue = slices.Delete(b.queue, i, i+1)
	default:
		for range c.number % 16 {
			b.pass()
		}
	}
	b.serve()
	held := int64(0)
	for _, h := range b.holders {
		held += h.cost
	}
	return b, fmt.Sprintf("%s%s, %d held, %d wait", answer, b.said, held, len(b.queue))
}

// testedBulkhead runs the commands on a machine.
type testedBulkhead struct{ *rig }

func testBulkhead(m machine) func(w uint64) tested {
	return func(w uint64) tested {
		s, _ := m.begin(history{w})
		return &testedBulkhead{newRig(s, m.kind)}
	}
}

func (b *testedBulkhead) do(c command) string {
	before := len(b.log)
	answer := "done"
	switch c.verb {
	case "acquire", "try":
		b.callers++
		kind := reducer.TryAcquire
		if c.verb == "acquire" {
			kind = reducer.Acquire
		}
		answer = limiterAnswer(b.step(reducer.Action{Kind: kind, Cost: uint32(c.choice % 4), Permit: reducer.Permit{ID: b.callers}}))
	case "release", "renew":
		if len(b.grants) == 0 {
			return "nothing"
		}
		kind := reducer.Release
		if c.verb == "renew" {
			kind = reducer.Renew
		}
		answer = limiterAnswer(b.step(reducer.Action{Kind: kind, Permit: b.grants[c.choice%len(b.grants)].permit}))
	case "leave":
		all := b.subject.Look().waiters
		if len(all) == 0 {
			return "nothing"
		}
		b.step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: all[c.choice%len(all)].Ticket}})
	default:
		b.advance(b.now + clock.Mark(c.number%16))
	}
	b.serve()
	look := b.subject.Look()
	return fmt.Sprintf("%s%s, %d held, %d wait", answer, b.effectsSince(before), look.held, len(look.waiters))
}

func bulkheadLine() row {
	s := suite{
		verbs: []string{"acquire", "acquire", "acquire", "try", "release", "release", "renew", "leave", "time", "time"},
		begin: beginBulkhead,
	}
	return row{"K*", "a bulkhead grants, queues and ends leases as a naive one that keeps lists", byDifference,
		[]trial{s.trial("bulkhead", 400, 80, testBulkhead(places))},
		s.mutant("bulkhead that does not extend leases", testBulkhead(places.with("does not extend leases", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Renew {
				before := s.Clone()
				answer, out := before.Step(a, now)
				return answer, out
			}
			return s.Step(a, now)
		}))))}
}
