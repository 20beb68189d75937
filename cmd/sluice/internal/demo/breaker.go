package demo

import "time"

// The states of a breaker that a policy can bring about.
const (
	closed   = "closed"
	halfOpen = "half-open"
	open     = "open"
)

// Span is a stretch of time in which the breaker was in one state.
type Span struct {
	From, To time.Duration
	State    string
}

// spans cuts the time from 0 to end by the state of the breaker. Of several
// breakers the one that lets least through counts.
func spans(changes []Change, end time.Duration) []Span {
	all := []Span{{State: closed}}
	states := map[string]string{}
	for _, c := range changes {
		if c.At >= end {
			break
		}
		states[c.Breaker] = c.State
		last := &all[len(all)-1]
		if state := strictest(states); state != last.State {
			last.To = c.At
			all = append(all, Span{From: c.At, State: state})
		}
	}
	all[len(all)-1].To = end
	return all
}

// strictest returns the state of the breaker that lets least through.
func strictest(states map[string]string) string {
	worst := closed
	for _, state := range states {
		switch {
		case state == open:
			return open
		case state == halfOpen:
			worst = halfOpen
		}
	}
	return worst
}

// breakerAt returns the state of the breaker at a time.
func breakerAt(changes []Change, at time.Duration) string {
	all := spans(changes, at+1)
	return all[len(all)-1].State
}
