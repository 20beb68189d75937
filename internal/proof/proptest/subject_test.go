package proptest

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// subject is a cell with its state, whatever their types are. The laws and invariants
// take it, and a mutant wraps it.
type subject interface {
	// Step steps the subject in place.
	Step(a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out)
	// Reduce returns the next subject and does not change this one.
	Reduce(a reducer.Action, now clock.Mark) (subject, reducer.Effects)
	Clone() subject
	Shift(by time.Duration) subject
	// Restored is the subject after its state was encoded and decoded.
	Restored() (subject, error)
	// Bytes is the encoded state.
	Bytes() []byte
	NextWake() (clock.Mark, bool)
	Fresh(now clock.Mark) bool
	// Ready is the mark from which a permit may be used that the last step gave.
	Ready(p reducer.Permit) clock.Mark
	Check() error
	// MaxSize is the most bytes of a state without waiters.
	MaxSize() int
	Text(now clock.Mark) string
	// Look returns what the tests read of the state itself.
	Look() view
}

// view has the values that the tests read of states; zero where a mechanism has none.
type view struct {
	waiters []limiter.Waiter // oldest first
	held    uint32
	last    clock.Mark
	begun   bool // last counts from now on
	breaker *breaker.Core
}

// of makes a subject of a cell.
func of[S any](c reducer.Cell[S], now clock.Mark, look func(*S) view) subject {
	return &erased[S]{cell: c, state: reducer.ValuesOf(c).Init(now), look: look}
}

type erased[S any] struct {
	cell  reducer.Cell[S]
	state S
	look  func(*S) view
}

func (e *erased[S]) Step(a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
	var out reducer.Out
	answer := e.cell.Step(&e.state, a, now, &out)
	return answer, out
}

func (e *erased[S]) Reduce(a reducer.Action, now clock.Mark) (subject, reducer.Effects) {
	state, effects := reducer.ValuesOf(e.cell).Reduce(e.state, a, now)
	return &erased[S]{e.cell, state, e.look}, effects
}

func (e *erased[S]) Clone() subject {
	return &erased[S]{e.cell, reducer.ValuesOf(e.cell).Clone(e.state), e.look}
}

func (e *erased[S]) Shift(by time.Duration) subject {
	return &erased[S]{e.cell, reducer.ValuesOf(e.cell).Shift(e.state, by), e.look}
}

func (e *erased[S]) Restored() (subject, error) {
	state, err := reducer.ValuesOf(e.cell).DecodeState(e.Bytes())
	return &erased[S]{e.cell, state, e.look}, err
}

func (e *erased[S]) Bytes() []byte { return reducer.ValuesOf(e.cell).AppendState(nil, e.state) }

func (e *erased[S]) NextWake() (clock.Mark, bool) { return reducer.ValuesOf(e.cell).NextWake(e.state) }

func (e *erased[S]) Fresh(now clock.Mark) bool { return reducer.ValuesOf(e.cell).Fresh(e.state, now) }

func (e *erased[S]) Ready(p reducer.Permit) clock.Mark {
	if m, ok := any(e.cell).(*limiter.Machine); ok {
		return m.ReadyAt(any(&e.state).(*limiter.State), p)
	}
	return p.Mark
}

func (e *erased[S]) MaxSize() int { return e.cell.MaxSize() }

func (e *erased[S]) Check() error { return e.cell.Check(&e.state) }

func (e *erased[S]) Text(now clock.Mark) string {
	return string(e.cell.AppendText(nil, &e.state, now))
}

func (e *erased[S]) Look() view { return e.look(&e.state) }

// stepper is a defect of Step: it may change the action and the result.
type stepper func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out)

// mutant is a subject with one small defect. A field that is nil leaves the method of the
// machine.
type mutant struct {
	subject
	step    stepper
	reduce  func(s subject, a reducer.Action, now clock.Mark) (subject, reducer.Effects)
	restore func(s subject) (subject, error)
	wake    func(s subject) (clock.Mark, bool)
	fresh   func(s subject, now clock.Mark) bool
}

func (m *mutant) with(s subject) subject {
	next := *m
	next.subject = s
	return &next
}

func (m *mutant) Step(a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
	if m.step == nil {
		return m.subject.Step(a, now)
	}
	return m.step(m.subject, a, now)
}

func (m *mutant) Reduce(a reducer.Action, now clock.Mark) (subject, reducer.Effects) {
	if m.reduce != nil {
		s, effects := m.reduce(m.subject, a, now)
		return m.with(s), effects
	}
	if m.step == nil {
		s, effects := m.subject.Reduce(a, now)
		return m.with(s), effects
	}
	next := m.Clone()
	answer, out := next.Step(a, now)
	return next, reducer.Effects{Answer: answer, Others: out}
}

func (m *mutant) Clone() subject { return m.with(m.subject.Clone()) }

func (m *mutant) Shift(by time.Duration) subject { return m.with(m.subject.Shift(by)) }

func (m *mutant) Restored() (subject, error) {
	restore := m.restore
	if restore == nil {
		restore = subject.Restored
	}
	s, err := restore(m.subject)
	return m.with(s), err
}

func (m *mutant) NextWake() (clock.Mark, bool) {
	if m.wake != nil {
		return m.wake(m.subject)
	}
	return m.subject.NextWake()
}

func (m *mutant) Fresh(now clock.Mark) bool {
	if m.fresh != nil {
		return m.fresh(m.subject, now)
	}
	return m.subject.Fresh(now)
}
