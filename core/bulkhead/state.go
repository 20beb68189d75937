package bulkhead

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/places"
	"github.com/sluice-go/sluice/core/queue"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// State has the holders of places and the waiters. Its memory grows to the most
// places ever held, at most Concurrent; its encoding has only the held ones.
type State struct {
	Queue   queue.Queue
	Last    clock.Mark // of the latest change
	changed bool       // by the current step
	places.Holders
}

// touch notes a change, and makes now the mark of the latest one.
func (s *State) touch(now clock.Mark) { s.Last, s.changed = now, true }

// Clone implements reducer.Cell.
func (m *Machine) Clone(dst, src *State) {
	*dst = *src
	dst.Queue, dst.Holders = src.Queue.Clone(), src.Holders.Clone()
}

func (s *State) hold(caller uint64, cost uint32, until, now clock.Mark) reducer.Permit {
	s.touch(now)
	return s.Hold(caller, cost, until, now)
}

func (s *State) release(p *reducer.Permit, now clock.Mark) bool {
	if !s.Release(p) {
		return false
	}
	s.touch(now)
	return true
}

// Check implements reducer.Cell: a state is sound when its bytes are those of the
// same holders and waiters.
func (m *Machine) Check(s *State) error {
	if err := s.Queue.Check(); err != nil {
		return err
	}
	if !s.Linked() {
		return places.Err
	}
	var again State
	if err := m.Decode(m.Encode(nil, s), &again); err != nil {
		return err
	}
	return s.Holders.Check(&again.Holders)
}

const tag = 'H'

// code codes Last, the holders, the queue, and the costs above 1.
func (s *State) code(c *wire.Coder) {
	c.Mark(&s.Last)
	costs := s.Holders.Code(c)
	s.Queue.Code(c)
	if costs {
		s.CodeCosts(c)
	}
}

// MaxSize implements reducer.Cell. A queue that was used takes the number of its last
// ticket.
func (m *Machine) MaxSize() int {
	size := wire.HeaderSize + 8 + places.MaxSize(uint64(m.config.Concurrent), uint64(m.config.Lease)) + 1
	if m.config.Queue > 0 {
		size += wire.UvarintSize(1<<64 - 1)
	}
	return size
}

// Encode implements reducer.Cell.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, uint32(wire.NewDigest))
	s.code(&c)
	return c.Bytes()
}

// Decode implements reducer.Cell. No setting shapes the bytes: a state is
// read under every configuration.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, uint32(wire.NewDigest))
	s.code(&c)
	if err := c.Close(); err != nil {
		return err
	}
	if err := s.Queue.Check(); err != nil {
		return wire.Broken(err)
	}
	return nil
}
