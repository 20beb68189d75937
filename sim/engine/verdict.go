package engine

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Verdict says in a word whether the calls went on well.
type Verdict string

// The verdicts. Goodput is the share of calls that end ok, by the time of their
// arrival, in a twentieth of the duration. It is low below nine tenths of the goodput
// before any fault (as long as no fault has begun, at most the first tenth of the
// counted time), and below half of what the services could have answered ok: the
// lesser of the calls offered and of the capacity, less the failures of the services.
const (
	// Steady: goodput was never low.
	Steady Verdict = "steady"
	// Recovered: it was, and at the end it is not.
	Recovered Verdict = "recovered"
	// Degraded: at the end it is low, and what causes it goes on: a fault, more calls
	// to the client's services than in the beginning, from any client, policies that
	// refuse most of what the services could do, or whatever made it low in the
	// beginning.
	Degraded Verdict = "degraded"
	// Metastable: at the end it is below the goodput of the beginning, though nothing that
	// could cause it goes on.
	//
	// Source: Bronson, Aghayev, Charapko and Zhu, Metastable failures in distributed
	// systems, 2021.
	Metastable Verdict = "metastable"
)

// few is how many calls are too few to say anything about their share.
const few = 20

// judge gives the verdict, and each client the time to its recovery.
func (s *simulation) judge(r *Result) {
	s.sumDemand()
	var worst Verdict
	for i, c := range s.clients {
		verdict, recovery := c.verdict()
		r.Clients[i].Verdict, r.Clients[i].Recovery = verdict, recovery
		if rank(verdict) > rank(worst) {
			worst = verdict
		}
	}
	r.Verdict = worst
}

func rank(v Verdict) int {
	for i, one := range []Verdict{"", Steady, Recovered, Degraded, Metastable} {
		if v == one {
			return i
		}
	}
	return 0
}

// faults returns the begin of the first fault and the end of the last one of the
// services that a client reaches, clock.Never and -1 without any.
func (c *client) faults() (first, last clock.Mark) {
	first, last = clock.Never, -1
	for _, i := range c.line.Services {
		for _, band := range c.sim.services[i].bands {
			first, last = min(first, band.From), max(last, band.To)
		}
	}
	return first, last
}

// share returns the share of the calls of some parts that end ok. It returns false for
// too few calls.
func (c *client) share(from, to int) (share float64, ok bool) {
	calls, good := 0, 0
	for i := from; i < to; i++ {
		calls += int(c.line.Calls[i])
		good += int(c.line.Good[i])
	}
	if calls < few {
		return 0, false
	}
	return float64(good) / float64(calls), true
}

// load returns how many calls a part have come to the services that the client
// reaches, from all clients. Calls that are made again because others failed are no
// cause but an effect, and not counted.
func (c *client) load(from, to int) float64 {
	calls := 0
	for _, other := range c.sim.clients {
		if !c.shares(other) {
			continue
		}
		for i := from; i < to; i++ {
			calls += int(other.first[i])
		}
	}
	return float64(calls) / float64(to-from)
}

// shares reports whether two clients reach a service in common.
func (c *client) shares(other *client) bool {
	for _, i := range c.line.Services {
		if slices.Contains(other.line.Services, i) {
			return true
		}
	}
	return false
}

// usual returns the latency that calls of some parts hardly ever exceed.
func (c *client) usual(from, to int) (usual time.Duration) {
	for i := from; i < to; i++ {
		usual = max(usual, c.line.Latency[i].Percentile(990))
	}
	return usual
}

func (c *client) verdict() (Verdict, time.Duration) {
	t := c.sim.timeline
	part := func(at clock.Mark) int { return int(min(at, c.sim.end) / clock.Mark(t.Width)) }
	// A timeline of few parts may have none without warmup.
	begin := min(part(c.sim.begin+clock.Mark(t.Width)-1), t.Parts-1)
	window := max(t.Parts/20, 1)
	first, last := c.faults()
	quiet := min(begin+max((t.Parts-begin)/10, 1), t.Parts)
	if first > c.sim.begin {
		quiet = max(min(quiet, part(first)), begin+1)
	}
	// The calls of the last parts may not be over.
	end := max(t.Parts-1-int(c.usual(begin, quiet)/t.Width), quiet)
	base, _ := c.share(begin, quiet) // 0 for too few calls
	falls := func(from, to int) bool {
		share, ok := c.share(from, to)
		return ok && share < 0.9*base
	}
	low, below := false, -1
	for i := begin; i+window <= end; i++ {
		if i >= quiet && falls(i, i+window) {
			low = true
			below = i + window
		}
		low = low || c.wastes(i, i+window)
	}
	lastFrom := max(end-window, quiet)
	lost, wastes := falls(lastFrom, end), c.wastes(lastFrom, end)
	switch {
	case !low && base == 0:
		return Steady, -1
	case !low:
		return Steady, recovery(last, 0)
	case !lost && !wastes:
		return Recovered, recovery(last, clock.Mark(c.lastLow(base, below))*clock.Mark(t.Width))
	case !lost, wastes && c.refuses(lastFrom, end), last >= clock.Mark(end-window)*clock.Mark(t.Width),
		c.load(lastFrom, end) > 1.1*c.load(begin, quiet), c.wastes(begin, quiet):
		return Degraded, -1
	}
	return Metastable, -1
}

// lastLow returns the end of the last part before one in which the share of calls that
// end ok is low.
func (c *client) lastLow(base float64, before int) int {
	for i := before; i > 0; i-- {
		calls, good := float64(c.line.Calls[i-1]), float64(c.line.Good[i-1])
		if calls > 0 && good < 0.9*base*calls {
			return i
		}
	}
	return 0
}

// recovery is the time from the end of the last fault to a mark, -1 without faults.
func recovery(last, at clock.Mark) time.Duration {
	if last < 0 {
		return -1
	}
	return max(at.Sub(last), 0)
}
