package limiter

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// tail is the count as it will be after the queue, with each waiter served at its own
// turn. It is kept between steps, so that a refusal costs the same however many
// callers wait. It is computed again when the queue or the count changed by something
// other than a newcomer at the end and serving the head on time.
type tail struct {
	known bool
	count count
	at    clock.Mark // of the last waiter's turn
	head  clock.Mark // of the first waiter's turn, until which the rest holds
}

// foresee makes the tail known.
func (m *Machine) foresee(s *State, now clock.Mark) *tail {
	t := &s.line.tail
	if t.known && now <= t.head {
		return t
	}
	*t = tail{known: true, count: s.count.clone(), at: now}
	for i := range int(s.Waiting()) {
		m.follow(t, s.line.queue.At(i).Cost)
		if i == 0 {
			t.head = t.at
		}
	}
	return t
}

// follow serves one more waiter at its turn.
func (m *Machine) follow(t *tail, cost uint32) {
	t.at = m.algorithm.turn(&t.count, cost, t.at)
	m.pass(&t.count, cost, t.at)
}

// pass takes what a waiter takes that is served at a mark: nothing where calls are charged
// at their ends, so that all whose turn has come pass at one mark.
func (m *Machine) pass(c *count, cost uint32, at clock.Mark) {
	if m.config.Charge != ChargeEnd {
		m.algorithm.take(c, cost, at)
	}
}

// extend notes a newcomer at the end of the queue.
func (m *Machine) extend(s *State, cost uint32) {
	if t := &s.line.tail; t.known {
		m.follow(t, cost)
	}
}

// advance notes that the head of the queue was served.
func (m *Machine) advance(s *State, now clock.Mark) {
	t := &s.line.tail
	if !t.known || now != t.head || m.config.Order == Newest || m.config.Charge == ChargeEnd {
		s.line.forget()
		return
	}
	if w := s.line.queue.Front(); w != nil {
		t.head = m.algorithm.turn(&s.count, w.Cost, now)
	} else {
		s.line.forget()
	}
}

// turnBehind returns the turn of a newcomer behind all waiters.
func (m *Machine) turnBehind(s *State, cost uint32, now clock.Mark) clock.Mark {
	if m.config.Charge != ChargeEnd {
		if at, ok := m.algorithm.turnAfter(&s.count, s.line.queue.Cost(), cost, now); ok {
			return at
		}
	}
	t := m.foresee(s, now)
	return m.algorithm.turn(&t.count, cost, t.at)
}

// roomAt returns the mark at which the full queue has a place.
func (m *Machine) roomAt(s *State, now clock.Mark) clock.Mark {
	surplus := int(s.Waiting() - m.config.Queue)
	if surplus == 0 {
		return m.algorithm.turn(&s.count, s.line.queue.Front().Cost, now)
	}
	// The queue was longer before a reconfiguration.
	t := tail{count: s.count.clone(), at: now}
	for i := range surplus + 1 {
		m.follow(&t, s.line.queue.At(i).Cost)
	}
	return t.at
}

// retryAt returns the least mark at which a caller that may wait would not be
// refused, if nothing else happens: its turn, computed from the present count, comes
// within its wait and before its deadline, which is later by the same time, and the
// queue has room for it.
func (m *Machine) retryAt(s *State, a *reducer.Action, turn, now clock.Mark) clock.Mark {
	patience := m.config.Wait
	if deadline := a.Deadline(); deadline != clock.Never {
		patience = min(patience, max(0, deadline.Sub(now)-1))
	}
	if m.config.Order == Newest {
		return m.retryNewest(s, a.Cost, now, patience)
	}
	at := turn.Add(-patience) // later than now, unless the queue is full
	if s.Waiting() >= m.config.Queue {
		at = max(at, m.roomAt(s, now))
	}
	return at
}

// retryNewest is the answer to a refusal before a queue that serves the newest waiter first. It
// is kept between steps, so that a caller that asks again does not walk through the queue.
type retryNewest struct {
	cost     uint32
	patience time.Duration
	at       clock.Mark
	// It holds from the mark at which it was computed to the turn of the first waiter or the
	// first end of a wait.
	from, until clock.Mark
}

// holds reports whether the answer is that to a refusal at a mark. The zero value is none.
func (k *retryNewest) holds(now clock.Mark) bool {
	return k.from <= now && now <= k.until && now < k.at
}

// retryNewest returns the least mark at which a newcomer's turn comes within its
// wait, when the newest waiter is served before it and the waits of the others end.
func (m *Machine) retryNewest(s *State, cost uint32, now clock.Mark, patience time.Duration) clock.Mark {
	if s.Waiting() == 0 {
		return m.walkNewest(s, cost, now, patience)
	}
	k := &s.line.newest
	if k.cost == cost && k.patience == patience && k.holds(now) {
		return k.at
	}
	at := m.walkNewest(s, cost, now, patience)
	until := min(s.line.queue.EndsAt(), m.algorithm.turn(&s.count, m.next(s).Cost, now))
	*k = retryNewest{cost, patience, at, now, until}
	return at
}

// walkNewest computes retryNewest. The next waiter blocks those behind it until its wait ends;
// where the waits end in the order of arrival, theirs end no later.
func (m *Machine) walkNewest(s *State, cost uint32, now clock.Mark, patience time.Duration) clock.Mark {
	c := s.count.clone()
	blocked := clock.Always
	for i := range int(s.Waiting()) {
		at := max(now, m.algorithm.turn(&c, cost, now).Add(-patience))
		w := m.served(s, i)
		turn := m.algorithm.turn(&c, w.Cost, now)
		if turn > w.Ends || w.Ends <= blocked {
			if at <= w.Ends {
				return at
			}
			blocked = max(blocked, w.Ends)
			now = max(now, w.Ends)
			if s.line.queue.InOrder() {
				break
			}
			continue
		}
		if at < turn {
			return at
		}
		now = turn
		m.pass(&c, w.Cost, now)
	}
	return max(now, m.algorithm.turn(&c, cost, now).Add(-patience))
}
