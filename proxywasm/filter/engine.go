package filter

import (
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// engine takes the requests of a policy through its steps.
type engine interface {
	// begin asks for the admission of a request.
	begin(s *stream, q *request) verdict
	// vote tells the breakers how the request ended, before the answer has ended. after is
	// the retry-after of the answer, 0 for none.
	vote(s *stream, o reducer.Outcome, after time.Duration)
	// end ends a request that passed, or cancels one that waits.
	end(s *stream, o reducer.Outcome)
	// tick lets time pass. It calls decided with the context of each stream that waits no longer.
	tick(decided func(id uint32, v verdict))
	// waiting returns how many requests wait.
	waiting() int
	// every returns how often tick has to be called for the leases that the engine holds.
	every() time.Duration
	// room says what is free in the cell of a limit that a request belongs to.
	room(s *stream, step int) room
	// state returns the state of the cell of a step that a request belongs to, in a line
	// for people.
	state(s *stream, step int) string
	// count adds what the cells have counted to the metrics.
	count(m *metrics)
}

// room is what is free in the cell of a limit.
type room struct {
	free uint32
	// next is the time until one permit is free, full the time until all are.
	next, full time.Duration
}

// what an engine decided about a request.
type what uint8

const (
	waits what = iota
	passes
	refused
)

// verdict is the decision about a request.
type verdict struct {
	what   what
	step   int
	reason reducer.Reason
	after  time.Duration // of a refusal, negative for none
	// expired says that the refusal ended a wait.
	expired bool
}

// verdictOf returns what a decision means for a request, and false where it means
// nothing.
func verdictOf(d *decision.Decision) (v verdict, ok bool) {
	switch {
	case d.Shadow:
		return v, false
	case d.Kind == decision.Admit:
		return verdict{what: passes, reason: d.Reason}, true
	case d.Kind == decision.Reject:
		return verdict{what: refused, step: d.Index, reason: d.Reason, after: d.RetryAfter}, true
	case d.Kind == decision.Expire:
		return verdict{what: refused, step: d.Index, reason: d.Reason, after: -1, expired: true}, true
	}
	return v, false
}

// request is a request as the engines see it.
type request struct {
	attributes
	cost uint32
	find func(attribute string) string // lookup, made once
}

// steps calls f for each step of a mask.
func steps(mask uint16, f func(i int)) {
	for i := 0; mask != 0; i, mask = i+1, mask>>1 {
		if mask&1 != 0 {
			f(i)
		}
	}
}

// roomOf returns what a limit of a policy has, by two questions to its cell.
func roomOf(p *policy, step int, peek func(cost uint32) (reducer.Answer, time.Duration)) room {
	one, next := peek(1)
	_, full := peek(p.burst(step))
	return room{one.Free, next, full}
}
