package cell

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Adapter puts a machine and its state behind Cell. A mechanism whose speed
// matters embeds it, and has the methods of its fast path call the machine
// directly instead of by the type parameters.
type Adapter[S any, M reducer.Cell[S]] struct {
	Machine M
	// One state. Slices are copied as memory, which takes less code in wasm than the
	// fields of a struct.
	state [1]S
}

// State returns the state, which changes with the cell.
func (a *Adapter[S, M]) State() *S { return &a.state[0] }

// Makes returns the maker of a machine's cells. make returns a new cell, and the
// adapter in it; it is Plain where the adapter is the cell.
func Makes[S any, M reducer.Cell[S]](machine M, make func() (Cell, *Adapter[S, M])) Maker {
	return &maker[S, M]{machine, make}
}

// Plain returns an adapter that is a cell.
func Plain[S any, M reducer.Cell[S]]() (Cell, *Adapter[S, M]) {
	a := &Adapter[S, M]{}
	return a, a
}

type maker[S any, M reducer.Cell[S]] struct {
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

func (m *maker[S, M]) growth() (g Growth, ok bool) {
	of, ok := any(m.machine).(interface{ Growth() Growth })
	if ok {
		g = of.Growth()
	}
	return g, ok
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

// Enter returns false: a mechanism with a fast path has a cell of its own.
func (a *Adapter[S, M]) Enter(uint32, uint64, clock.Mark, clock.Mark) (reducer.Permit, bool) {
	return reducer.Permit{}, false
}

// Exit returns false, as Enter.
func (a *Adapter[S, M]) Exit(reducer.Permit, clock.Mark) bool { return false }

// Due implements Cell.
func (a *Adapter[S, M]) Due() reducer.Due { return a.Machine.Due(a.State()) }

// Held implements Cell.
func (a *Adapter[S, M]) Held() bool { return a.Machine.Held(a.State()) }

// Class implements Cell.
func (a *Adapter[S, M]) Class(now clock.Mark) (reducer.Class, clock.Mark) {
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
	return a.Machine.AppendText(dst, a.State(), now)
}

func (a *Adapter[S, M]) appendTextFromNow(dst []byte, now clock.Mark) []byte {
	var moved [1]S
	a.Machine.Clone(&moved[0], a.State())
	a.Machine.Move(&moved[0], -now.Sub(0))
	return a.Machine.AppendText(dst, &moved[0], 0)
}
