package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/random"
	"github.com/sluice-go/sluice/sim/scenario"
)

// client makes calls and counts how they end.
type client struct {
	sim     *simulation
	config  *scenario.Client
	process *process
	// One stream for each thing that is drawn, so that none changes another.
	arrivals, think, keys, attributes, costs, patience, pauses *random.Stream
	arrival                                                    event
	phase                                                      int
	began                                                      clock.Mark // of the phase
	number                                                     int64      // of the arrival in the phase, from 0
	names                                                      []string   // of keys, as they are needed
	stats                                                      clientStats
	line                                                       *ClientLine
	first                                                      []uint32  // calls that are not repeated ones, by parts
	visits                                                     []float64 // of each service by one call
}

// user is who makes calls one after another: a user of a closed client, or a call of
// an open one that is repeated when it fails.
type user struct {
	request
	client  *client
	repeats uint32
	closed  bool
	event   event
}

func newClient(sim *simulation, config *scenario.Client, index int) *client {
	c := &client{sim: sim, config: config}
	stream := func(what string) *random.Stream { return random.New(sim.seed, what+" of client "+config.Name) }
	c.arrivals, c.think, c.keys = stream("arrivals"), stream("think"), stream("keys")
	c.attributes, c.costs, c.patience, c.pauses = stream("attributes"), stream("costs"), stream("patience"), stream("pauses")
	policy := config.Policy
	if sim.live != nil {
		policy = nil
	}
	c.process = newProcess(sim, config.Name, policy, func(j *job) { sim.services[config.To].arrive(j) })
	c.stats.latency = newHistogram()
	c.line = &sim.timeline.Clients[index]
	c.line.Services = reach(sim.scenario, nil, config.To)
	c.first = make([]uint32, sim.timeline.Parts)
	c.visits = sim.visits(config.To)
	c.process.changes = &c.line.Changes
	if policy != nil {
		c.process.gaugeSteps(&c.line.Steps)
	}
	for i := range config.Jumps {
		e := &event{client: c, index: i, fire: func(e *event) { e.client.process.jump(e.client.config.Jumps[e.index].By) }}
		sim.at(e, clock.Mark(config.Jumps[i].At), control)
	}
	if config.Arrivals.Users > 0 {
		for range config.Arrivals.Users {
			u := &user{client: c, closed: true}
			u.event = event{user: u, fire: func(e *event) { e.user.call() }}
			u.rest()
		}
		return c
	}
	c.arrival = event{client: c, fire: func(e *event) { e.client.arrive() }}
	c.enter(0, 0)
	return c
}

// reach appends a service and those that it calls, each once.
func reach(s *scenario.Scenario, found []int, service int) []int {
	if slices.Contains(found, service) {
		return found
	}
	found = append(found, service)
	for i := range s.Services[service].Calls {
		found = reach(s, found, s.Services[service].Calls[i].To)
	}
	return found
}

// jump lets the clock of a process leap.
func (p *process) jump(by time.Duration) {
	p.ahead += clock.Mark(by)
	if p.driver != nil {
		p.due()
	}
}

// enter begins a phase at a mark.
func (c *client) enter(phase int, at clock.Mark) {
	for ; phase < len(c.config.Arrivals.Phases); phase++ {
		c.phase, c.began, c.number = phase, at, 0
		p := &c.config.Arrivals.Phases[phase]
		if c.next(p, at) {
			return
		}
		at = at.Add(p.For)
	}
}

// next plans the next arrival of a phase after a mark. It returns false where there is
// none.
func (c *client) next(p *scenario.Phase, after clock.Mark) bool {
	at := clock.Never
	switch p.Kind {
	case scenario.Poisson:
		if p.Count > 0 {
			gap := c.arrivals.Exponential() * float64(p.Period) / float64(p.Count)
			at = after.Add(durationOf(gap))
		}
	case scenario.Constant:
		if p.Count > 0 {
			at = c.began.Add(multiple(c.number, p.Count, p.Period))
		}
	case scenario.Ramp:
		at = c.ramp(p, after)
	case scenario.Gaps:
		at = after.Add(durationOf(p.Gap.Draw(c.arrivals)))
	case scenario.Bursts:
		if at = after; c.number > 0 && c.number%int64(p.Size) == 0 {
			at = after.Add(durationOf(p.Gap.Draw(c.arrivals)))
		}
	}
	c.number++
	if at >= c.began.Add(p.For) || at >= c.sim.end {
		return false
	}
	c.sim.at(&c.arrival, at, arrivals)
	return true
}

// ramp returns the next arrival of a rate that changes linearly: the sum of the rate
// from after to there is exponential.
func (c *client) ramp(p *scenario.Phase, after clock.Mark) clock.Mark {
	from := float64(p.Count) / float64(p.Period)
	to := float64(p.ToCount) / float64(p.ToPeriod)
	slope := (to - from) / float64(p.For)
	now := float64(after - c.began)
	rate := from + float64(slope*now)
	sum := c.arrivals.Exponential()
	// sum = rate x + slope x^2 / 2 for the time x until the arrival, in the form that
	// is exact for a slope of 0, too.
	root := float64(rate*rate) + float64(2*slope*sum)
	if root < 0 || root == 0 && rate <= 0 {
		return clock.Never
	}
	below := rate + random.Root(root)
	if below <= 0 {
		return clock.Never
	}
	return after.Add(durationOf(2 * sum / below))
}

// arrive makes the call of an arrival.
func (c *client) arrive() {
	p := &c.config.Arrivals.Phases[c.phase]
	if !c.next(p, c.sim.now) {
		c.enter(c.phase+1, c.began.Add(p.For))
	}
	request := c.draw()
	if c.config.Repeats == 0 {
		c.call(&request, nil)
		return
	}
	u := &user{client: c, request: request}
	u.event = event{user: u, fire: func(e *event) { e.user.call() }}
	c.call(&request, u)
}

// draw draws what a call says of itself.
func (c *client) draw() request {
	r := request{from: c, key: -1, cost: 1}
	if c.config.Key.Count > 0 {
		r.key = c.config.Key.Draw(c.keys)
	}
	for i := range c.config.Attributes {
		r.attributes[i] = int32(c.config.Attributes[i].Values.Draw(c.attributes))
	}
	r.cost = uint32(min(c.config.Cost.Whole(c.costs), 1<<31-1))
	return r
}

// rest is the time of a closed user between two calls.
func (u *user) rest() {
	u.client.sim.at(&u.event, u.client.sim.now.Add(durationOf(u.client.config.Arrivals.Think.Draw(u.client.think))), arrivals)
}

// call makes the next call of a user: a new one, or the last one again.
func (u *user) call() {
	if u.repeats == 0 && u.closed {
		u.request = u.client.draw()
	}
	u.client.call(&u.request, u)
}

// call starts a call.
func (c *client) call(r *request, u *user) {
	one := c.sim.calls.take()
	one.request, one.client, one.user = *r, c, u
	one.request.number = c.process.number + 1
	one.until = clock.Never
	if c.config.Deadline >= 0 {
		one.until = c.sim.now.Add(c.config.Deadline)
	}
	one.counted = c.sim.counts()
	c.called(one)
	c.observed(EventCall, one, nil)
	if c.config.Patience.Kind != scenario.None {
		one.patient = event{call: one, fire: func(e *event) { e.call.process.cancel(e.call) }}
		c.sim.at(&one.patient, c.sim.now.Add(durationOf(c.config.Patience.Draw(c.patience))), cancels)
	}
	if c.sim.live != nil {
		one.process, one.began = c.process, c.sim.now
		c.sim.live.called(one)
		return
	}
	c.process.start(one)
}

// attempted counts an attempt of a call.
func (c *client) attempted(one *call) {
	if one.counted {
		c.stats.attempts++
	}
	c.line.Attempts[c.sim.part]++
}

// ended counts the end of a call and plans the next one of its user.
func (c *client) ended(one *call, e *end) {
	c.count(one, e)
	c.observed(EventEnd, one, e)
	u := one.user
	if u == nil {
		return
	}
	if (e.refused || e.outcome != reducer.OK) && u.repeats < c.config.Repeats {
		u.repeats++
		c.sim.at(&u.event, c.sim.now.Add(durationOf(c.config.Pause.Draw(c.pauses))), arrivals)
		return
	}
	if u.repeats = 0; u.closed {
		u.rest()
	}
}

// keyText returns the text of a key.
func (c *client) keyText(i int) string {
	if c.names == nil {
		c.names = make([]string, c.config.Key.Count)
	}
	if c.names[i] == "" {
		c.names[i] = c.config.Key.Value(i)
	}
	return c.names[i]
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
