package limiter

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/queue"
	"github.com/sluice-go/sluice/core/internal/wire"
)

// Queue holds the waiters of a limiter.
type Queue = queue.Queue

// Waiter is one of them.
type Waiter = queue.Waiter

// Line is what a limiter's state has beside its counter.
type Line struct {
	Queue Queue
	Last  clock.Mark
}

// State is a counter's state and the queue before it.
type State[S any] struct {
	Counter S
	Line
}

const tag = 'L'

// Check implements reducer.Cell.
func (m *Machine[S, C]) Check(s State[S]) error {
	if err := s.Queue.Check(); err != nil {
		return err
	}
	return m.Counter.Check(s.Counter)
}

// AppendState implements reducer.Cell: header, Last, the length of the
// counter's state and that state, the queue.
func (m *Machine[S, C]) AppendState(dst []byte, s State[S]) []byte {
	return s.Line.Encode(dst, m.Counter.AppendState(nil, s.Counter))
}

// Encode appends the state of a limiter whose counter's state is encoded already.
func (l *Line) Encode(dst, counter []byte) []byte {
	c := wire.Writer(dst, tag, 0)
	l.code(&c, &counter)
	return c.Bytes()
}

func (l *Line) code(c *wire.Coder, counter *[]byte) {
	c.Mark(&l.Last)
	c.Blob(counter)
	l.Queue.Code(c)
}

// Decode reads the state of a limiter into a line that is zero, and returns the
// encoded state of the counter.
func (l *Line) Decode(src []byte) (counter []byte, err error) {
	c := wire.Reader(src, tag, 0)
	l.code(&c, &counter)
	if err := c.Close(); err != nil {
		return nil, err
	}
	if err := l.Queue.Check(); err != nil {
		return nil, wire.Broken(err)
	}
	return counter, nil
}

// DecodeState implements reducer.Cell.
func (m *Machine[S, C]) DecodeState(src []byte) (State[S], error) {
	var s State[S]
	counter, err := s.Line.Decode(src)
	if err != nil {
		return State[S]{}, err
	}
	if s.Counter, err = m.Counter.DecodeState(counter); err != nil {
		return State[S]{}, err
	}
	return s, nil
}
