package reducer

import (
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Cell is the contract of a machine whose state is shared: a limiter, a breaker, a bulkhead,
// a budget. A machine is immutable, and works in place on states that its holder owns and
// serialises. All cells take the same packed Action and return the same Answer, so that a
// pipeline, a store, a wasm call and a trace need no boxing.
//
// Values derives the form of values in, values out from it, which tests, explorations and
// examples use.
type Cell[S any] interface {
	// Begin makes a zero state the state of a cell that begins at now.
	Begin(s *S, now clock.Mark)
	// Step applies an action to a state and returns the answer to its caller. It appends to out
	// what the step does to other callers. A mark before the last one counts as the last one.
	// The answer says whether the state changed; if not, its bytes stay the same.
	Step(s *S, action Action, now clock.Mark, out *Out) Answer
	// Due returns when time alone will change something. Its holder asks after each step that
	// changed the state.
	Due(s *S) Due
	// Held reports whether a caller waits at the cell, holds a place or has a pending probe:
	// then its holder must not evict the state.
	Held(s *S) bool
	// Class returns what is lost when a state that is not held is evicted, and the mark from which
	// on time alone gives it another class, clock.Never for none. A state is Unused only if it
	// decides as a new one would.
	Class(s *S, now clock.Mark) (Class, clock.Mark)
	// Inherit puts a state that from made under the configuration of this machine, as the
	// configure rules of the mechanism say. It appends to out what was due until now under the
	// old configuration and what the change does to waiters. From a machine of another
	// mechanism, the state begins anew.
	Inherit(s *S, from Cell[S], now clock.Mark, out *Out)
	// Recall removes the waiters and ends the permits of a state whose process has ended. The
	// numbers of permits and tickets continue, so that those of the old process are stale.
	Recall(s *S)
	// Move moves a state along the line of marks, as if everything had happened that much later.
	Move(s *S, by time.Duration)
	// Clone makes dst a copy of src that shares no memory with it.
	Clone(dst, src *S)
	// Check returns an error that names the invariant that a state breaks. It changes nothing.
	Check(s *S) error
	// Encode appends the stable binary form of a state: a version byte, the mechanism, a digest
	// of the settings that shape the bytes, then little-endian fields. Equal states have equal
	// bytes on every platform.
	Encode(dst []byte, s *S) []byte
	// Decode reads what Encode wrote into a zero state. Any other bytes give an error that wraps
	// ErrEncoding, and those of another configuration one that wraps ErrConfiguration as well:
	// a machine of that configuration decodes them, and Inherit takes the state over. After an error the state is
	// undefined.
	Decode(src []byte, s *S) error
	// MaxSize returns the most bytes that Encode appends for a state without waiters. An
	// inherited state may exceed it while it has more than this configuration allows.
	MaxSize() int
	// AppendText appends the one-line form of a state at now, for people.
	AppendText(dst []byte, s *S, now clock.Mark) []byte
}

// Due says when time alone will change a state, clock.Never for what never comes.
type Due struct {
	// Wake is the earliest mark at which a Tick or a Serve would change something.
	Wake clock.Mark
	// Ends is the mark of the next Tick that concerns an attempt: a lease runs out, probes no
	// longer count. Waits in a queue are ended by Expire, in the order of their calls.
	Ends clock.Mark
	// Serves is the mark of the next Serve that grants something, and Caller the caller that it
	// grants it to.
	Serves clock.Mark
	Caller uint64
}

// NothingDue is the Due of a state that time alone does not change.
func NothingDue() Due { return Due{Wake: clock.Never, Ends: clock.Never, Serves: clock.Never} }
