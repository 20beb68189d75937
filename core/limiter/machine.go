package limiter

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Counter is what an algorithm offers to the queue in front of it.
type Counter[S any] interface {
	reducer.Cell[S]
	// Capacity returns the greatest cost that can ever be admitted.
	Capacity() uint32
	// Turn returns the least mark from now on at which the cost is admitted if
	// nothing else happens, clock.Never for a cost above the capacity.
	Turn(state S, cost uint32, now clock.Mark) clock.Mark
	// TurnAfter is Turn behind waiters that ask for ahead permits in all,
	// where there is a closed form.
	TurnAfter(state S, ahead uint64, cost uint32, now clock.Mark) (at clock.Mark, ok bool)
	// Free returns the whole permits that are free at now.
	Free(state S, now clock.Mark) uint32
	// Carry returns a state that has free permits at now, at most the capacity.
	Carry(free uint32, now clock.Mark) S
}

// Machine is an immutable limiter: a counter with a bounded queue before it.
type Machine[S any, C Counter[S]] struct {
	Counter C
	waiting Waiting
}

// New puts a queue before the counter.
func New[S any, C Counter[S]](counter C, w Waiting) (*Machine[S, C], error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	return &Machine[S, C]{Counter: counter, waiting: w}, nil
}

// Init implements reducer.Machine.
func (m *Machine[S, C]) Init(now clock.Mark) State[S] {
	return State[S]{Counter: m.Counter.Init(now), Last: now}
}

// Reduce implements reducer.Machine.
func (m *Machine[S, C]) Reduce(s State[S], a reducer.Action, now clock.Mark) (State[S], reducer.Effects) {
	s = m.Clone(s)
	var out reducer.Out
	answer := m.Step(&s, a, now, &out)
	return s, reducer.Effects{Answer: answer, Others: out}
}

// Step implements reducer.Cell.
func (m *Machine[S, C]) Step(s *State[S], a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	now = max(now, s.Last)
	s.Last = now
	switch a.Kind {
	case reducer.Acquire:
		return m.acquire(s, a, now, out)
	case reducer.TryAcquire, reducer.Peek, reducer.Reserve:
		return m.try(s, a, now)
	case reducer.Leave:
		if _, ok := s.Queue.Remove(a.ID); ok {
			return reducer.Answer{Verdict: reducer.Done}
		}
		return reducer.Answer{}
	case reducer.Expire:
		return m.expire(s, a.ID, now)
	case reducer.Tick:
		return m.tick(s, now, out)
	case reducer.Serve:
		return m.serve(s, now, out)
	case reducer.Reset:
		m.dropAll(s, reducer.ReasonCapacity, 0, out)
	}
	return m.Counter.Step(&s.Counter, a, now, out)
}

// behind reports whether a newcomer stands behind somebody.
func (m *Machine[S, C]) behind(s *State[S]) bool {
	return m.waiting.Order == Oldest && s.Queue.Len() > 0
}

func (m *Machine[S, C]) try(s *State[S], a reducer.Action, now clock.Mark) reducer.Answer {
	if a.Cost > 0 && a.Cost <= m.Counter.Capacity() && m.behind(s) {
		return reducer.Rejected(reducer.ReasonRate, m.turnBehind(s, a.Cost, now))
	}
	answer := m.Counter.Step(&s.Counter, a, now, nil)
	if answer.Reason == reducer.ReasonRate && s.Queue.Len() > 0 && (a.Kind == reducer.TryAcquire || a.Kind == reducer.Peek) {
		// Who waits is served first, whatever the order.
		answer.Mark = m.retryNewest(s, a.Cost, now, 0)
	}
	return answer
}

func (m *Machine[S, C]) acquire(s *State[S], a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	answer := m.try(s, a, now)
	w := m.waiting
	if answer.Verdict == reducer.Admit || answer.Reason == reducer.ReasonCapacity || w.Wait == 0 {
		return answer
	}
	turn, told := answer.Mark, answer.Mark
	full := s.Queue.Len() >= w.Queue
	latest := now.Add(w.Wait)
	switch {
	case w.Order == Newest && turn > latest:
		return reducer.Rejected(reducer.ReasonWait, m.retryNewest(s, a.Cost, now, w.Wait))
	case w.Order == Newest:
		if full {
			m.dropAll(s, reducer.ReasonFull, s.Queue.Len()-1, out)
		}
		told = clock.Never
	case full:
		return reducer.Rejected(reducer.ReasonFull, max(turn.Add(-w.Wait), m.roomAt(s, now)))
	case turn > latest:
		return reducer.Rejected(reducer.ReasonWait, turn.Add(-w.Wait))
	}
	return reducer.Waiting(s.Queue.Push(a.ID, a.Cost, latest), told, latest)
}

// dropAll puts out the oldest waiters until no more than keep are left.
func (m *Machine[S, C]) dropAll(s *State[S], why reducer.Reason, keep uint32, out *reducer.Out) {
	for s.Queue.Len() > keep {
		w, _ := s.Queue.Front()
		s.Queue.Remove(w.Ticket)
		*out = append(*out, reducer.Effect{Kind: reducer.Drop, Reason: why, Caller: w.Caller})
	}
}

// next returns who is served next.
func (m *Machine[S, C]) next(s *State[S]) (Waiter, bool) {
	if m.waiting.Order == Newest {
		return s.Queue.Back()
	}
	return s.Queue.Front()
}

// after returns who is served after w.
func (m *Machine[S, C]) after(s *State[S], w Waiter) (Waiter, bool) {
	if m.waiting.Order == Newest {
		return s.Queue.Before(w)
	}
	return s.Queue.Behind(w)
}

// expire ends the wait of a ticket, unless it is not over or the turn has come.
func (m *Machine[S, C]) expire(s *State[S], ticket uint64, now clock.Mark) reducer.Answer {
	waiter, ok := s.Queue.Find(ticket)
	if !ok {
		return reducer.Answer{}
	}
	if waiter.Ends > now || m.due(s, waiter, waiter.Ends) {
		return reducer.Waiting(ticket, clock.Never, waiter.Ends)
	}
	s.Queue.Remove(ticket)
	return reducer.Rejected(reducer.ReasonWait, clock.Never)
}

// due reports whether the waiter's turn, with those ahead of it, has come.
func (m *Machine[S, C]) due(s *State[S], waiter Waiter, now clock.Mark) bool {
	counter := m.Counter.Clone(s.Counter)
	for w, ok := m.next(s); ok; w, ok = m.after(s, w) {
		if m.Counter.Turn(counter, w.Cost, now) > now {
			return false
		}
		if w.Ticket == waiter.Ticket {
			return true
		}
		m.Counter.Step(&counter, reducer.Action{Kind: reducer.TryAcquire, Cost: w.Cost}, now, nil)
	}
	return false
}

func (m *Machine[S, C]) tick(s *State[S], now clock.Mark, out *reducer.Out) reducer.Answer {
	for w, ok := s.Queue.Soonest(); ok && w.Ends <= now && w.Ends != clock.Never; {
		later, more := s.Queue.Later(w)
		if !m.due(s, w, w.Ends) {
			s.Queue.Remove(w.Ticket)
			*out = append(*out, reducer.Effect{Kind: reducer.Drop, Reason: reducer.ReasonWait, Caller: w.Caller})
		}
		w, ok = later, more
	}
	return reducer.Answer{Verdict: reducer.Done}
}

func (m *Machine[S, C]) serve(s *State[S], now clock.Mark, out *reducer.Out) reducer.Answer {
	w, ok := m.next(s)
	if !ok {
		return reducer.Answer{}
	}
	answer := m.Counter.Step(&s.Counter, reducer.Action{Kind: reducer.TryAcquire, Cost: w.Cost}, now, nil)
	if answer.Verdict != reducer.Admit {
		return reducer.Answer{}
	}
	s.Queue.Remove(w.Ticket)
	*out = append(*out, reducer.Effect{Kind: reducer.Grant, Caller: w.Caller, Permit: answer.Permit})
	return reducer.Answer{Verdict: reducer.Done}
}

// Adopt takes over a counter's state, already carried over, and the waiters of
// another limiter. They keep their places and the ends of their waits; those
// whose cost is above the capacity are put out.
func (m *Machine[S, C]) Adopt(counter S, q Queue, now clock.Mark, out *reducer.Out) State[S] {
	s := State[S]{Counter: counter, Queue: q, Last: now}
	for w, ok := s.Queue.Front(); ok; {
		behind, more := s.Queue.Behind(w)
		if w.Cost > m.Counter.Capacity() {
			s.Queue.Remove(w.Ticket)
			*out = append(*out, reducer.Effect{Kind: reducer.Drop, Reason: reducer.ReasonCapacity, Caller: w.Caller})
		}
		w, ok = behind, more
	}
	return s
}

// NextServe returns the mark of the next waiter's turn and its caller.
func (m *Machine[S, C]) NextServe(s *State[S]) (at clock.Mark, caller uint64, ok bool) {
	w, ok := m.next(s)
	if !ok {
		return clock.Never, 0, false
	}
	return m.Counter.Turn(s.Counter, w.Cost, s.Last), w.Caller, true
}

// NextWake implements reducer.Machine: the next turn or end of a wait.
func (m *Machine[S, C]) NextWake(s State[S]) (clock.Mark, bool) {
	at, _, ok := m.NextServe(&s)
	if w, waits := s.Queue.Soonest(); waits {
		at, ok = min(at, w.Ends), true
	}
	return at, ok && at != clock.Never
}

// Clone implements reducer.Cell.
func (m *Machine[S, C]) Clone(s State[S]) State[S] {
	return State[S]{Counter: m.Counter.Clone(s.Counter), Queue: s.Queue.Clone(), Last: s.Last}
}

// Shift implements reducer.Cell.
func (m *Machine[S, C]) Shift(s State[S], by time.Duration) State[S] {
	s = m.Clone(s)
	s.Counter, s.Last = m.Counter.Shift(s.Counter, by), s.Last.Add(by)
	s.Queue.Shift(by)
	return s
}

// Fresh implements reducer.Cell.
func (m *Machine[S, C]) Fresh(s State[S], now clock.Mark) bool {
	return s.Queue.Len() == 0 && m.Counter.Fresh(s.Counter, max(now, s.Last))
}

// Wait returns the longest wait of a caller.
func (m *Machine[S, C]) Wait() time.Duration { return m.waiting.Wait }

// AppendText implements reducer.Cell, as in "free 0/10 waiting 2".
func (m *Machine[S, C]) AppendText(dst []byte, s State[S], now clock.Mark) []byte {
	dst = m.Counter.AppendText(dst, s.Counter, max(now, s.Last))
	if s.Queue.Len() > 0 {
		dst = append(dst, " waiting "...)
		dst = strconv.AppendUint(dst, uint64(s.Queue.Len()), 10)
	}
	return dst
}
