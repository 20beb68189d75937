package drive

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Kind is what was decided, in the words of the decision log.
type Kind uint8

// The decisions.
const (
	Admit Kind = iota
	Wait
	Reject
	Expire
	Timeout
	Lapse
	Retry
	End
	Configured
)

var kindNames = [...]string{"admit", "wait", "reject", "expire", "timeout", "lapse", "retry", "end", "configured"}

// String returns the word of the decision log.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Decision is a line of the decision log. Fields that a kind does not have are
// zero.
type Decision struct {
	At       clock.Mark
	Call     Handle // of no call for Configured
	Kind     Kind
	Shadow   bool // of a step that only watches
	Fallback bool // a terminal refusal or failure under a policy with a fallback
	Last     bool // the call is over
	Outcome  reducer.Outcome
	Reason   reducer.Reason
	Attempt  uint32
	Step     string
	Index    int // of the step in the call's plan; -1 for none and for the call's deadline
	// Until is the turn of a Wait, where it is known, or the start of the next
	// attempt; clock.Never where there is none.
	Until clock.Mark
	// RetryAfter of a Reject; negative where there is none.
	RetryAfter time.Duration
	// State of the deciding cell in a line for people, where Describe says it.
	State string
}
