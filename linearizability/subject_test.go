package linearizability

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// subject is a pure machine with its state.
type subject interface {
	step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer
	wake() clock.Mark
	clone() subject
	// anew returns one that begins at now, where nobody could tell.
	anew(now clock.Mark) (s subject, ok bool)
	encode(dst []byte) []byte
	// mode of a breaker.
	mode() breaker.Mode
}

type erased[S any] struct {
	machine reducer.Cell[S]
	state   S
}

func (e *erased[S]) step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return e.machine.Step(&e.state, a, now, out)
}

func (e *erased[S]) wake() clock.Mark {
	if at, ok := e.machine.NextWake(e.state); ok {
		return at
	}
	return clock.Never
}

func (e *erased[S]) clone() subject { return &erased[S]{e.machine, e.machine.Clone(e.state)} }

func (e *erased[S]) anew(now clock.Mark) (subject, bool) {
	return &erased[S]{e.machine, e.machine.Init(now)}, e.machine.Fresh(e.state, now)
}

func (e *erased[S]) encode(dst []byte) []byte { return e.machine.AppendState(dst, e.state) }

func (e *erased[S]) mode() breaker.Mode {
	s, _ := any(e.state).(breaker.State)
	return s.Mode
}

// cell is a cell as a history finds it.
type cell struct {
	subject
	// queued cells have waiters or leases, and are served after every step.
	queued bool
	// unmarked permits mean the same whenever they were granted.
	unmarked bool
	// refund gives back what came too late for a caller that left.
	refund reducer.Kind
}

func begun[S any](m reducer.Cell[S], err error) subject {
	if err != nil {
		panic(err)
	}
	return &erased[S]{m, m.Init(0)}
}

// limitCell is the model of a limit at which nobody waits.
func limitCell(c limiter.Config) cell {
	window := fixedwindow.Config{Count: c.Count, Period: c.Period}
	var s subject
	switch c.Algorithm {
	case limiter.FixedWindow:
		s = begun[fixedwindow.State](fixedwindow.New(window))
	case limiter.SlidingCounter:
		s = begun[slidingcounter.State](slidingcounter.New(window))
	default:
		s = begun[tokenbucket.State](bucket(c))
	}
	return cell{subject: s}
}

func bucket(c limiter.Config) (*tokenbucket.Machine, error) {
	return tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst})
}

// queuedCell is the model of a limit with a queue.
func queuedCell(c limiter.Config) cell {
	var s subject
	switch e := limitCell(c).subject.(type) {
	case *erased[tokenbucket.State]:
		s = queued[tokenbucket.State, *tokenbucket.Machine](e.machine, c)
	case *erased[fixedwindow.State]:
		s = queued[fixedwindow.State, *fixedwindow.Machine](e.machine, c)
	case *erased[slidingcounter.State]:
		s = queued[slidingcounter.State, *slidingcounter.Machine](e.machine, c)
	}
	return cell{subject: s, queued: true, refund: reducer.Cancel}
}

func queued[S any, C limiter.Counter[S]](counter reducer.Cell[S], c limiter.Config) subject {
	m, err := limiter.New[S](counter.(C), limiter.Waiting{Wait: c.Wait, Queue: c.Queue, Order: c.Order})
	return begun[limiter.State[S]](m, err)
}

func bulkheadCell(c bulkhead.Config) cell {
	return cell{subject: begun[bulkhead.State](bulkhead.New(c)), queued: true, unmarked: true, refund: reducer.Release}
}

func breakerCell(c breaker.Config) cell {
	return cell{subject: begun[breaker.State](breaker.New(c)), unmarked: c.SlowOver == 0}
}
