package budget

import (
	"errors"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
)

const buckets = 10

// Bucket counts a tenth of the window.
type Bucket struct{ First, Retries uint32 }

// State is a retry budget: comparable, without pointers.
type State struct {
	Origin  clock.Mark // the first admission of all
	Last    clock.Mark
	Head    uint64 // number of the present bucket
	Buckets [buckets]Bucket
	Begun   bool
}

// begin cuts the buckets from now on, if nothing was counted before. Where a
// budget is put in force while calls run, that may be a retry.
func (s *State) begin(now clock.Mark) *State {
	if !s.Begun {
		*s = State{Begun: true, Origin: now, Last: now}
	}
	return s
}

// bucket returns the present one, which rotate has made.
func (s *State) bucket() *Bucket { return &s.Buckets[s.Head%buckets] }

const tag = 'R'

var errState = errors.New("budget: counts before it has begun")

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error {
	if s.Begun && s.Last < s.Origin || !s.Begun && (s.Head != 0 || s.Buckets != [buckets]Bucket{} || s.Origin != 0) {
		return errState
	}
	return nil
}

// AppendState implements reducer.Cell: header, Begun, Origin, Last, Head, the buckets.
func (m *Machine) AppendState(dst []byte, s State) []byte {
	begun := byte(0)
	if s.Begun {
		begun = 1
	}
	dst = append(wire.Header(dst, tag), begun)
	dst = wire.U64(wire.Mark(wire.Mark(dst, s.Origin), s.Last), s.Head)
	for _, b := range s.Buckets {
		dst = wire.U32(wire.U32(dst, b.First), b.Retries)
	}
	return dst
}

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	r := wire.NewReader(src, tag)
	begun := r.U8()
	s := State{Begun: begun == 1, Origin: r.Mark(), Last: r.Mark(), Head: r.U64()}
	for i := range s.Buckets {
		s.Buckets[i] = Bucket{First: r.U32(), Retries: r.U32()}
	}
	if err := r.Close(); err != nil {
		return State{}, err
	}
	if err := m.Check(s); err != nil || begun > 1 {
		return State{}, wire.Broken(errState)
	}
	return s, nil
}
