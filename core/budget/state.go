package budget

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/wire"
)

const buckets = 10

// Bucket counts a tenth of the window: first attempts and retries, or, under Adaptive,
// attempts that ended and those of them that failed.
type Bucket struct{ First, Retries uint32 }

// State is a retry budget: comparable, without pointers. Before the first count
// it is zero, and while all tokens are there.
type State struct {
	Origin  clock.Mark // of the first count of all
	Last    clock.Mark // of the latest one
	Head    uint64     // number of the bucket of Last
	Buckets [buckets]Bucket
	Taken   uint32 // of the tokens, in thousandths; Windowed takes none
	Begun   bool
}

const tag = 'R'

var errState = wire.Invalid("budget: a bucket before the first one, or an empty one behind all others")

var errTokens = wire.Invalid("budget: more tokens taken than there are")

// Check implements reducer.Cell: a state is sound when its bytes are its own.
func (m *Machine) Check(s *State) error {
	var again State
	err := m.Decode(m.Encode(nil, s), &again)
	if err == nil && again != *s {
		err = errState
	}
	return err
}

// code codes, for tokens, what was taken, as a varint; for a window how many buckets follow, 0 before the first count; Last, Last less
// Origin, and the buckets from that of Last back, without the oldest ones that are
// empty. Numbers but Last are varints.
func (m *Machine) code(c *wire.Coder, s *State) {
	if m.inTokens() {
		if c.Uvarint32(&s.Taken); s.Taken > m.tokens.capacity {
			c.Fail(errTokens)
		}
		return
	}
	kept := uint64(0)
	if s.Begun {
		for kept = buckets; kept > 1 && s.Buckets[(s.Head+buckets+1-kept)%buckets] == (Bucket{}); kept-- {
		}
	}
	c.Uvarint(&kept)
	if kept == 0 {
		return
	}
	c.Mark(&s.Last)
	since := uint64(s.Last) - uint64(s.Origin)
	c.Uvarint(&since)
	if c.Reads() {
		s.Begun, s.Origin = true, clock.Mark(uint64(s.Last)-since)
		if s.Origin > s.Last || kept > buckets {
			c.Fail(errState)
			return
		}
		s.Head = m.bucket(s, s.Last)
	}
	for back := range kept {
		if back > s.Head {
			c.Fail(errState)
			return
		}
		b := &s.Buckets[(s.Head-back)%buckets]
		c.Uvarint32(&b.First)
		c.Uvarint32(&b.Retries)
		if c.Reads() && back > 0 && back == kept-1 && *b == (Bucket{}) {
			c.Fail(errState)
		}
	}
}

// MaxSize implements reducer.Cell.
func (m *Machine) MaxSize() int {
	if m.inTokens() {
		return wire.HeaderSize + wire.UvarintSize(1<<32-1)
	}
	return wire.HeaderSize + 1 + 8 + wire.UvarintSize(1<<64-1) + 2*buckets*wire.UvarintSize(1<<32-1)
}

// Encode implements reducer.Cell.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, m.digest)
	m.code(&c, s)
	return c.Bytes()
}

// Decode implements reducer.Cell. A state that was made under another window
// is refused with reducer.ErrConfiguration.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, m.digest)
	m.code(&c, s)
	return c.Close()
}
