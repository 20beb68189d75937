package api

import (
	"time"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/internal/durations"
)

// CellState is the state of one cell at one moment: of a mechanism alone, of a step that
// all calls share, or of one key of a step. Fields that the mechanism does not have are
// zero.
type CellState struct {
	// Mode of a breaker.
	Mode breaker.Mode
	// Since is how long a breaker has been in Mode; 0 where it has not changed since it
	// was made, and for the cell of a key.
	Since time.Duration
	// Left is how long an open breaker refuses yet; 0 in other modes.
	Left time.Duration
	// Counts of a breaker are the outcomes in its window, half-open the outcomes of its probes.
	Counts breaker.Counts
	// MeanTime is the mean duration of the calls that a breaker has counted and measured
	// since it was made. A Breaker alone measures where its configuration needs the time
	// or it has a listener, a step in every call; for the cell of a key it is 0.
	MeanTime time.Duration
	// Free is how many permits or places are free.
	Free uint32
	// InUse is how many places of a bulkhead or of an adaptive limit are held.
	InUse uint32
	// Places is how many places a bulkhead or an adaptive limit has now. After they were
	// lowered, more may be in use.
	Places uint32
	// Waiting is how many callers are in the queue.
	Waiting int
	// Text is the state in one line for people.
	Text string
}

// StepState is the state of a step at one moment, for people and gauges.
type StepState struct {
	Step string
	Kind mechanism.Kind
	// Keys is the number of cells; 0 for a step that has one for all.
	Keys int
	// Used is how many cells differ from a new one, including the one that new keys
	// share. InUse is how many cannot be evicted: a call waits there, holds a place or
	// runs a probe.
	Used  int
	InUse int
	// Evictions is how many keys lost their cell so far, Shared how many calls
	// used the cell that new keys share. Where one of them grows, the step's
	// maximum of keys is too low.
	Evictions, Shared uint64
	// Unblocked is how many refusals over the rate of a limit could begin no block so
	// far, because half of the keys have one.
	Unblocked uint64
	// Bytes is the memory of the cells of all keys, estimated.
	Bytes uint64
	// Waiting callers in the queues of the step.
	Waiting int
	// Waits is how many waits in these queues are over, however they ended, and Waited
	// how long all of them took.
	Waits  uint64
	Waited time.Duration
	// WaitTimes counts these waits by their length: the number at index i counts waits of at
	// most WaitBounds()[i] and more than the bound before it, the last one longer waits.
	WaitTimes [durations.Ranges]uint64
	// Mode of a breaker that all calls share; empty elsewhere.
	Mode string
	// Free permits or places of a cell that all calls share, and whether the
	// step has them.
	Free    uint32
	Counted bool
	// Text is the state of a cell that all calls share, in one line, with the time that
	// is left in place of marks.
	Text string
	// Cell is the state of a cell that all calls share; zero elsewhere, see
	// Pipeline.Keys.
	Cell CellState
}

// LimitState is a limit step as one request finds it.
type LimitState struct {
	// Step is the index in the plan.
	Step int
	// Free permits now.
	Free uint32
	// Next is the time until a permit is free; 0 when one is.
	Next time.Duration
	// Full is the time until all permits are; 0 when they are.
	Full time.Duration
}

// HandleState is the state of a step, or of a key of it, at one moment.
type HandleState struct {
	Step string
	// Key is the key as events have it; empty without one.
	Key  string
	Kind mechanism.Kind
	// Config is the active configuration of the step.
	Config mechanism.Config
	// CellState is the state of the cell.
	CellState
	// Own says that the key has a cell of its own. One that has none reads as a new one,
	// or as the cell that new keys share.
	Own bool
	// Next is after what time the next permit or place is free; 0 where one is, and where
	// it is not known.
	Next time.Duration
	// Blocked is how long the key is refused by Block, or the key or the step by the block
	// of a limit that it exceeded; 0 for not.
	Blocked time.Duration
}

// AttemptInfo is what a function may know of the attempt that runs it.
type AttemptInfo struct {
	// Number of the attempt in its call, from 1 on.
	Number uint32
	// Hedge says that the attempt was started beside another one.
	Hedge bool
	// LastError is the error of the attempt that ended before this one began, nil for
	// none.
	LastError error
	// Elapsed is the time since the call began, waits included.
	Elapsed time.Duration
	// Deadline is when the context of the attempt ends, zero for never.
	Deadline time.Time
}
