package engine

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/scenario"
)

// Live is a run whose calls are made by code outside of it, which another clock
// drives: the scenario's clients say when calls arrive, and its services answer what
// the code requests. The policies of clients decide nothing; policies of services do.
//
// Live is not safe for concurrent use, and no function that it calls may call it.
type Live struct {
	sim   *simulation
	begin func(*LiveCall)
	// direct makes the calls that are requests from outside.
	direct *process
	// stranger is the client of requests that belong to no call.
	stranger *client
}

// LiveCall is a call of a client that code outside of the run makes.
type LiveCall struct {
	// Client that makes the call.
	Client *scenario.Client
	// Number of the call in the order of its client, from 1.
	Number uint64
	// Key of the call, empty for none, and Cost in permits.
	Key  string
	Cost uint32
	// Attributes in the order of the client's attributes.
	Attributes []string
	// GiveUp is called when the client loses its patience. The function that begins the
	// call sets it; nil for a call that always goes on.
	GiveUp func()
	call   *call // nil once it is over
	// impatient says that GiveUp was called.
	impatient bool
}

// LiveEnd is how a call from outside ended: with an outcome, or refused by a step.
type LiveEnd struct {
	Outcome reducer.Outcome
	Refused bool
	Step    string
	Reason  reducer.Reason
}

// LiveAnswer is the answer of a service.
type LiveAnswer struct {
	Outcome reducer.Outcome
	// RetryAfter is negative where the answer names none.
	RetryAfter time.Duration
}

// LiveRequest is a request of code outside of the run.
type LiveRequest struct{ call *call }

// NewLive returns a run at its begin. Begin is called when a client makes a call,
// which Live.End ends. Of the options, those for the log have no effect: nothing in the
// run decides for a client.
func NewLive(s *scenario.Scenario, o Options, begin func(*LiveCall)) *Live {
	l := &Live{begin: begin}
	sim := prepare(s, o, l)
	l.sim, l.direct = sim, &process{sim: sim}
	l.stranger = &client{sim: sim, config: &scenario.Client{}}
	return l
}

// Next returns the mark of the next event of the run, at most the mark of its end.
func (l *Live) Next() clock.Mark {
	if list := l.sim.queue.list; len(list) > 0 && list[0].at < l.sim.end {
		return list[0].at
	}
	return l.sim.end
}

// Step lets time pass until the next event and lets it happen. The error is a
// StillError, after which nothing else may be called.
func (l *Live) Step() error {
	if l.sim.still > maxStill {
		return &StillError{At: l.sim.now}
	}
	l.sim.step()
	return nil
}

// Advance lets time pass until a mark, at which what Live is called for next happens.
// It is at most Next.
func (l *Live) Advance(to clock.Mark) { l.sim.pass(to) }

// Finish ends the run at its end and returns its result. Nothing else may be called
// afterwards.
func (l *Live) Finish() *Result {
	l.sim.finish()
	return l.sim.result()
}

// called begins a call of a client.
func (l *Live) called(one *call) {
	p, c := one.process, one.client
	p.number++
	live := &LiveCall{Client: c.config, Number: one.request.number, Key: one.keyText(), Cost: one.cost, call: one}
	for i := range c.config.Attributes {
		live.Attributes = append(live.Attributes, c.config.Attributes[i].Values.Value(int(one.attributes[i])))
	}
	one.live = live
	l.begin(live)
}

// lostPatience is called when the client of a call loses its patience. The call ends
// when the code outside does.
func (c *LiveCall) lostPatience() {
	c.impatient = true
	if c.GiveUp != nil {
		c.GiveUp()
	}
}

// End ends a call. One that is over does not change.
func (l *Live) End(c *LiveCall, e LiveEnd) {
	one := c.call
	if one == nil {
		return
	}
	c.call = nil
	outcome := e.Outcome
	if c.impatient && !e.Refused && outcome != reducer.OK {
		outcome = reducer.Cancelled
	}
	index := -1
	if e.Refused {
		index = one.client.stepOf(e.Step)
	}
	l.direct.ended(one, end{outcome: outcome, refused: e.Refused, step: e.Step, index: index, reason: e.Reason, retryAfter: -1})
}

// stepOf returns the index under which refusals by a step are counted: refusals of code
// outside of the run may have any name. The last index takes those beyond the maximum.
func (c *client) stepOf(name string) int {
	steps := &c.stats.steps
	for i := 1; i < len(steps); i++ {
		if steps[i] == name || steps[i] == "" {
			return i - 1
		}
	}
	return len(steps) - 2
}

// Request makes a request at a service, by its index: an attempt of a call, or one of
// no known call, nil. Answered is called with the answer, once, unless the request is
// given up.
func (l *Live) Request(service int, of *LiveCall, answered func(LiveAnswer)) *LiveRequest {
	one := l.sim.calls.take()
	one.process, one.began = l.direct, l.sim.now
	one.request = request{from: l.stranger, key: -1, cost: 1, until: clock.Never}
	attempt := uint32(1)
	switch {
	case of != nil && of.call != nil:
		one.request = of.call.request
		if of.call.client.config.To == service {
			of.call.attempts++
			attempt = of.call.attempts
			of.call.client.attempted(of.call)
		}
	case of == nil:
		l.attributed(service)
	}
	r := &LiveRequest{call: one}
	one.outside = func(e end) {
		r.call = nil
		if answered != nil && e.outcome != reducer.Cancelled {
			answered(LiveAnswer{Outcome: e.outcome, RetryAfter: time.Duration(e.retryAfter)})
		}
	}
	j := l.sim.jobs.take()
	*j = job{call: one, request: one.request, attempt: attempt, calls: j.calls[:0]}
	one.jobs = append(one.jobs, j)
	l.sim.services[service].arrive(j)
	return r
}

// attributed counts a request of no known call as an attempt of the only client that
// calls the service, if there is one.
func (l *Live) attributed(service int) {
	var only *client
	for _, c := range l.sim.clients {
		if c.config.To == service {
			if only != nil {
				return
			}
			only = c
		}
	}
	if only != nil {
		only.attempted(&call{counted: l.sim.counts()})
	}
}

// GiveUp says that the caller of a request does not wait for its answer any more.
// After the answer it changes nothing.
func (l *Live) GiveUp(r *LiveRequest) {
	if r.call != nil {
		l.direct.ended(r.call, end{outcome: reducer.Cancelled, index: -1, retryAfter: -1})
	}
}

// Changed notes that a breaker of a client, by its index, is in another state.
func (l *Live) Changed(client int, step string, mode breaker.Mode) {
	p := l.sim.clients[client].process
	d := decision.Decision{At: l.sim.now, Kind: decision.Change, Step: step, Mode: uint8(mode), Index: -1}
	p.changed(&d)
	p.observed(nil, &d)
}
