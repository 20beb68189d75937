package engine

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/sim/scenario"
)

// Timeline describes a run part by part. Everything is counted, the warmup too.
type Timeline struct {
	// Parts is how many there are, Width how long each one lasts; the last one may end
	// after the scenario.
	Parts    int
	Width    time.Duration
	Clients  []ClientLine
	Services []ServiceLine
}

// ClientLine has what a client's calls did in each part.
type ClientLine struct {
	// Services that calls reach, by their index: the one that the client calls, and
	// those that it calls in turn.
	Services []int
	// Calls that arrived, and Good of them: those that ended ok, whenever it was.
	Calls, Good []uint32
	// Attempts that began, and calls that ended.
	Attempts, OK, Failed, Refused []uint32
	// Latency of the calls that ended ok.
	Latency []Latencies
	// Refusals by step and reason.
	Refusals []RefusalLine
	// Changes of the breakers of the policy.
	Changes []BreakerChange
	// Steps of the policy whose state is a number.
	Steps []StepLine
}

// RefusalLine has the calls that a step refused for a reason in each part.
type RefusalLine struct {
	Step, Reason string
	Calls        []uint32
}

// ServiceLine has what a service did in each part.
type ServiceLine struct {
	Arrived, Served, Dropped, Refused, Wasted []uint32
	// Busy and InSystem are averages over the time of each part, Servers is how many
	// there were at its end.
	Busy, InSystem []float64
	Servers        []uint32
	// Changes of the breakers of the policy of the service.
	Changes []BreakerChange
	// Steps of the policy of the service whose state is a number.
	Steps []StepLine
	// Bands are the faults.
	Bands []Band
}

// BreakerChange is a change of a breaker.
type BreakerChange struct {
	At   clock.Mark
	Step string
	// Key is the number of the key of its cell, 0 for a step without keys. Another key
	// may have the same number later.
	Key  uint32
	Mode breaker.Mode
}

func newTimeline(s *scenario.Scenario, parts int) *Timeline {
	width := max((s.Duration+time.Duration(parts)-1)/time.Duration(parts), 1)
	parts = int((s.Duration + width - 1) / width)
	t := &Timeline{
		Parts: parts, Width: width,
		Clients: make([]ClientLine, len(s.Clients)), Services: make([]ServiceLine, len(s.Services)),
	}
	counts := func(all ...*[]uint32) {
		for _, one := range all {
			*one = make([]uint32, parts)
		}
	}
	for i := range t.Clients {
		c := &t.Clients[i]
		counts(&c.Calls, &c.Good, &c.Attempts, &c.OK, &c.Failed, &c.Refused)
		c.Latency = make([]Latencies, parts)
	}
	for i := range t.Services {
		one := &t.Services[i]
		counts(&one.Arrived, &one.Served, &one.Dropped, &one.Refused, &one.Wasted, &one.Servers)
		one.Busy, one.InSystem = make([]float64, parts), make([]float64, parts)
	}
	return t
}
