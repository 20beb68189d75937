package cell

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Cell is a machine with the state that its holder serialises.
type Cell interface {
	// Step is that of reducer.Cell.
	Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer
	// Enter is an Acquire that admits at once, without the words of Step: half
	// the cost of a call is moving them. False, and nothing changed, when Step
	// is to be asked.
	Enter(cost uint32, caller uint64, now clock.Mark) (reducer.Permit, bool)
	// Exit is a Record of a success or a Release with nothing to tell anybody,
	// likewise. The Mark of a breaker's permit is when the attempt began.
	Exit(p reducer.Permit, now clock.Mark, out *reducer.Out) bool
	// Ends returns the mark of the next Tick that concerns somebody: a lease
	// runs out, probes no longer count. clock.Never for none. Waits in a queue
	// are ended by Expire, in the order of their calls.
	Ends() clock.Mark
	// Serves returns the mark of the next Serve that grants something and whom
	// it serves. clock.Never for none.
	Serves() (at clock.Mark, caller uint64)
	// Wake returns the mark of NextWake, clock.Never for none.
	Wake() clock.Mark
	// Fresh is that of reducer.Cell.
	Fresh(now clock.Mark) bool
	// AppendState is that of reducer.Cell.
	AppendState(dst []byte) []byte
	// Restore replaces the state by a decoded one, or changes nothing.
	Restore(src []byte) error
	// Revive is Restore for a state of another process, moved along the line of
	// marks: without those who waited or held something there.
	Revive(src []byte, by time.Duration) error
}

// Text returns the one-line form of a cell's state at now, for people. It is no
// method of Cell, so that a small runtime that prints no states links none of
// the texts.
func Text(c Cell, now clock.Mark) string {
	if t, ok := c.(interface {
		appendText(dst []byte, now clock.Mark) []byte
	}); ok {
		return string(t.appendText(nil, now))
	}
	return ""
}

// Maker makes the cells of one step.
type Maker interface {
	// New returns a cell whose first step comes at now.
	New(now clock.Mark) Cell
	// Adopt returns a cell that carries on the state of another maker's cell of
	// the same mechanism, as the configure rules of each mechanism say. The
	// other cell must not be used afterwards.
	Adopt(old Cell, now clock.Mark, out *reducer.Out) Cell
}

// box holds a machine M with its state S.
type box[S any, M reducer.Cell[S]] struct {
	machine M
	state   S
}

func (b *box[S, M]) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return b.machine.Step(&b.state, a, now, out)
}

func (b *box[S, M]) Enter(uint32, uint64, clock.Mark) (reducer.Permit, bool) {
	return reducer.Permit{}, false
}

func (b *box[S, M]) Exit(reducer.Permit, clock.Mark, *reducer.Out) bool { return false }

func (b *box[S, M]) Ends() clock.Mark { return clock.Never }

func (b *box[S, M]) Serves() (clock.Mark, uint64) { return clock.Never, 0 }

func (b *box[S, M]) Wake() clock.Mark {
	at, ok := b.machine.NextWake(b.state)
	if !ok {
		return clock.Never
	}
	return at
}

func (b *box[S, M]) Fresh(now clock.Mark) bool { return b.machine.Fresh(b.state, now) }

func (b *box[S, M]) AppendState(dst []byte) []byte { return b.machine.AppendState(dst, b.state) }

func (b *box[S, M]) Restore(src []byte) error {
	state, err := b.machine.DecodeState(src)
	if err != nil {
		return err
	}
	b.state = state
	return nil
}

func (b *box[S, M]) Revive(src []byte, by time.Duration) error {
	if err := b.Restore(src); err != nil {
		return err
	}
	b.state = b.machine.Shift(b.state, by)
	return nil
}

func (b *box[S, M]) appendText(dst []byte, now clock.Mark) []byte {
	return b.machine.AppendText(dst, b.state, now)
}
