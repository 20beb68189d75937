package retry

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable retry.
type Machine struct {
	attempts   uint32
	maxElapsed time.Duration
	refusals   Refusals
	backoff    *backoff.Machine
	budget     *budget.Machine
}

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	c.check(&e)
	delay, err := backoff.New(c.Backoff)
	e.Add(err)
	m := &Machine{attempts: c.Attempts, maxElapsed: c.MaxElapsed, refusals: c.Refusals, backoff: delay}
	if c.Budgeted {
		m.budget, err = budget.New(c.Budget)
		e.Add(err)
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// Budget returns the budget, nil for none.
func (m *Machine) Budget() *budget.Machine { return m.budget }

// Bounded reports whether the time from End.Began on is bounded.
func (m *Machine) Bounded() bool { return m.maxElapsed > 0 }

// Waits reports whether the retry waits where a step below it refuses for a time.
func (m *Machine) Waits() bool { return m.refusals == WaitRefused }

// Random reports whether a delay depends on the seed of the call.
func (m *Machine) Random() bool { return m.backoff.Random() }

// State is what a call keeps between its attempts: 16 bytes, comparable.
type State struct {
	// Before is the last delay of the backoff, without the answer's retry-after.
	Before time.Duration
	// Attempt is how many attempts have started.
	Attempt uint32
}

// End is how an attempt ended.
type End struct {
	Outcome reducer.Outcome
	// Told says that the answer had a RetryAfter; a negative one asks for no retry.
	Told       bool
	RetryAfter time.Duration
	// Deadline of the timeouts above, clock.Never for none.
	Deadline clock.Mark
	// Began is when the call reached the retry. A machine without a MaxElapsed does
	// not use it.
	Began clock.Mark
	// Seed of the call; attempt k draws from backoff.Word(Seed + k).
	Seed uint64
}

// Verdict says whether another attempt follows.
type Verdict struct {
	Again bool
	// Reason why not, none where the outcome itself ends the call.
	Reason reducer.Reason
	// Until is the mark at which the next attempt starts.
	Until clock.Mark
}

// Retries reports whether an outcome is worth another attempt.
func Retries(o reducer.Outcome) bool {
	return o == reducer.Fail || o == reducer.Throttle || o == reducer.Timeout
}

// Next decides after an attempt, in the order attempts, pushback, deadline, elapsed.
// Whether a breaker is open and whether the budget grants it is asked of their
// cells afterwards.
func (m *Machine) Next(s State, e End, now clock.Mark) (State, Verdict) {
	switch {
	case !Retries(e.Outcome):
		return s, Verdict{}
	case s.Attempt >= m.attempts:
		return s, Verdict{Reason: reducer.ReasonAttempts}
	case e.Told && e.RetryAfter < 0:
		return s, Verdict{Reason: reducer.ReasonPushback}
	}
	word := uint64(0)
	if m.backoff.Random() {
		word = backoff.Word(e.Seed + uint64(s.Attempt))
	}
	delay := m.backoff.Delay(s.Attempt, s.Before, word)
	s.Before = delay
	if e.Told {
		delay = max(delay, e.RetryAfter)
	}
	until := now.Add(delay)
	if late := m.Late(until, e.Deadline, e.Began); late != reducer.NoReason {
		return s, Verdict{Reason: late}
	}
	return s, Verdict{Again: true, Until: until}
}

// Late returns why no attempt starts at a mark: it is not before the deadline of the
// timeouts above, or too long after the call reached the retry. NoReason for a mark at which
// one may.
func (m *Machine) Late(at, deadline, began clock.Mark) reducer.Reason {
	switch {
	case at >= deadline || at == clock.Never:
		return reducer.ReasonDeadline
	case m.maxElapsed > 0 && at >= began.Add(m.maxElapsed):
		return reducer.ReasonElapsed
	}
	return reducer.NoReason
}
