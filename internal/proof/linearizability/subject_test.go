package linearizability

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// subject is a pure machine with its state.
type subject interface {
	step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer
	wake() clock.Mark
	clone() subject
	// anew returns one that begins at now. ok is false where it would decide otherwise.
	anew(now clock.Mark) (s subject, ok bool)
	encode(dst []byte) []byte
	// ready is the mark from which a permit may be used that the last step gave.
	ready(p reducer.Permit) clock.Mark
	// mode of a breaker.
	mode() breaker.Mode
}

type erased[S any] struct {
	machine reducer.Cell[S]
	state   S
	// unclamped: no last mark is kept, as in the one word of a token bucket. An
	// earlier mark than the last one is then answered more strictly.
	unclamped bool
}

func (e *erased[S]) step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	if s, ok := any(&e.state).(*limiter.State); ok && e.unclamped {
		s.Last = clock.Always
	}
	return e.machine.Step(&e.state, a, now, out)
}

func (e *erased[S]) wake() clock.Mark {
	if at, ok := reducer.ValuesOf(e.machine).NextWake(e.state); ok {
		return at
	}
	return clock.Never
}

func (e *erased[S]) clone() subject {
	return &erased[S]{e.machine, reducer.ValuesOf(e.machine).Clone(e.state), e.unclamped}
}

func (e *erased[S]) anew(now clock.Mark) (subject, bool) {
	return &erased[S]{e.machine, reducer.ValuesOf(e.machine).Init(now), e.unclamped}, reducer.ValuesOf(e.machine).Fresh(e.state, now)
}

func (e *erased[S]) encode(dst []byte) []byte {
	return reducer.ValuesOf(e.machine).AppendState(dst, e.state)
}

func (e *erased[S]) ready(p reducer.Permit) clock.Mark {
	if m, ok := any(e.machine).(*limiter.Machine); ok {
		return m.ReadyAt(any(&e.state).(*limiter.State), p)
	}
	return p.Mark
}

func (e *erased[S]) mode() breaker.Mode {
	s, _ := any(e.state).(breaker.State)
	return s.Mode
}

// cell is the model of a cell at the start of a history.
type cell struct {
	subject
	// queued cells have waiters or leases, and are served after every step.
	queued bool
	// unmarked permits mean the same whenever they were granted.
	unmarked bool
	// refund returns a permit that came too late for a caller that left.
	refund reducer.Kind
}

func begun[S any](m reducer.Cell[S], err error) subject {
	if err != nil {
		panic(err)
	}
	return &erased[S]{machine: m, state: reducer.ValuesOf(m).Init(0)}
}

// limitCell is the model of a limit without a queue.
func limitCell(c limiter.Config) cell {
	c.Wait, c.Queue, c.Order = 0, 0, limiter.Oldest
	return cell{subject: begun[limiter.State](limiter.New(c))}
}

// loneCell is the model of a limiter alone without a queue: a token bucket is one
// word there.
func loneCell(c limiter.Config) cell {
	l := limitCell(c)
	l.subject.(*erased[limiter.State]).unclamped = c.Algorithm == limiter.TokenBucket
	return l
}

// queuedCell is the model of a limit with a queue.
func queuedCell(c limiter.Config) cell {
	return cell{subject: begun[limiter.State](limiter.New(c)), queued: true, refund: reducer.Cancel}
}

func bulkheadCell(c bulkhead.Config) cell {
	return cell{subject: begun[bulkhead.State](bulkhead.New(c)), queued: true, unmarked: true, refund: reducer.Release}
}

func breakerCell(c breaker.Config) cell {
	return cell{subject: begun[breaker.State](breaker.New(c)), unmarked: c.SlowOver == 0}
}
