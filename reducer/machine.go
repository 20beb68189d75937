package reducer

import "github.com/sluice-go/sluice/clock"

// Machine is the form of values: what package explore takes every path of. S is a state, A an
// action, E the effects of a step. Values makes a Machine of a Cell.
type Machine[S, A, E any] interface {
	// Init returns the state of a mechanism that begins at now.
	Init(now clock.Mark) S
	// Reduce returns the state after the action and what has to be done.
	Reduce(state S, action A, now clock.Mark) (S, E)
	// NextWake returns the earliest mark at which a Tick or a Serve would
	// change something, and false when there is none.
	NextWake(state S) (at clock.Mark, ok bool)
}
