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
	if !s.sound() {
		return errState
	}
	return nil
}

func (s *State) sound() bool {
	if s.Begun {
		return s.Last >= s.Origin
	}
	for i := range s.Buckets {
		if s.Buckets[i] != (Bucket{}) {
			return false
		}
	}
	return s.Head == 0 && s.Origin == 0
}

// code returns false for bytes that no state has.
func (s *State) code(c *wire.Coder) bool {
	begun := uint8(0)
	if s.Begun {
		begun = 1
	}
	c.U8(&begun)
	s.Begun = begun == 1
	c.Mark(&s.Origin)
	c.Mark(&s.Last)
	c.U64(&s.Head)
	for i := range s.Buckets {
		b := &s.Buckets[i]
		c.U32(&b.First)
		c.U32(&b.Retries)
	}
	return begun <= 1
}

// AppendState implements reducer.Cell: header, Begun, Origin, Last, Head, the buckets.
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
	known := s.code(&c)
	if err := c.Close(); err != nil {
		return err
	}
	if !known || !s.sound() {
		return wire.Broken(errState)
	}
	return nil
}
