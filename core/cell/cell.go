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
	// is to be asked. Neither Enter nor Exit moves Ends, Serves or Wake.
	Enter(cost uint32, caller uint64, now clock.Mark) (reducer.Permit, bool)
	// Exit is a Record of a success or a Release with nothing to tell anybody,
	// likewise. The Mark of a breaker's permit is when the attempt began.
	Exit(p reducer.Permit, now clock.Mark) bool
	// Held reports whether a caller waits at the cell, has a place in it or has a
	// probe out: then the cell must not be evicted.
	Held() bool
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

// inPlace is a mechanism that does in place what reducer.Cell does with states as
// values. A state handed from call to call is copied field by field in wasm,
// which costs more than what is done with it.
type inPlace[S any] interface {
	reducer.Cell[S]
	// Encode is AppendState in place.
	Encode(dst []byte, s *S) []byte
	// Decode is DecodeState in place, into a state that is zero. After an error
	// the state means nothing.
	Decode(src []byte, s *S) error
	// Move is Shift in place.
	Move(s *S, by time.Duration)
}

// machine is a mechanism with a wake of its own.
type machine[S any] interface {
	inPlace[S]
	// Wake is NextWake in place, clock.Never for none.
	Wake(s *S) clock.Mark
}

// box holds a machine M with its state S.
type box[S any, M machine[S]] struct {
	machine M
	state   S
}

func (b *box[S, M]) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return b.machine.Step(&b.state, a, now, out)
}

func (b *box[S, M]) Enter(uint32, uint64, clock.Mark) (reducer.Permit, bool) {
	return reducer.Permit{}, false
}

func (b *box[S, M]) Exit(reducer.Permit, clock.Mark) bool { return false }

func (b *box[S, M]) Held() bool { return false }

func (b *box[S, M]) Ends() clock.Mark { return clock.Never }

func (b *box[S, M]) Serves() (clock.Mark, uint64) { return clock.Never, 0 }

func (b *box[S, M]) Wake() clock.Mark { return b.machine.Wake(&b.state) }

func (b *box[S, M]) Fresh(now clock.Mark) bool { return b.machine.Fresh(b.state, now) }

func (b *box[S, M]) AppendState(dst []byte) []byte { return b.machine.Encode(dst, &b.state) }

func (b *box[S, M]) Restore(src []byte) error {
	var state S
	if err := b.machine.Decode(src, &state); err != nil {
		return err
	}
	b.state = state
	return nil
}

func (b *box[S, M]) Revive(src []byte, by time.Duration) error {
	if err := b.Restore(src); err != nil {
		return err
	}
	b.machine.Move(&b.state, by)
	return nil
}

func (b *box[S, M]) appendText(dst []byte, now clock.Mark) []byte {
	return b.machine.AppendText(dst, b.state, now)
}
