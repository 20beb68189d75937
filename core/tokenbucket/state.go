package tokenbucket

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
)

// State is a token bucket that may refund later: 16 bytes, comparable. Where no
// refund is ever asked for, TAT alone is the state: 8 bytes, see Machine.Take.
type State struct {
	// TAT is the theoretical arrival time: when the bucket is full again.
	TAT clock.Mark
	// Refunded is the time given back so far. It wraps around; only differences
	// to a permit's own value are used.
	Refunded uint64
}

const tag = 'T'

// Check implements reducer.Cell. Every pair of words is a bucket.
func (m *Machine) Check(State) error { return nil }

func (s *State) code(c *wire.Coder) {
	c.Mark(&s.TAT)
	c.U64(&s.Refunded)
}

// AppendState implements reducer.Cell: header, TAT, Refunded.
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.Encode(dst, &s) }

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	return wire.Decoded(src, m.Decode)
}

// Encode is AppendState in place.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, 0)
	s.code(&c)
	return c.Bytes()
}

// Decode is DecodeState in place, into a state that is zero. After an error the
// state means nothing.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, 0)
	s.code(&c)
	return c.Close()
}
