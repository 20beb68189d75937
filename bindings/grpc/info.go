package sluicegrpc

import (
	"google.golang.org/grpc"

	"github.com/sluice-go/sluice/reducer"
)

// Details are what the interceptors of a client did for a call.
type Details struct {
	// Policy that guarded the call; empty for a call that passed untouched.
	Policy string
	// Attempts that were made; 0 for a refusal before the first.
	Attempts int
	// NoRetry is why the call was not to be repeated, whatever became of it. Empty when it
	// could have been, and where the policy has no retry step.
	NoRetry string
	// NoHedge is why no attempt was to run beside another, likewise.
	NoHedge string
	// GaveUp is why a failed attempt was not followed by another: attempts, pushback,
	// deadline, open or budget. None otherwise.
	GaveUp reducer.Reason
}

// Info returns an option of a call with which the interceptors of the client write into d
// what they did: of a unary call when it has returned, of a stream when it has begun or was
// refused. d must not be shared by calls that run at once.
func Info(d *Details) grpc.CallOption { return infoOption{details: d} }

type infoOption struct {
	grpc.EmptyCallOption
	details *Details
}

// tell writes what was done into the options that ask for it.
func (d Details) tell(options []grpc.CallOption) {
	for _, o := range options {
		if info, ok := o.(infoOption); ok {
			*info.details = d
		}
	}
}
