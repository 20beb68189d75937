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

// AppendState implements reducer.Cell: header, TAT, Refunded.
func (m *Machine) AppendState(dst []byte, s State) []byte {
	return wire.U64(wire.Mark(wire.Header(dst, tag), s.TAT), s.Refunded)
}

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	r := wire.NewReader(src, tag)
	s := State{TAT: r.Mark(), Refunded: r.U64()}
	if err := r.Close(); err != nil {
		return State{}, err
	}
	return s, nil
}
