package decision

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Kind names a decision, with the words of the decision log. The zero value is no
// decision. The numbers are part of the ABI of the wasm modules.
type Kind uint8

// The decisions.
const (
	// Admit: an attempt starts.
	Admit Kind = iota + 1
	// Wait: the attempt is in the queue of a step.
	Wait
	// Reject: a step refuses; the call is over.
	Reject
	// Expire: the attempt left the queue of a step without a permit; the call is
	// over.
	Expire
	// Timeout: a timeout step cut the call or its attempt.
	Timeout
	// Lapse: a lease ran out.
	Lapse
	// Retry: the attempt is over, another one follows.
	Retry
	// End: the call is over.
	End
	// Configured: another policy is active.
	Configured
	// Hedge: another attempt of the round starts.
	Hedge
	// Failed: an attempt of a hedged round failed while another one is active.
	Failed
	// Cancel: an attempt of a hedged round lost to another one.
	Cancel
	// Drop: an attempt of a hedged round was refused, or expired, while another one
	// is active.
	Drop
	// Change: a breaker changed its state.
	Change
	// Full: a step has its maximum number of keys. From now on a new key takes the
	// cell of another one, or shares one.
	Full
	// Inject: a chaos step injects latency or a result into an attempt.
	Inject
	// Start: the injected latency of an attempt is over and the dependency is called.
	Start
	// Clamped: the end of a call took less permits of a limit than the call used.
	Clamped

	// The kinds from here on are events of runners that the decision log does not have.

	// Granted: the wait of an attempt ended with a permit.
	Granted
	// Slow: a breaker counted an attempt as slow.
	Slow
	// Drained: the free permits of a limit were discarded.
	Drained
	// Evicted: a key lost its cell to another key.
	Evicted
	// Manual: an operator changed a step or a key by hand. Only a host emits it.
	Manual

	// The kinds from here on are events of a set of policies. Only hosts that have one
	// emit them.

	// Added: a policy came to the set.
	Added
	// Replaced: a policy of the set changed.
	Replaced
	// Removed: a policy left the set.
	Removed
	kindCount
)

var kindNames = [kindCount]string{
	"", "admit", "wait", "reject", "expire", "timeout", "lapse", "retry", "end", "configured",
	"hedge", "failed", "cancel", "drop", "change", "full", "inject", "start", "clamped",
	"granted", "slow", "drained", "evicted", "manual", "added", "replaced", "removed",
}

// Logged reports whether the decision log has decisions of the kind.
func (k Kind) Logged() bool { return k > 0 && k < Granted }

// String returns the word of the decision log, "unknown" for no decision.
func (k Kind) String() string {
	if k > 0 && k < kindCount {
		return kindNames[k]
	}
	return "unknown"
}

// Handle names a call of a driver: a slot and the generation of its use. The zero
// value names none.
type Handle struct {
	slot       uint32
	generation uint32
}

// HandleOf returns the handle of a slot and a generation, whether or not there
// is such a call.
func HandleOf(slot, generation uint32) Handle { return Handle{slot, generation} }

// Slot returns a small number that no other live call of the driver has.
func (h Handle) Slot() uint32 { return h.slot }

// Generation separates the uses of a slot. It is never 0 for a call.
func (h Handle) Generation() uint32 { return h.generation }

// Decision is a line of the decision log. Fields that a kind does not have are
// zero.
type Decision struct {
	At       clock.Mark
	Call     Handle // of no call for Configured and Change
	Kind     Kind
	Shadow   bool // of a step in shadow
	Fallback bool // a terminal refusal or failure under a policy with a fallback
	Last     bool // the call is over
	// Held says of an Admit that the attempt does not call the dependency yet: a Start
	// or an Inject with an Outcome follows, unless the attempt ends before.
	Held    bool
	Outcome reducer.Outcome
	Reason  reducer.Reason
	Mode    uint8 // of a Change: the new breaker.Mode
	// Policy of a Change and of Configured: the number of the driver in its loop.
	Policy  uint16
	Attempt uint32
	// Won is the attempt whose outcome an End has, 0 where the policy has no
	// hedge or no attempt won.
	Won   uint32
	Step  string
	Index int // of the step in the call's plan; -1 for none and for the call's deadline
	// Until is the turn of a Wait, where it is known, the start of the next attempt,
	// or the end of injected latency; clock.Never where there is none.
	Until clock.Mark
	// RetryAfter of a Reject, or of an injected Throttle; negative where there is
	// none.
	RetryAfter time.Duration
	// Dropped of a Clamped are the permits that were used and not taken.
	Dropped uint64
	// State of the deciding cell in a line for people, where the driver is asked
	// for it.
	State string
}
