package reducer

import "github.com/sluice-go/sluice/clock"

// Kind says what happened.
type Kind uint8

// The kinds of actions. A cell answers Stale to a kind that it does not know.
const (
	// Acquire asks for a permit of the cost. ID names the caller in effects
	// that concern it later, while it waits in a queue.
	Acquire Kind = iota + 1
	// TryAcquire is Acquire by a caller that does not wait.
	TryAcquire
	// Peek answers as TryAcquire would and changes nothing.
	Peek
	// Reserve takes permits now for use at the mark of the answer. Mark is the
	// latest acceptable one.
	Reserve
	// Commit says that a permit is used: its holder does not cancel it. No driver sends it yet; it is
	// reserved for queues that hold a permit for a caller until it confirms. Every machine answers
	// Done and changes nothing.
	Commit
	// Cancel returns a permit as if it had not been used: a breaker counts no
	// outcome, a limiter refunds, a bulkhead frees the place.
	Cancel
	// Release ends the use of a permit that ran.
	Release
	// Record ends an attempt with the outcome. Mark is when the attempt began, Value the
	// retry-after of the answer in nanoseconds, 0 for none.
	Record
	// Leave cancels a wait. ID is the ticket of the Wait answer.
	Leave
	// Expire ends a wait whose time is over, and is answered Wait when it is
	// not, or when the turn has come.
	Expire
	// Renew extends the lease of a permit.
	Renew
	// Tick lets time pass: leases lapse, a breaker changes its state. It never
	// grants anything.
	Tick
	// Serve grants the head of the queue when its turn has come. A step serves one
	// waiter, so that this waiter acts before the next one is served.
	Serve
	// Drain discards the free permits: the dependency asked for a pause.
	Drain
	// Transition moves a breaker by hand. Cost is the state to go to.
	Transition
	// Reset returns the cell to its initial state. Permits from before it are stale.
	Reset
	// Settle reports what a permit of Cost really used: Value permits. A limiter
	// takes or returns the difference.
	Settle
	// Observe reports a sample: Value, in the unit of the mechanism (nanoseconds
	// of latency, a load in parts per million). Permit names the attempt that it
	// was measured on, if there is one.
	Observe
	// Configure applies a new configuration to a state that Inherit has taken over. No driver sends
	// it: Inherit does all that a change of settings does today, and machines answer Done or Stale.
	Configure
)

// Outcome is how an attempt or a call ended.
type Outcome uint8

// The outcomes.
const (
	OK Outcome = iota + 1
	// Fail is retried, and breakers count it.
	Fail
	// Throttle says that the dependency refused by a limit of its own: retried, not counted.
	Throttle
	// Ignore is neither success nor failure: not retried, not counted.
	Ignore
	// Timeout is a failure by a timeout step.
	Timeout
	// Cancelled says that the caller cancelled: not retried, not counted.
	Cancelled
)

// MaxPriority is the highest priority of an Acquire; 0 is the lowest.
const MaxPriority = 10

// Flags of an Acquire: its Mark is a deadline; it begins no block.
const (
	hasDeadline = 1 << iota
	noBlock
)

// Action is what happened, packed into five words.
type Action struct {
	Kind    Kind
	Outcome Outcome
	// Priority of an Acquire, 0 (lowest) to MaxPriority. No driver sets it yet; it is reserved for
	// queues that serve by priority. Every machine ignores it, and traces and bytes keep it.
	Priority uint8
	flags    uint8
	Cost     uint32 // permits asked for or held
	Permit          // the permit or the ticket that the action is about
	Value    uint64 // Settle: permits used; Observe: the sample; Record: the retry-after
}

// WithDeadline returns an Acquire whose permit the caller cannot use at the mark and
// after it: a cell that knows the turn of the caller refuses at once, with
// ReasonDeadline, when the turn comes too late.
func (a Action) WithDeadline(at clock.Mark) Action {
	a.flags |= hasDeadline
	a.Mark = at
	return a
}

// Deadline returns the deadline of an Acquire, clock.Never without one.
func (a *Action) Deadline() clock.Mark {
	if a.flags&hasDeadline == 0 {
		return clock.Never
	}
	return a.Mark
}

// Returning returns a Release that gives back what an Admit of a budget took.
func (a Action) Returning(amount uint64) Action {
	a.ID = amount
	return a
}

// Returns returns how much of a budget a Release gives back.
func (a *Action) Returns() uint64 { return a.ID }

// WithoutBlock returns an Acquire that begins no block where it is refused: as many keys
// as may be have one.
func (a Action) WithoutBlock() Action {
	a.flags |= noBlock
	return a
}

// Blocks reports whether an Acquire may begin a block.
func (a *Action) Blocks() bool { return a.flags&noBlock == 0 }

// WithFlow returns an Acquire of a flow, the key of fairness among waiters. No driver calls it
// yet; it is reserved for fair queues. Every machine ignores the flow.
func (a Action) WithFlow(flow uint64) Action {
	a.Generation = flow
	return a
}

// Flow returns the flow of an Acquire, 0 without one.
func (a *Action) Flow() uint64 { return a.Generation }

// Caller returns who an Acquire is for, as effects name it.
func (a *Action) Caller() uint64 { return a.ID }

// Permit is what a cell granted, in three words. Only the granting cell interprets
// the words. The zero value is no permit. The words of answers and of actions that are about no
// permit have other meanings, which Answer and Action give by their methods and nothing reads otherwise:
//
//	Answer to Reject           Mark        RetryAt
//	Answer to Wait             Mark        Until, the turn
//	                           ID          the ticket, which Leave and Expire name
//	                           Generation  WaitEnds
//	Answer to Settle           ID          Dropped
//	Admit of a budget          ID          Took
//	Admit of a hedge to Peek   Mark        Delay
//	Acquire                    ID          Caller
//	                           Mark        Deadline
//	                           Generation  Flow
//	Release at a budget        ID          Returns
//	Record                     Mark        when the attempt began
type Permit struct {
	// Generation distinguishes permits of one period in a state from those of another.
	Generation uint64
	// ID names the place or the waiter within the generation.
	ID uint64
	// Mark is when the permit was granted; in Record when the attempt began.
	Mark clock.Mark
}
