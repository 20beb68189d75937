package engine

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// EventKind says what happened.
type EventKind uint8

// The events of a run.
const (
	// EventCall: a client makes a call.
	EventCall EventKind = iota + 1
	// EventDecision: the policy of a client, of a service or of its calls to another
	// service has decided.
	EventDecision
	// EventArrival: a request arrives at a service.
	EventArrival
	// EventStart: a server begins the work for a request.
	EventStart
	// EventDrop: a service has no place for a request.
	EventDrop
	// EventAnswer: a service answers a request.
	EventAnswer
	// EventEnd: a call of a client is over.
	EventEnd
	// EventFault: a fault begins, and EventRepair: it ends. One without a duration does
	// not end.
	EventFault
	EventRepair
)

// Event is something that happened in a run. Fields that a kind does not have are
// zero.
type Event struct {
	At   clock.Mark
	Kind EventKind
	// Client is the name of the client whose call it concerns, Number the number of
	// the call in the order of the client, from 1.
	Client string
	Number uint64
	// Service is the name of the service of an arrival, a start, a drop, an answer or
	// a fault.
	Service string
	// Attempt of the call, or of the call of one service to another, from 1.
	Attempt uint32
	// Process names what decided: a client, a service, or a service and the one that
	// it calls, as in "shop to stock".
	Process string
	// Decision is what it decided. It is valid during the call of the observer.
	Decision *decision.Decision
	// Outcome of an answer and of an end that is not refused.
	Outcome reducer.Outcome
	// Refused says that a step refused a call that ended, Step and Reason which one
	// and why.
	Refused bool
	Step    string
	Reason  reducer.Reason
	// Wasted says that the caller of an answer had given up.
	Wasted bool
	// Began is when a call that ended arrived.
	Began clock.Mark
	// Fault is its number in the service's list, from 0.
	Fault int
}

// about returns an event of a request.
func (s *simulation) about(kind EventKind, r *request) Event {
	return Event{At: s.now, Kind: kind, Client: r.from.config.Name, Number: r.number}
}

// The three methods observed are small enough to be inlined, so that a run without an
// observer pays for a comparison.

// observed reports something about a request at a service to the observer.
func (s *service) observed(kind EventKind, j *job) {
	if s.sim.observe != nil {
		s.report(kind, j)
	}
}

// observed reports the begin or the end of a call to the observer.
func (c *client) observed(kind EventKind, one *call, e *end) {
	if c.sim.observe != nil {
		c.report(kind, one, e)
	}
}

// observed reports a decision to the observer. The call is nil where it concerns none.
func (p *process) observed(c *call, d *decision.Decision) {
	if p.sim.observe != nil {
		p.report(c, d)
	}
}

// report leaves out the attempts that the policy of a service makes: they do not
// arrive, and the answer of the service is another one.
func (s *service) report(kind EventKind, j *job) {
	if inner := j.call != nil && j.call.waiting != nil; inner && (kind == EventArrival || kind == EventAnswer) {
		return
	}
	e := s.sim.about(kind, &j.request)
	e.Service, e.Attempt = s.config.Name, j.attempt
	if kind == EventAnswer {
		e.Outcome, e.Wasted = j.outcome, j.call == nil
	}
	s.sim.observe(&e)
}

func (c *client) report(kind EventKind, one *call, e *end) {
	event := c.sim.about(kind, &one.request)
	if e != nil {
		event.Began, event.Attempt = one.began, one.attempts
		event.Outcome, event.Refused, event.Step, event.Reason = e.outcome, e.refused, e.step, e.reason
	}
	c.sim.observe(&event)
}

func (p *process) report(c *call, d *decision.Decision) {
	e := Event{At: p.sim.now, Kind: EventDecision}
	if c != nil {
		e = p.sim.about(EventDecision, &c.request)
	}
	e.Process, e.Decision = p.name, d
	p.sim.observe(&e)
}

// observedFault reports a fault to the observer.
func (s *service) observedFault(kind EventKind, fault int) {
	if s.sim.observe != nil {
		s.sim.observe(&Event{At: s.sim.now, Kind: kind, Service: s.config.Name, Fault: fault})
	}
}
