package cell

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Cell is a machine with its state. Its holder serialises the calls.
type Cell interface {
	// Step steps the state of the cell as reducer.Cell does.
	Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer
	// Enter is a fast path of Step(Acquire): half the cost of a call is moving
	// the words of Step. It returns false and leaves the cell unchanged if the
	// caller must use Step. Neither Enter nor Exit changes what Due returns.
	// The action has the deadline; clock.Never is none.
	Enter(cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool)
	// Exit is the same for a Record of a success or a Release without effects. The
	// Mark of a breaker's permit is when the attempt began.
	Exit(p reducer.Permit, now clock.Mark) bool
	// Held reports whether a caller waits at the cell, holds a place or has a pending
	// probe: then the cell must not be evicted.
	Held() bool
	// Due returns when time alone will change the state.
	Due() reducer.Due
	// Class returns what is lost when the cell is evicted while it is not held, and the mark from
	// which on time alone gives it another class.
	Class(now clock.Mark) (reducer.Class, clock.Mark)
	// AppendState appends the stable binary form of the state.
	AppendState(dst []byte) []byte
	// Restore replaces the state by a decoded one, or changes nothing.
	Restore(src []byte) error
	// Revive restores a state of another process: marks are shifted by a duration,
	// waiters are dropped and permits end.
	Revive(src []byte, by time.Duration) error
}

// Fresh reports whether a cell at now decides as a new one.
func Fresh(c Cell, now clock.Mark) bool {
	class, _ := c.Class(now)
	return class == reducer.Unused
}

// Text returns the one-line form of a cell's state at now, for people. It is not a
// method of Cell, so that a small runtime that prints no states does not link the
// texts.
func Text(c Cell, now clock.Mark) string {
	if t, ok := c.(interface {
		appendText(dst []byte, now clock.Mark) []byte
	}); ok {
		return string(t.appendText(nil, now))
	}
	return ""
}

// TextFromNow is Text with marks that count from now: where Text says "until" the mark at
// which something ends, it says the time that is left.
func TextFromNow(c Cell, now clock.Mark) string {
	if t, ok := c.(interface {
		appendTextFromNow(dst []byte, now clock.Mark) []byte
	}); ok {
		return string(t.appendTextFromNow(nil, now))
	}
	return ""
}

// Gauge has the numbers of a cell that metrics and pictures show. A number that the
// mechanism does not have is 0.
type Gauge struct {
	// Places is how many callers may hold one now, and InUse how many places are held.
	Places, InUse uint32
	// Waiting callers, and Waits where callers may wait.
	Waiting uint32
	Waits   bool
}

// GaugeOf returns the numbers of a cell. Like Text it is not a method of Cell.
func GaugeOf(c Cell) Gauge {
	if g, ok := c.(interface{ Gauge() Gauge }); ok {
		return g.Gauge()
	}
	return Gauge{}
}

// Maker makes the cells of one step.
type Maker interface {
	// New returns a cell whose first step comes at now.
	New(now clock.Mark) Cell
	// Adopt changes a cell of another maker to one of this maker, and reports false for
	// a cell of another mechanism.
	Adopt(old Cell, now clock.Mark, out *reducer.Out) bool
	// MaxSize returns the most bytes that AppendState appends for a cell without
	// waiters, for a holder that keeps states in places of one size. An adopted cell
	// may exceed it while it has more than this configuration allows.
	MaxSize() int
}

// Blocks reports whether cells of a maker may block: refuse all calls for a time because
// earlier ones exceeded a limit. An Acquire WithoutBlock begins no block.
func Blocks(m Maker) bool {
	b, ok := m.(interface{ blocks() bool })
	return ok && b.blocks()
}

// Growth is what a cell takes of the memory after it was made, in bytes and at most.
type Growth struct {
	// First are the objects that the first outcome makes.
	First [2]uint32
	// Later is what callers take: places, queues and admissions that are counted.
	Later uint32
}

// What a caller takes of the memory while lists grow, for Growth. It is more than what it is
// on any platform of 32 bits.
const (
	WaiterBytes    = 64
	HolderBytes    = 128
	AdmissionBytes = 64
)

// GrowthOf returns the growth of the cells of a maker, and false for a mechanism that does
// not say it.
func GrowthOf(m Maker) (Growth, bool) {
	if g, ok := m.(interface{ growth() (Growth, bool) }); ok {
		return g.growth()
	}
	return Growth{}, false
}

// Adopt returns a cell of the maker that continues the state of
// another maker's cell, which must not be used afterwards.
func Adopt(m Maker, old Cell, now clock.Mark, out *reducer.Out) Cell {
	if m.Adopt(old, now, out) {
		return old
	}
	return m.New(now)
}
