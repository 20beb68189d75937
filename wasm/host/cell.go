package host

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/abi"
)

// Maker makes cells of one configuration. Closing it leaves them as they are.
type Maker struct {
	object
	// queued says that time alone may change the state of callers in its cells.
	queued bool
}

// Limiter returns a maker of limiters. The error is an *Error that names a field which is
// wrong.
func (m *Module) Limiter(c limiter.Config) (*Maker, error) {
	return configured(m, limiterOf, c.Wait > 0, c, limiter.Plan, limiter.New)
}

// Bulkhead is Limiter for bulkheads.
func (m *Module) Bulkhead(c bulkhead.Config) (*Maker, error) {
	return configured(m, bulkheadOf, true, c, bulkhead.Plan, bulkhead.New)
}

// Breaker is Limiter for breakers.
func (m *Module) Breaker(c breaker.Config) (*Maker, error) {
	return configured(m, breakerOf, false, c, breaker.Plan, breaker.New)
}

// configured makes a maker of the settings of a configuration. It is checked here, too,
// because plan bytes have no negative numbers, and leave out the parts of a map that is off.
func configured[C, M any](m *Module, e export, queued bool, c C, plan func(*C, *planwire.Coder), check func(C) (M, error)) (*Maker, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return nil, m.lost
	}
	if _, err := check(c); err != nil {
		return nil, &Error{Code: abi.BadPolicy, Text: err.Error()}
	}
	v := planwire.Writer(nil)
	plan(&c, &v)
	room, _, err := m.makeRoom(len(v.Bytes()))
	if err != nil {
		return nil, err
	}
	return m.maker(queued, e, uint64(copy(room, v.Bytes())))
}

func (m *Module) maker(queued bool, e export, args ...uint64) (*Maker, error) {
	made, err := m.put(m.call(e, args...))
	if err != nil {
		return nil, err
	}
	return &Maker{object: made, queued: queued}, nil
}

// Cell is one limiter, breaker or bulkhead. It answers as its machine in core/
// does, except that it serves its queue itself, in every call, and that a Peek does
// not say how many permits are free. Methods with out append the effects on other
// callers to it: grants, waits that ended, leases that ran out, and the changes of a
// breaker. out may be nil; the effects are then dropped.
type Cell struct {
	object
	queued bool
	wake   clock.Mark
}

// Cell makes a cell whose first step comes at now.
func (k *Maker) Cell(now clock.Mark) (*Cell, error) {
	k.m.mu.Lock()
	defer k.m.mu.Unlock()
	memory, err := k.m.memory()
	if err != nil {
		return nil, err
	}
	k.m.at(memory, now)
	made, err := k.m.put(k.m.call(cellOf, uint64(k.handle), nan))
	if err != nil {
		return nil, err
	}
	return &Cell{object: made, queued: k.queued, wake: clock.Never}, nil
}

// Allow asks a limiter for permits of the cost without waiting, and does not
// allocate. It returns an error for a cell in which callers may wait: a step may
// have effects for waiters, which only Acquire returns.
func (c *Cell) Allow(cost uint32, now clock.Mark) (bool, error) {
	m := c.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.queued {
		return false, errQueued
	}
	verdict, err := c.acquire(cost, 0, now)
	return verdict == reducer.Admit, err
}

var errQueued = &Error{Code: abi.BadArgument, Text: "callers may wait in this cell: use Acquire"}

// Acquire asks for a permit of the cost. caller identifies the caller in later
// effects, as when it waits. Step with the permit of the answer ends an admission:
// Release for a bulkhead, Record for a breaker, Cancel with the cost to refund a
// limiter; Leave ends a wait.
func (c *Cell) Acquire(cost, caller uint32, now clock.Mark, out *reducer.Out) (reducer.Answer, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	verdict, err := c.acquire(cost, caller, now)
	if err != nil {
		return reducer.Answer{}, err
	}
	return c.answer(verdict, out)
}

func (c *Cell) acquire(cost, caller uint32, now clock.Mark) (reducer.Verdict, error) {
	memory, err := c.m.memory()
	if err != nil {
		return 0, err
	}
	c.m.at(memory, now)
	verdict, err := c.m.call(acquire, uint64(c.handle), uint64(cost), uint64(caller), nan)
	return reducer.Verdict(verdict), err
}

// Step steps the cell with any action.
func (c *Cell) Step(a reducer.Action, now clock.Mark, out *reducer.Out) (reducer.Answer, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	memory, err := c.m.memory()
	if err != nil {
		return reducer.Answer{}, err
	}
	c.m.at(memory, now)
	permit := memory[c.m.slots+atPermit:]
	binary.LittleEndian.PutUint64(permit, a.Permit.Generation)
	binary.LittleEndian.PutUint64(permit[8:], a.Permit.ID)
	binary.LittleEndian.PutUint64(permit[16:], uint64(a.Permit.Mark))
	verdict, err := c.m.call(step, uint64(c.handle), uint64(a.Kind), uint64(a.Outcome), uint64(a.Cost), nan)
	if err != nil {
		return reducer.Answer{}, err
	}
	return c.answer(reducer.Verdict(verdict), out)
}

// Pass lets time pass: waits end, leases run out, a breaker changes its state.
func (c *Cell) Pass(now clock.Mark, out *reducer.Out) error {
	return c.simple(pass, 0, now, out)
}

// Wake returns the mark at which Pass next changes something for waiters or holders
// if nothing else happens; clock.Never for none, and always for a cell without a
// queue and leases.
func (c *Cell) Wake() clock.Mark {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return c.wake
}

// Adopt changes the cell to another configuration of its mechanism. It keeps its
// state as the mechanism says.
func (c *Cell) Adopt(k *Maker, now clock.Mark, out *reducer.Out) error {
	if k.m != c.m {
		return errOther
	}
	err := c.simple(adopt, k.handle, now, out)
	if err == nil {
		c.m.mu.Lock()
		defer c.m.mu.Unlock()
		c.queued = k.queued
	}
	return err
}

// simple calls an export whose verdict has no meaning.
func (c *Cell) simple(e export, other uint32, now clock.Mark, out *reducer.Out) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	memory, err := c.m.memory()
	if err != nil {
		return err
	}
	c.m.at(memory, now)
	args := []uint64{uint64(c.handle), uint64(other), nan}
	if e == pass {
		args = []uint64{uint64(c.handle), nan}
	}
	verdict, err := c.m.call(e, args...)
	if err != nil {
		return err
	}
	_, err = c.answer(reducer.Verdict(verdict), out)
	return err
}

// State appends the stable binary form of the state.
func (c *Cell) State(dst []byte) ([]byte, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if _, err := c.m.call(state, uint64(c.handle)); err != nil {
		return dst, err
	}
	text, err := c.m.left()
	return append(dst, text...), err
}

// Restore replaces the state by one that State appended, as it is. On an error
// nothing has changed.
func (c *Cell) Restore(src []byte, now clock.Mark, out *reducer.Out) error {
	return c.restore(src, nil, now, out)
}

// Revive is Restore for a state of another process: its marks are shifted by by, and
// its waiters and holders are dropped.
func (c *Cell) Revive(src []byte, by time.Duration, now clock.Mark, out *reducer.Out) error {
	return c.restore(src, &by, now, out)
}

func (c *Cell) restore(src []byte, by *time.Duration, now clock.Mark, out *reducer.Out) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	room, memory, err := c.m.makeRoom(len(src))
	if err != nil {
		return err
	}
	copy(room, src)
	c.m.at(memory, now)
	if by != nil {
		c.m.by(memory, *by)
	}
	verdict, err := c.m.call(restore, uint64(c.handle), uint64(len(src)), nan, nan)
	if err != nil {
		return err
	}
	_, err = c.answer(reducer.Verdict(verdict), out)
	return err
}

// The offsets of what a record about others has.
const (
	ofCaller      = unsafe.Offsetof(abi.Other{}.Caller)
	ofOtherKind   = unsafe.Offsetof(abi.Other{}.Kind)
	ofOtherReason = unsafe.Offsetof(abi.Other{}.Reason)
	otherSize     = unsafe.Sizeof(abi.Other{})
)

// answer returns the answer of the last call and appends its effects on others.
func (c *Cell) answer(verdict reducer.Verdict, out *reducer.Out) (answer reducer.Answer, err error) {
	memory, err := c.m.memory()
	if err != nil {
		return answer, err
	}
	if verdict > reducer.Wait {
		return answer, c.m.broken(errors.New("it gave a verdict that there is not"))
	}
	answer.Verdict = verdict
	if verdict == reducer.Reject {
		answer.Reason = reducer.Reason(c.m.read32(memory, atReason))
	}
	if verdict >= reducer.Admit {
		answer.Permit = permitOf(memory[c.m.slots+atPermit:])
	}
	if c.queued {
		c.wake = clock.Mark(c.m.read64(memory, atWake))
	}
	count := c.m.read32(memory, atCount)
	if count == 0 || out == nil {
		return answer, nil
	}
	records, err := c.m.part(memory, c.m.read32(memory, atRecords), uint64(count)*uint64(otherSize))
	for ; len(records) > 0; records = records[otherSize:] {
		*out = append(*out, reducer.Effect{
			Kind: reducer.EffectKind(records[ofOtherKind]), Reason: reducer.Reason(records[ofOtherReason]),
			Caller: uint64(binary.LittleEndian.Uint32(records[ofCaller:])), Permit: permitOf(records),
		})
	}
	return answer, err
}

// permitOf reads a permit.
func permitOf(src []byte) reducer.Permit {
	return reducer.Permit{
		Generation: binary.LittleEndian.Uint64(src), ID: binary.LittleEndian.Uint64(src[8:]),
		Mark: clock.Mark(binary.LittleEndian.Uint64(src[16:])),
	}
}
