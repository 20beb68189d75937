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
	Turn(state *S, cost uint32, now clock.Mark) clock.Mark
	// TurnAfter is Turn behind waiters that ask for ahead permits in all,
	// where there is a closed form.
	TurnAfter(state *S, ahead uint64, cost uint32, now clock.Mark) (at clock.Mark, ok bool)
	// Free returns the whole permits that are free at now.
	Free(state *S, now clock.Mark) uint32
	// Carry returns a state that has free permits at now, at most the capacity.
	Carry(free uint32, now clock.Mark) S
}

// Machine is an immutable limiter: a counter with a bounded queue before it. What
// it decides is decided by its Waiting; the machine knows the types.
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
	return State[S]{Counter: m.Counter.Init(now), Line: Line{Last: now}}
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
	return m.waiting.Step(&s.Line, m.count(s), a, now, out)
}

// count is the counter as the queue sees it.
func (m *Machine[S, C]) count(s *State[S]) Count { return &Counted[S, C]{m.Counter, &s.Counter} }

// Counted makes a Count of a counter and its state.
type Counted[S any, C Counter[S]] struct {
	Counter C
	State   *S
}

// Step implements Count.
func (c *Counted[S, C]) Step(a reducer.Action, now clock.Mark) reducer.Answer {
	return c.Counter.Step(c.State, a, now, nil)
}

// Capacity implements Count.
func (c *Counted[S, C]) Capacity() uint32 { return c.Counter.Capacity() }

// Turn implements Count.
func (c *Counted[S, C]) Turn(cost uint32, now clock.Mark) clock.Mark {
	return c.Counter.Turn(c.State, cost, now)
}

// TurnAfter implements Count.
func (c *Counted[S, C]) TurnAfter(ahead uint64, cost uint32, now clock.Mark) (clock.Mark, bool) {
	return c.Counter.TurnAfter(c.State, ahead, cost, now)
}

// Copy implements Count.
func (c *Counted[S, C]) Copy() Count {
	state := c.Counter.Clone(*c.State)
	return &Counted[S, C]{c.Counter, &state}
}

// Adopt takes over a counter's state, already carried over, and the waiters of
// another limiter. They keep their places and the ends of their waits; those
// whose cost is above the capacity are put out.
func (m *Machine[S, C]) Adopt(counter S, q Queue, now clock.Mark, out *reducer.Out) State[S] {
	s := State[S]{Counter: counter, Line: Line{Queue: q, Last: now}}
	s.Line.Fit(m.count(&s), out)
	return s
}

// NextWake implements reducer.Machine: the next turn or end of a wait.
func (m *Machine[S, C]) NextWake(s State[S]) (clock.Mark, bool) {
	at := m.waiting.Wake(&s.Line, m.count(&s))
	return at, at != clock.Never
}

// Clone implements reducer.Cell.
func (m *Machine[S, C]) Clone(s State[S]) State[S] {
	s.Counter, s.Queue = m.Counter.Clone(s.Counter), s.Queue.Clone()
	return s
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

// AppendText implements reducer.Cell, as in "free 0/10 waiting 2".
func (m *Machine[S, C]) AppendText(dst []byte, s State[S], now clock.Mark) []byte {
	return s.Line.AppendText(m.Counter.AppendText(dst, s.Counter, max(now, s.Last)))
}

// AppendText appends who waits, behind the text of the counter.
func (l *Line) AppendText(dst []byte) []byte {
	if l.Queue.Len() > 0 {
		dst = append(dst, " waiting "...)
		dst = strconv.AppendUint(dst, uint64(l.Queue.Len()), 10)
	}
	return dst
}
