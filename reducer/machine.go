package reducer

import (
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Machine is the contract. S is a state, A an action, E the effects of a step.
type Machine[S, A, E any] interface {
	// Init returns the state of a mechanism that begins at now.
	Init(now clock.Mark) S
	// Reduce returns the state after the action and what has to be done.
	Reduce(state S, action A, now clock.Mark) (S, E)
	// NextWake returns the earliest mark at which a Tick or a Serve would
	// change something, and false when there is none.
	NextWake(state S) (at clock.Mark, ok bool)
}

// Cell is a machine with shared state: a limiter, a breaker, a bulkhead, a
// budget. All cells speak the same packed Action and Answer, so that a pipeline,
// a store, a wasm call and a trace need no boxing.
type Cell[S any] interface {
	Machine[S, Action, Effects]
	// Step is Reduce in place, for a driver that owns the state. What the step
	// does to others than its caller is appended to out.
	Step(state *S, action Action, now clock.Mark, out *Out) Answer
	// Adopt converts a state that from made, a machine of another configuration of
	// the mechanism, as the configure rules of the mechanism say. It returns a new
	// state where from is of another mechanism. It appends to out what was due until
	// now under the old configuration and what the change does to waiters. The given
	// state must not be used afterwards. Bytes of another configuration are decoded
	// by a machine of that configuration and then adopted; a trace shows that as
	// the action Configure.
	Adopt(state S, from Cell[S], now clock.Mark, out *Out) S
	// Clone returns a state that shares no memory with the given one.
	Clone(state S) S
	// Shift returns the state moved along the line of marks, as if everything
	// had happened that much later.
	Shift(state S, by time.Duration) S
	// Fresh reports whether the state at now decides as Init(now) does, so that a
	// keyed runner may evict it without an effect on decisions.
	Fresh(state S, now clock.Mark) bool
	// Check returns an error that names the invariant that the state breaks.
	Check(state S) error
	// AppendState appends the stable binary form of the state: a version byte,
	// then little-endian fields.
	AppendState(dst []byte, state S) []byte
	// DecodeState reads what AppendState wrote. Any other bytes give an error.
	DecodeState(src []byte) (S, error)
	// AppendText appends the one-line form of the state at now, for people.
	AppendText(dst []byte, state S, now clock.Mark) []byte
}
