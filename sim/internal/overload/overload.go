package overload

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

// Side is where the adaptive limit is.
type Side uint8

// The sides.
const (
	// Service: in front of the queue of the service. A place is free when the service has
	// answered, also where its caller has left.
	Service Side = iota
	// Client: under the timeout of the callers. A place is free at the timeout, and the service
	// goes on.
	Client
)

// String returns the name of a side.
func (s Side) String() string { return [...]string{"service", "client"}[s] }

// Column is a situation. In each the first Before have 70 % of the capacity, or what Load
// says; then there is overload for Overload; then as in the beginning for After.
type Column struct {
	Name string
	// Servers of the service, and the time of one call.
	Servers int
	Mean    time.Duration
	Time    string // its distribution
	// Deadline of a call.
	Deadline time.Duration
	// Load before and afterwards, and in the overload, as parts of the capacity. Where the load
	// stays, the fault is the overload.
	Load, Over float64
	Fault      string  // of the service in the overload
	Part       float64 // of the capacity that is left in the fault, 0 for all of it
	// Fail is the share of answers that fail in time, and Hang the share of calls whose answer does
	// not come in time, all the time.
	Fail, Hang float64
}

// The phases.
const (
	Before   = 20 * time.Second
	Overload = 2 * time.Minute
	After    = time.Minute
)

// Columns are the columns of the table, from left to right.
func Columns() []Column {
	fifo := Column{Servers: 20, Mean: 50 * time.Millisecond, Time: "{exponential: 50ms}", Deadline: 500 * time.Millisecond, Load: 0.7}
	large := fifo
	large.Servers = 200
	list := []Column{
		fifo.as("fifo 2x", 2), fifo.as("fifo 10x", 10),
		Column{Servers: 20, Mean: 50 * time.Millisecond, Time: "{pareto: {scale: 20ms, shape: 1.6666666666666667}}", Deadline: time.Second, Load: 0.7}.as("heavy tail 3x", 3),
		Column{Servers: 2, Mean: 200 * time.Millisecond, Time: "{exponential: 200ms}", Deadline: 2 * time.Second, Load: 0.7}.as("small 3x", 3),
		large.as("large 3x", 3),
		{Name: "latency x3", Servers: 20, Mean: fifo.Mean, Time: fifo.Time, Deadline: time.Second, Load: 0.25, Over: 0.25, Fault: "slow: 3", Part: 1. / 3},
		{Name: "capacity/4", Servers: 20, Mean: fifo.Mean, Time: fifo.Time, Deadline: time.Second, Load: 0.7, Over: 0.7, Fault: "servers: 5", Part: 1. / 4},
	}
	for _, share := range []float64{0.01, 0.05, 0.15, 0.3} {
		c := large.as(fmt.Sprintf("errors %.0f%%", 100*share), 0.7)
		c.Fail = share
		list = append(list, c)
	}
	for _, share := range []float64{0.05, 0.15, 0.3} {
		c := large.as(fmt.Sprintf("hangs %.0f%%", 100*share), 0.7)
		c.Hang = share
		list = append(list, c)
	}
	return list
}

func (c Column) as(name string, over float64) Column {
	c.Name, c.Over = name, over
	return c
}

// rate is what the service can serve a second.
func (c *Column) rate() float64 { return float64(c.Servers) / c.Mean.Seconds() }

// best is the most that can end ok a second in the overload.
func (c *Column) best() float64 {
	part := c.Part
	if part == 0 {
		part = 1
	}
	return min(c.Over, part) * c.rate() * (1 - c.Fail - c.Hang)
}

// Document returns the scenario of a column with an adaptive limit of some settings, as in
// "maximum: 1000, tolerance: 20%".
func (c *Column) Document(side Side, settings string) string {
	timeout := fmt.Sprintf("{timeout: %v}", c.Deadline)
	chaos := ""
	if c.Hang > 0 {
		chaos = fmt.Sprintf(", {chaos: {slow: {rate: %g%%, by: 10s}}}", 100*c.Hang)
	}
	// At a service no deadline is known: the share of it is written, and where calls hang, a
	// timeout frees their places.
	caller, front, policy := timeout+", {adaptive: {"+settings+"}}"+chaos, "", ""
	if side == Service {
		caller = timeout
		adaptive := fmt.Sprintf("{adaptive: {over: %v, %s}}", c.Deadline*6/10, settings)
		if c.Hang > 0 {
			adaptive = timeout + ", " + adaptive + chaos
		}
		front, policy = "\n  front: {steps: ["+adaptive+"]}", ", policy: front"
	}
	fault := ""
	if c.Fault != "" {
		fault = fmt.Sprintf(", faults: [{at: %v, for: %v, %s}]", Before, Overload, c.Fault)
	}
	return fmt.Sprintf(`version: 1
duration: %v
policies:
  caller: {steps: [%s]}%s
clients:
  - {name: caller, to: api, policy: caller, arrivals: {steps: [{for: %v, poisson: %g/s}, {for: %v, poisson: %g/s}, {for: %v, poisson: %g/s}]}}
services:
  - {name: api, servers: %d, time: %s, fail: %g%%%s%s}
`, Before+Overload+After, caller, front, Before, c.Load*c.rate(), Overload, c.Over*c.rate(), After, c.Load*c.rate(),
		c.Servers, c.Time, 100*c.Fail, policy, fault)
}

// Figure is what a column came to.
type Figure struct {
	// Goodput in the overload, as a share of the least of what is offered and what the service
	// can do, calls that fail or hang for reasons of their own left out.
	Goodput float64
	// Calls that ended ok in the overload, as a share of all.
	OK float64
	// Recovered says that in the second half of the time afterwards goodput was at least 95 %
	// of what it can be as the mean of the seeds, and 80 % with each: where calls are few,
	// chance alone takes 5 % from some.
	Recovered bool
}

// Measure simulates a column with each of the seeds from 1 on, and returns the means.
func (c *Column) Measure(side Side, settings string, seeds int) (f Figure, err error) {
	s, err := sim.Parse(c.Name+".yaml", []byte(c.Document(side, settings)), nil)
	if err != nil {
		return f, err
	}
	back, least := 0., 1.
	for seed := range uint64(seeds) {
		whole := Before + Overload + After
		r, err := sim.Run(s, sim.Options{Seed: seed + 1, Seeded: true, Parts: int(whole / time.Second)})
		if err != nil {
			return f, err
		}
		line := &r.Timeline.Clients[0]
		calls, good := sums(line, Before, Before+Overload)
		f.Goodput += good / (c.best() * Overload.Seconds()) / float64(seeds)
		f.OK += good / calls / float64(seeds)
		calls, good = sums(line, whole-After/2, whole-3*time.Second)
		part := good / (calls * (1 - c.Fail - c.Hang))
		back, least = back+part/float64(seeds), min(least, part)
	}
	f.Recovered = back >= 0.95 && least >= 0.8
	return f, nil
}

// sums returns the calls that arrived in a time, and how many of them ended ok.
func sums(line *engine.ClientLine, from, to time.Duration) (calls, good float64) {
	for i := int(from / time.Second); i < int(to/time.Second); i++ {
		calls += float64(line.Calls[i])
		good += float64(line.Good[i])
	}
	return calls, good
}
