package cell

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is a mechanism that does in place what reducer.Cell does with states as
// values. In wasm a state that is passed by value is copied field by field, which
// costs more than the step.
type Machine[S, M any] interface {
	reducer.Cell[S]
	// Begin is Init in place, of a state that is zero.
	Begin(s *S, now clock.Mark)
	// Inherit is Adopt in place, of a state that another machine of the same type
	// has made.
	Inherit(s *S, from M, now clock.Mark, out *reducer.Out)
	// Unused is Fresh in place.
	Unused(s *S, now clock.Mark) bool
	// Class returns what Cell.Class does.
	Class(s *S, now clock.Mark) (keyed.Class, clock.Mark)
	// Enter, Exit, Ends, Serves and Held are those of Cell.
	Enter(s *S, cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool)
	Exit(s *S, p reducer.Permit, now clock.Mark) bool
	Ends(s *S) clock.Mark
	Serves(s *S) (at clock.Mark, caller uint64)
	Held(s *S) bool
	// Wake is NextWake in place, clock.Never for none.
	Wake(s *S) clock.Mark
	// Encode is AppendState in place.
	Encode(dst []byte, s *S) []byte
	// Decode is DecodeState in place, into a state that is zero. After an error the
	// state is undefined.
	Decode(src []byte, s *S) error
	// Move is Shift in place.
	Move(s *S, by time.Duration)
	// MaxSize is that of Maker.
	MaxSize() int
	// Recall removes the waiters and ends the permits that are held, because their
	// process has ended.
	Recall(s *S)
}

// Adapter puts a machine and its state behind Cell. A mechanism whose speed
// matters embeds it, and has the methods of its fast path call the machine
// directly instead of by the type parameters.
type Adapter[S any, M Machine[S, M]] struct {
	Machine M
	// One state. Slices are copied as memory, which takes less code in wasm than the
	// fields of a struct.
	state [1]S
}

// State returns the state, which changes with the cell.
func (a *Adapter[S, M]) State() *S { return &a.state[0] }

// Makes returns the maker of a machine's cells. make returns a new cell, and the
// adapter in it; it is Plain where the adapter is the cell.
func Makes[S any, M Machine[S, M]](machine M, make func() (Cell, *Adapter[S, M])) Maker {
	return &maker[S, M]{machine, make}
}

// Plain returns an adapter that is a cell.
func Plain[S any, M Machine[S, M]]() (Cell, *Adapter[S, M]) {
	a := &Adapter[S, M]{}
	return a, a
}

type maker[S any, M Machine[S, M]] struct {
	machine M
	make    func() (Cell, *Adapter[S, M])
}

func (m *maker[S, M]) New(now clock.Mark) Cell {
	c, a := m.make()
	a.Machine = m.machine
	a.Machine.Begin(a.State(), now)
	return c
}

func (m *maker[S, M]) MaxSize() int { return m.machine.MaxSize() }

// Machine returns the machine of the cells.
func (m *maker[S, M]) Machine() M { return m.machine }

func (m *maker[S, M]) blocks() bool {
	b, ok := any(m.machine).(interface{ Blocks() bool })
	return ok && b.Blocks()
}

func (m *maker[S, M]) Adopt(old Cell, now clock.Mark, out *reducer.Out) bool {
	from, ok := old.(interface{ adapter() *Adapter[S, M] })
	if !ok {
		return false
	}
	a := from.adapter()
	before := a.Machine
	a.Machine = m.machine
	a.Machine.Inherit(a.State(), before, now, out)
	return true
}

func (a *Adapter[S, M]) adapter() *Adapter[S, M] { return a }

// Step implements Cell.
func (a *Adapter[S, M]) Step(action reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return a.Machine.Step(a.State(), action, now, out)
}

// Enter implements Cell.
func (a *Adapter[S, M]) Enter(cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool) {
	return a.Machine.Enter(a.State(), cost, caller, deadline, now)
}

// Exit implements Cell.
func (a *Adapter[S, M]) Exit(p reducer.Permit, now clock.Mark) bool {
	return a.Machine.Exit(a.State(), p, now)
}

// Ends implements Cell.
func (a *Adapter[S, M]) Ends() clock.Mark { return a.Machine.Ends(a.State()) }

// Serves implements Cell.
func (a *Adapter[S, M]) Serves() (clock.Mark, uint64) { return a.Machine.Serves(a.State()) }

// Wake implements Cell.
func (a *Adapter[S, M]) Wake() clock.Mark { return a.Machine.Wake(a.State()) }

// Held implements Cell.
func (a *Adapter[S, M]) Held() bool { return a.Machine.Held(a.State()) }

// Fresh implements Cell.
func (a *Adapter[S, M]) Fresh(now clock.Mark) bool { return a.Machine.Unused(a.State(), now) }

// Class implements Cell.
func (a *Adapter[S, M]) Class(now clock.Mark) (keyed.Class, clock.Mark) {
	return a.Machine.Class(a.State(), now)
}

// AppendState implements Cell.
func (a *Adapter[S, M]) AppendState(dst []byte) []byte { return a.Machine.Encode(dst, a.State()) }

// Restore implements Cell.
func (a *Adapter[S, M]) Restore(src []byte) error {
	var read [1]S
	if err := a.Machine.Decode(src, &read[0]); err != nil {
		return err
	}
	copy(a.state[:], read[:])
	return nil
}

// Revive implements Cell.
func (a *Adapter[S, M]) Revive(src []byte, by time.Duration) error {
	if err := a.Restore(src); err != nil {
		return err
	}
	a.Machine.Recall(a.State())
	a.Machine.Move(a.State(), by)
	return nil
}

func (a *Adapter[S, M]) appendText(dst []byte, now clock.Mark) []byte {
	return a.Machine.AppendText(dst, *a.State(), now)
}

func (a *Adapter[S, M]) appendTextFromNow(dst []byte, now clock.Mark) []byte {
	return a.Machine.AppendText(dst, a.Machine.Shift(*a.State(), -now.Sub(0)), 0)
}
