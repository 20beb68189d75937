package abi

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Other is an effect of a step that is not for its caller: 32 bytes.
type Other struct {
	Permit reducer.Permit // 0
	Caller uint32         // 24
	Kind   uint8          // 28
	Reason uint8          // 29
	_      [2]uint8
}

// holder is a cell with the mark of its last step.
type holder struct {
	cell  cell.Cell
	maker *maker
	core  *breaker.Core // of a breaker
	last  clock.Mark
	wake  clock.Mark // of the cell where it is queued, else never

	promised uint32 // bytes that its window takes with the first outcome
}

// Cell makes a cell whose first step comes at now.
func (m *Module) Cell(makerHandle uint32, now float64) int32 {
	made := m.get(makerHandle).maker
	if made == nil {
		return m.lost()
	}
	if m.short(objectBytes+made.grows, objectBytes, forObject) {
		return NoMemory
	}
	c := &holder{last: m.mark(now, 0)}
	c.put(made, made.New(c.last))
	if c.core != nil {
		c.promised = made.grows
		m.Memory.owed -= int32(c.promised)
	}
	return m.put(object{cell: c})
}

func (c *holder) put(made *maker, state cell.Cell) {
	c.cell, c.maker, c.core, c.wake = state, made, breaker.CoreOf(state), clock.Never
	if made.queued {
		c.wake = state.Due().Wake
	}
}

// begin returns the cell of a handle, moved to now with all that was due.
func (m *Module) begin(handle uint32, now float64) *holder {
	c := m.get(handle).cell
	if c == nil {
		m.lost()
		return nil
	}
	m.moveCell(c, m.mark(now, c.last))
	return c
}

// moveCell moves a cell to now with all that was due.
func (m *Module) moveCell(c *holder, now clock.Mark) {
	m.out = m.out[:0]
	if c.wake <= now {
		m.pass(c, now)
	}
	c.last = max(c.last, now)
}

// pass lets time pass: at each mark that something is due at first what ends,
// then what begins.
func (m *Module) pass(c *holder, now clock.Mark) {
	for at := c.cell.Due().Wake; at <= now; at = c.cell.Due().Wake {
		c.cell.Step(reducer.Action{Kind: reducer.Tick}, at, &m.out)
		m.serve(c, at)
	}
}

func (m *Module) serve(c *holder, now clock.Mark) {
	for c.cell.Due().Serves <= now {
		c.cell.Step(reducer.Action{Kind: reducer.Serve}, now, &m.out)
	}
}

// end writes how a step of a cell ended to the slots.
func (m *Module) end(c *holder, answer *reducer.Answer) int32 {
	s := &m.Slots
	if c.maker.queued {
		m.serve(c, c.last)
		c.wake = c.cell.Due().Wake
		m.wakes(c.wake)
	}
	m.Others = m.Others[:0]
	for i := range m.out {
		e := &m.out[i]
		m.Others = append(m.Others, Other{Permit: e.Permit, Caller: uint32(e.Caller), Kind: uint8(e.Kind), Reason: uint8(e.Reason)})
	}
	if s.Count = uint32(len(m.Others)); s.Count > 0 {
		s.Records = address(unsafe.Pointer(&m.Others[0]))
	}
	m.modeOf(c)
	return m.answer(answer, c.last)
}

// answer writes an answer at a mark to the slots, and returns its verdict.
func (m *Module) answer(answer *reducer.Answer, now clock.Mark) int32 {
	s := &m.Slots
	s.Reason, s.Free = uint32(answer.Reason), answer.Free
	s.Permit = answer.Permit
	if answer.Verdict == reducer.Reject || answer.Verdict == reducer.Wait {
		s.Millis = millisUntil(answer.Mark, now)
	}
	return int32(answer.Verdict)
}

func (m *Module) modeOf(c *holder) {
	if c.core == nil {
		return
	}
	if c.promised > 0 && c.core.Total > 0 {
		m.keep(&c.promised)
	}
	m.Slots.Mode, m.Slots.Timeless = uint32(c.core.Mode), 0
	if c.core.Mode == breaker.Closed && c.core.Generation > 0 && c.core.RampUntil == clock.Never {
		m.Slots.Timeless = c.maker.timeless
	}
}

// quick writes to the slots how a fast path ended: it has no effects on others, and
// the wake is what it was.
func (m *Module) quick(c *holder, at clock.Mark) {
	c.last = at
	m.Slots.Count, m.Slots.Reason = 0, 0
	m.modeOf(c)
	if c.maker.queued {
		m.wakes(c.wake)
	}
}

// Acquire asks a cell for a permit of the cost. caller identifies the caller in later
// records. It returns the verdict.
func (m *Module) Acquire(handle, cost, caller uint32, now float64) int32 {
	if m.Memory.Tight && m.cannotGrow(handle) {
		return NoMemory
	}
	c := m.get(handle).cell
	if c == nil {
		return m.lost()
	}
	at := max(c.last, m.mark(now, c.last))
	if at < c.wake {
		if permit, ok := c.cell.Enter(cost, uint64(caller), clock.Never, at); ok {
			m.Slots.Permit = permit
			m.quick(c, at)
			return int32(reducer.Admit)
		}
	}
	m.moveCell(c, at)
	answer := c.cell.Step(reducer.Action{Kind: reducer.Acquire, Cost: cost, Permit: reducer.Permit{ID: uint64(caller)}}, c.last, &m.out)
	return m.end(c, &answer)
}

// Step steps a cell with any action about Slots.Permit. The cost of a record is the
// retry-after of the answer in milliseconds, 0 for none; an acquire with an outcome begins
// no block. It returns the verdict.
func (m *Module) Step(handle, kind, outcome, cost uint32, now float64) int32 {
	if m.Memory.Tight && kind <= uint32(reducer.TryAcquire) && m.cannotGrow(handle) {
		return NoMemory
	}
	c := m.get(handle).cell
	if c == nil {
		return m.lost()
	}
	if kind > 255 || outcome > 255 {
		return m.fail(BadArgument, "no such action")
	}
	at := max(c.last, m.mark(now, c.last))
	if at < c.wake {
		switch reducer.Kind(kind) {
		case reducer.TryAcquire:
			if permit, ok := c.cell.Enter(cost, 0, clock.Never, at); ok {
				m.Slots.Permit = permit
				m.quick(c, at)
				return int32(reducer.Admit)
			}
		case reducer.Release, reducer.Record:
			if (kind == uint32(reducer.Release) || outcome == uint32(reducer.OK)) && c.cell.Exit(m.Slots.Permit, at) {
				m.quick(c, at)
				return int32(reducer.Done)
			}
		}
	}
	m.moveCell(c, at)
	a := reducer.Action{Kind: reducer.Kind(kind), Outcome: reducer.Outcome(outcome), Cost: cost, Permit: m.Slots.Permit}
	switch {
	case a.Kind <= reducer.TryAcquire && outcome != 0:
		a = a.WithoutBlock()
		a.Outcome = 0
	case a.Kind == reducer.Record:
		a.Value = uint64(cost) * uint64(time.Millisecond)
	}
	answer := c.cell.Step(a, c.last, &m.out)
	return m.end(c, &answer)
}

// Pass lets time pass for a cell.
func (m *Module) Pass(handle uint32, now float64) int32 {
	c := m.begin(handle, now)
	if c == nil {
		return BadHandle
	}
	if !c.maker.queued {
		m.pass(c, c.last)
	}
	return m.end(c, &reducer.Answer{Verdict: reducer.Done})
}

// Fresh returns 1 when the cell at now decides as a new one would.
func (m *Module) Fresh(handle uint32, now float64) int32 {
	c := m.get(handle).cell
	if c == nil {
		return m.lost()
	}
	if cell.Fresh(c.cell, max(c.last, m.mark(now, c.last))) {
		return 1
	}
	return 0
}

// Class returns what is lost with a cell at which no caller waits or holds anything, as
// reducer.Class, and leaves for how many milliseconds it stays so if nothing but time passes,
// -1 for ever.
func (m *Module) Class(handle uint32, now float64) int32 {
	c := m.get(handle).cell
	if c == nil {
		return m.lost()
	}
	at := max(c.last, m.mark(now, c.last))
	class, until := c.cell.Class(at)
	return m.class(class, until, at)
}

func (m *Module) class(class reducer.Class, until, now clock.Mark) int32 {
	m.Slots.Millis = millisUntil(until, now)
	return int32(class)
}

// Adopt puts a cell under another configuration of its mechanism, as the
// rules of eval/REFERENCE.md#configure say.
func (m *Module) Adopt(handle, makerHandle uint32, now float64) int32 {
	made := m.get(makerHandle).maker
	if made == nil {
		return m.lost()
	}
	if m.short(objectBytes+2*made.grows, max(objectBytes, made.grows), forCall) {
		return NoMemory
	}
	c := m.begin(handle, now)
	if c == nil {
		return BadHandle
	}
	if c.maker.queued && !made.queued {
		// Callers that wait keep their places.
		waits := *made
		waits.queued, made = true, &waits
	}
	c.put(made, cell.Adopt(made.Maker, c.cell, c.last, &m.out))
	return m.end(c, &reducer.Answer{Verdict: reducer.Done})
}

// State leaves the state of a cell in the buffer and returns its size.
func (m *Module) State(handle uint32) int32 {
	c := m.get(handle).cell
	if c == nil {
		return m.lost()
	}
	// A state is written into slices that grow.
	if n := objectBytes + 4*c.maker.grows; m.short(n, n, forCall) {
		return NoMemory
	}
	return m.give(c.cell.AppendState(nil))
}

// Restore replaces the state of a cell by size bytes of the buffer. With by, the state comes
// from another process: its marks are shifted by so many milliseconds, and its waiters and
// holders are dropped. NaN takes the state as it is.
func (m *Module) Restore(handle, size uint32, by, now float64) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	c := m.get(handle).cell
	if c == nil {
		return m.lost()
	}
	if n := objectBytes + 2*c.maker.grows + 8*size; m.short(n, n, forCall) {
		return NoMemory
	}
	m.begin(handle, now)
	var err error
	if shift, moved := m.span(by); moved {
		err = c.cell.Revive(src, shift)
	} else {
		err = c.cell.Restore(src)
	}
	if err != nil {
		return m.failed(BadBytes, err)
	}
	return m.end(c, &reducer.Answer{Verdict: reducer.Done})
}

// Reduce is a pure step. The buffer holds the mark in 8 bytes, an action, and a
// state, which is empty for a new one: size bytes in all. It leaves the size of
// the next state in 4 bytes, that state, and the effects, and returns their size.
func (m *Module) Reduce(makerHandle, size uint32) int32 {
	made := m.get(makerHandle).maker
	if made == nil {
		return m.lost()
	}
	src, ok := m.take(size)
	const head = 8 + reducer.ActionSize
	if !ok || size < head {
		return m.fail(BadSize, "a mark, an action and a state are 48 bytes or more")
	}
	if n := objectBytes + 4*made.grows + 8*size; m.short(n, n, forCall) {
		return NoMemory
	}
	now := clock.Mark(binary.LittleEndian.Uint64(src))
	action, err := reducer.DecodeAction(src[8:head])
	if err != nil {
		return m.fail(BadBytes, "no action")
	}
	c := made.New(now)
	if size > head {
		if err := c.Restore(src[head:]); err != nil {
			return m.failed(BadBytes, err)
		}
	}
	m.out = m.out[:0]
	answer := c.Step(action, now, &m.out)
	text := c.AppendState(make([]byte, 4, 256))
	binary.LittleEndian.PutUint32(text, uint32(len(text)-4))
	return m.give(reducer.Effects{Answer: answer, Others: m.out}.AppendBytes(text))
}
