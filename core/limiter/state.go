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

// State is a counter's state and the queue before it.
type State[S any] struct {
	Counter S
	Queue   Queue
	Last    clock.Mark
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
	dst = wire.Mark(wire.Header(dst, tag), s.Last)
	counter := m.Counter.AppendState(nil, s.Counter)
	dst = append(wire.U32(dst, uint32(len(counter))), counter...)
	return s.Queue.Append(dst)
}

// DecodeState implements reducer.Cell.
func (m *Machine[S, C]) DecodeState(src []byte) (State[S], error) {
	r := wire.NewReader(src, tag)
	s := State[S]{Last: r.Mark()}
	counter, err := m.Counter.DecodeState(r.Bytes(r.U32()))
	if err != nil {
		return State[S]{}, err
	}
	s.Counter, s.Queue = counter, queue.Read(&r)
	if err := r.Close(); err != nil {
		return State[S]{}, err
	}
	if err := m.Check(s); err != nil {
		return State[S]{}, wire.Broken(err)
	}
	return s, nil
}
