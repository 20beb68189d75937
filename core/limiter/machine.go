package limiter

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable limiter: an algorithm, and a bounded queue before it.
type Machine struct {
	config    Config
	algorithm algorithm
	digest    uint32
	block     *backoff.Machine // nil without blocks
}

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	m := &Machine{config: c}
	err := m.algorithm.set(&c)
	e.Add(err)
	c.checkRest(&e, err == nil)
	if err := e.Err(); err != nil {
		return nil, err
	}
	m.digest = m.algorithm.digest()
	if c.Block.on() {
		if m.block, err = backoff.New(c.Block.For); err != nil {
			return nil, reducer.BadDuration("block.for", c.Block.For.Base, "a backoff that is valid")
		}
		// The bytes of a state have the row of blocks, too.
		m.digest = uint32(wire.NewDigest.Add(uint64(m.digest)).Add('B'))
	}
	return m, nil
}

// Config returns the configuration.
func (m *Machine) Config() Config { return m.config }

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.algorithm.capacity() }

// Begin implements reducer.Cell.
func (m *Machine) Begin(s *State, now clock.Mark) {
	s.Last, s.count = now, m.algorithm.begin(now)
}

// Step implements reducer.Cell.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	m.step(&answer, s, &a, now, out)
	return answer
}

// step is Step without copies of the action and of the answer, which is zero.
func (m *Machine) step(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) {
	if assert.On {
		m.assertStep(answer, s, a, now, out)
		return
	}
	m.apply(answer, s, a, now, out)
}

func (m *Machine) apply(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) {
	now = max(now, s.Last)
	m.act(answer, s, a, now, out)
	answer.Changed = s.settle(now)
}

// settle ends a step at a mark, and reports whether it changed the state.
func (s *State) settle(now clock.Mark) (changed bool) {
	if changed = s.count.changed; changed {
		s.Last, s.count.changed = now, false
	}
	return changed
}

func (m *Machine) act(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) {
	switch a.Kind {
	case reducer.Peek:
		m.peek(answer, s, a, now)
		return
	case reducer.Leave, reducer.Expire:
		if w := s.find(a.ID); w != nil {
			m.leave(answer, s, a.Kind, w, now)
			return
		}
	}
	// Ends come first, whether or not a tick came in time. An action that ends a
	// permit is itself one of the ends of its mark, and the driver orders those.
	m.endWaits(s, now, !givesBack(a.Kind), out)
	switch a.Kind {
	case reducer.Acquire:
		m.acquire(answer, s, a, now, out)
	case reducer.TryAcquire, reducer.Reserve:
		m.try(answer, s, a, now)
	case reducer.Serve:
		answer.Verdict = done(m.serve(s, now, out))
	case reducer.Cancel:
		answer.Verdict = done(m.refund(s, a, a.Cost, now))
	case reducer.Settle:
		m.settle(answer, s, a, now)
	case reducer.Tick, reducer.Commit, reducer.Release:
		answer.Verdict = reducer.Done
	case reducer.Drain:
		m.algorithm.drain(&s.count, now)
		s.recount()
		answer.Verdict = reducer.Done
	case reducer.Reset:
		m.reset(s, now, out)
		answer.Verdict = reducer.Done
	case reducer.Transition:
		answer.Verdict = done(m.unblock(s, now))
	}
}

func givesBack(k reducer.Kind) bool {
	return k == reducer.Cancel || k == reducer.Settle || k == reducer.Commit || k == reducer.Release
}

func done(ok bool) reducer.Verdict {
	if ok {
		return reducer.Done
	}
	return reducer.Stale
}

func reject(answer *reducer.Answer, why reducer.Reason, at clock.Mark) {
	answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, why, at
}

// rejectRate refuses a cost whose turn is later. The retry-after of a fixed window is later
// than the turn by a part of the spread that depends on the time until the turn alone, as
// states that are moved in time answer alike. The factor is 2^64 divided by the golden ratio:
// times that are close together are spread evenly.
func (m *Machine) rejectRate(answer *reducer.Answer, kind reducer.Kind, turn, now clock.Mark) {
	if m.config.Spread.Positive() && kind != reducer.Reserve {
		part := uint64(turn.Sub(now)) * 0x9e3779b97f4a7c15
		later, _ := bits.Mul64(part, uint64(m.config.Spread.Of(m.config.Period))+1)
		turn = turn.Add(time.Duration(later))
	}
	reject(answer, reducer.ReasonRate, turn)
}

// Enter is the Acquire of a step that admits, without its action and answer. It
// returns false and changes nothing when the caller must use Step: the cost is not
// admitted, is 0, a caller waits, or one was refused by a limiter with blocks.
func (m *Machine) Enter(s *State, cost uint32, _ uint64, _, now clock.Mark) (reducer.Permit, bool) {
	now = max(now, s.Last)
	if cost == 0 || s.line != nil && (s.Waiting() > 0 || m.block != nil) || !m.algorithm.take(&s.count, cost, now) {
		return reducer.Permit{}, false
	}
	s.settle(now)
	if assert.On {
		m.assert(s)
	}
	return m.algorithm.permit(&s.count, now), true
}

// ReadyAt returns the mark from which a permit may be used that the last step
// granted or reserved.
func (m *Machine) ReadyAt(s *State, p reducer.Permit) clock.Mark {
	return m.algorithm.readyAt(&s.count, &p)
}

// try is the acquire of a caller that does not wait.
func (m *Machine) try(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	if m.block != nil {
		m.tryBlocking(answer, s, a, now)
		return
	}
	m.ask(answer, s, a, now)
}

// ask is try without blocks.
func (m *Machine) ask(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	if a.Cost > 0 && m.behind(s) && a.Cost <= m.algorithm.capacity() {
		m.rejectRate(answer, a.Kind, m.turnBehind(s, a.Cost, now), now)
		return
	}
	at, took := now, false
	if a.Kind == reducer.Reserve && a.Cost > 0 {
		at, took = m.algorithm.reserve(&s.count, a.Cost, a.Mark, now)
	} else {
		took = m.algorithm.take(&s.count, a.Cost, now)
	}
	if took {
		if m.config.Order == Newest {
			s.recount() // of those that wait
		}
		answer.Verdict, answer.Permit = reducer.Admit, m.algorithm.permit(&s.count, at)
		return
	}
	m.refused(answer, s, a, now)
}

// refused is the refusal of a caller that does not wait.
func (m *Machine) refused(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	switch {
	case a.Cost > m.algorithm.capacity():
		reject(answer, reducer.ReasonCapacity, clock.Never)
	case s.Waiting() > 0 && (a.Kind == reducer.TryAcquire || a.Kind == reducer.Peek):
		// Waiters are served first, whatever the order.
		m.rejectRate(answer, a.Kind, m.retryNewest(s, a.Cost, now, 0), now)
	default:
		m.rejectRate(answer, a.Kind, m.algorithm.turn(&s.count, a.Cost, now), now)
	}
}

// peek answers as TryAcquire at now would, but begins no block: the mark of a refusal
// that would is the one at which the cost is free.
func (m *Machine) peek(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	if m.behind(s) && s.line.queue.EndsAt() <= now {
		// Some waits are over that no tick has ended. Newest first, retryNewest skips them.
		var rest State
		if n, ok := s.line.queue.Over(now); ok {
			rest = *s
			rest.line = &line{queue: s.line.queue.Behind(n), streak: s.line.streak}
		} else {
			m.Clone(&rest, s)
			m.endWaits(&rest, now, true, new(reducer.Out))
		}
		s = &rest
	}
	if m.block != nil && m.barred(answer, s, a.Cost, now) {
		return
	}
	if a.Cost > 0 && m.behind(s) && a.Cost <= m.algorithm.capacity() {
		m.rejectRate(answer, a.Kind, m.turnBehind(s, a.Cost, now), now)
		return
	}
	answer.Verdict, answer.Mark = reducer.Admit, now
	if a.Cost > 0 && (now == clock.Never || m.algorithm.turn(&s.count, a.Cost, now) != now) {
		m.refused(answer, s, a, now)
	}
	answer.Free = m.algorithm.free(&s.count, now)
}

func (m *Machine) refund(s *State, a *reducer.Action, cost uint32, now clock.Mark) bool {
	ok := m.algorithm.refund(&s.count, &a.Permit, cost, a.Cost, now)
	if ok {
		s.recount()
	}
	return ok
}

// settle takes or returns the difference between the cost of a permit and its use. What
// would make the debt greater than the capacity is dropped.
func (m *Machine) settle(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	used, ok := a.Value, true
	switch {
	case !s.count.knows(a.Generation) || now == clock.Never:
		ok = false
	case used < uint64(a.Cost):
		ok = m.refund(s, a, a.Cost-uint32(used), now)
	case used > uint64(a.Cost):
		more := used - uint64(a.Cost)
		charged := min(more, m.algorithm.chargeable(&s.count, now))
		answer.Drop(more - charged)
		if charged > 0 {
			m.algorithm.charge(&s.count, charged, now)
			s.recount()
		}
	}
	answer.Verdict = done(ok)
}

// reset begins with a new state. Permits from before it are void.
func (m *Machine) reset(s *State, now clock.Mark, out *reducer.Out) {
	if s.line != nil {
		s.line.queue.DropTo(0, reducer.ReasonCapacity, out)
		s.line.forget()
		s.line.streak = streak{}
	}
	generation := s.count.generation
	s.count = m.algorithm.begin(now)
	s.count.generation = generation
	s.count.void() // a change
}

// Inherit adopts the state of another configuration: the count
// by the rules of its algorithm, of another algorithm the whole free permits. Waiters
// keep their places and the ends of their waits, also where the new configuration has
// no queue; those whose cost is above the capacity are dropped (capacity).
func (m *Machine) Inherit(s *State, from reducer.Cell[State], now clock.Mark, out *reducer.Out) {
	old, ok := from.(*Machine)
	if !ok {
		*s = State{}
		m.Begin(s, now)
		return
	}
	now = max(now, s.Last)
	s.count = m.algorithm.adopt(&s.count, &old.algorithm, now)
	if s.line != nil {
		s.line.forget()
		if m.block == nil {
			s.setStreak(streak{})
		}
	}
	for i := 0; i < int(s.Waiting()); {
		w := s.line.queue.At(i)
		if w.Cost > m.algorithm.capacity() {
			s.line.queue.Drop(w, reducer.ReasonCapacity, out)
			s.count.changed = true
		} else {
			i++
		}
	}
	s.settle(now)
	if assert.On {
		m.assert(s)
	}
}

// Due implements reducer.Cell: the next turn or end of a wait.
func (m *Machine) Due(s *State) reducer.Due {
	due := reducer.NothingDue()
	if s.Waiting() > 0 {
		due.Serves, due.Caller = m.serves(s)
		due.Wake = min(due.Serves, s.line.queue.EndsAt())
	}
	return due
}

// unused reports whether the limiter at a mark decides as a new one.
func (m *Machine) unused(s *State, now clock.Mark) bool {
	return s.Waiting() == 0 && m.algorithm.fresh(&s.count, now) && (m.block == nil || m.forgets(s, now))
}

// Class implements reducer.Cell: a limit is used up while it refuses a cost of 1. A permit must
// not outlive the state that granted it: the holder of a permit keeps the state.
func (m *Machine) Class(s *State, now clock.Mark) (reducer.Class, clock.Mark) {
	now = max(now, s.Last)
	if until, blocked := m.blockedUntil(s, now); blocked {
		return reducer.Blocked, until
	}
	if turn := m.algorithm.turn(&s.count, 1, now); turn > now {
		return reducer.UsedUp, turn
	}
	if m.unused(s, now) {
		return reducer.Unused, clock.Never
	}
	at := max(m.algorithm.freshAt(&s.count), m.forgetsAt(s))
	if at <= now {
		at = now.Add(1)
	}
	return reducer.InUse, at
}

// Blocks reports whether a limiter begins blocks.
func (m *Machine) Blocks() bool { return m.block != nil }

// AppendText implements reducer.Cell, as in "free 0/10 waiting 2" and "free 3/10 blocked
// until 1m30s".
func (m *Machine) AppendText(dst []byte, s *State, now clock.Mark) []byte {
	now = max(now, s.Last)
	dst = m.algorithm.appendText(dst, &s.count, now)
	if until, ok := m.blockedUntil(s, now); ok {
		dst = append(append(dst, " blocked until "...), until.String()...)
	}
	if n := s.Waiting(); n > 0 {
		dst = strconv.AppendUint(append(dst, " waiting "...), uint64(n), 10)
	}
	return dst
}
