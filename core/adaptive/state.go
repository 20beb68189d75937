package adaptive

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/sorting"
	"github.com/sluice-go/sluice/core/internal/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Place is a place in the unit of a limit: millionths.
const Place = 1_000_000

// State is the limit and the places that are held.
type State struct {
	Last  clock.Mark // of the latest change
	Limit uint64     // in millionths of a place
	// Lowered is the mark at which the limit was last lowered, clock.Always before.
	Lowered clock.Mark
	// Serial is the number of the latest grant. Grants are numbered so that a place
	// is released once.
	Serial uint64
	held   []uint64 // the grants that hold places, ascending
	// more are the places above one of each of these grants, empty where each has one, and
	// extra is their sum.
	more  []uint16
	extra uint32
}

// free returns how many places are free.
func (s *State) free() uint32 {
	places := uint32(s.Limit / Place)
	return places - min(s.InUse(), places)
}

// InUse returns how many places are held. After the limit was lowered these may be more
// than it allows, and while one call is held whose cost is above the limit.
func (s *State) InUse() uint32 { return uint32(len(s.held)) + s.extra }

// hold takes places, at most MaxLimit of them.
func (s *State) hold(cost uint32, now clock.Mark) reducer.Permit {
	s.Serial++
	if cost > 1 && s.extra == 0 {
		s.more = make([]uint16, len(s.held), len(s.held)+1)
	}
	s.held = append(s.held, s.Serial)
	if s.extra += cost - 1; s.extra > 0 {
		s.more = append(s.more, uint16(cost-1))
	}
	s.Last = now
	return reducer.Permit{Generation: s.Serial, Mark: now}
}

func (s *State) release(p reducer.Permit, now clock.Mark) bool {
	at, ok := slices.BinarySearch(s.held, p.Generation)
	if !ok {
		return false
	}
	s.held = sorting.Remove(s.held, at)
	if s.extra > 0 {
		s.extra -= uint32(s.more[at])
		s.more = sorting.Remove(s.more, at)
	}
	if s.extra == 0 {
		s.more = nil
	}
	s.Last = now
	return true
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(s State) State {
	s.held, s.more = slices.Clone(s.held), slices.Clone(s.more)
	return s
}

var (
	errLimit  = wire.Invalid("adaptive: a limit outside its bounds")
	errGrants = wire.Invalid("adaptive: grants out of order, or more than the greatest limit")
	errMarks  = wire.Invalid("adaptive: lowered after the latest change")
)

// maxSerial bounds the serial of an encoded state, so that a decoded state cannot run
// out of numbers.
const maxSerial = 1 << 63

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error {
	switch {
	case s.Limit < uint64(m.config.Minimum)*Place || s.Limit > uint64(m.config.Maximum)*Place:
		return errLimit
	case s.Lowered > s.Last:
		return errMarks
	}
	before := uint64(0)
	for _, grant := range s.held {
		if grant <= before || grant > s.Serial {
			return errGrants
		}
		before = grant
	}
	extra := uint32(0)
	for _, more := range s.more {
		extra += uint32(more)
	}
	if extra != s.extra || len(s.more) > 0 && (extra == 0 || len(s.more) != len(s.held)) {
		return errGrants
	}
	return nil
}

const tag = 'A'

// withCosts is added to the number of grants where their costs follow.
const withCosts = 1 << 20

// digest sums up the bounds: a limit outside them is adopted, not read.
func (m *Machine) digest() uint32 {
	return uint32(wire.NewDigest.Add(uint64(m.config.Minimum)).Add(uint64(m.config.Maximum)))
}

// code codes Last; the limit; 0 where it was never lowered, else 1 more than the
// time from then to Last; Serial; how many grants hold places, and of each grant the
// distance from the one before, of the first one from 0; then, where one has more than one
// place, the places above one of each.
func (s *State) code(c *wire.Coder) {
	c.Mark(&s.Last)
	c.Uvarint(&s.Limit)
	since := uint64(0)
	if s.Lowered != clock.Always {
		since = uint64(s.Last) - uint64(s.Lowered) + 1
	}
	c.Uvarint(&since)
	s.Lowered = clock.Always
	if since > 0 {
		s.Lowered = clock.Mark(uint64(s.Last) - since + 1)
	}
	if c.Reads() && since > 0 && (s.Lowered > s.Last || s.Lowered == clock.Always) {
		c.Fail(errMarks)
	}
	c.Uvarint(&s.Serial)
	if c.Reads() && s.Serial > maxSerial {
		c.Fail(errGrants)
	}
	n, costs := uint64(len(s.held)), s.extra > 0
	if costs {
		n += withCosts
	}
	if c.Uvarint(&n); c.Reads() {
		if costs = n >= withCosts; costs {
			n -= withCosts
		}
		if n > MaxLimit || n > uint64(c.Left()) {
			c.Fail(errGrants)
			return
		}
		s.held = make([]uint64, n)
	}
	before := uint64(0)
	for i := range s.held {
		gap := s.held[i] - before
		c.Uvarint(&gap)
		if c.Reads() && (gap == 0 || gap > s.Serial-before) {
			c.Fail(errGrants)
			return
		}
		before += gap
		s.held[i] = before
	}
	if costs {
		s.codeCosts(c)
	}
}

// codeCosts codes the places above one of each grant.
func (s *State) codeCosts(c *wire.Coder) {
	if c.Reads() {
		s.more, s.extra = make([]uint16, len(s.held)), 0
	}
	for i := range s.more {
		more := uint32(s.more[i])
		if c.Uvarint32(&more); !c.Reads() {
			continue
		}
		if more >= MaxLimit {
			c.Fail(errGrants)
			return
		}
		s.more[i] = uint16(more)
		s.extra += more
	}
	if s.extra == 0 {
		c.Fail(errGrants)
	}
}

// MaxSize implements cell.Machine. Of n places, a cost takes a byte, and one of 129 places
// or more a second one.
func (m *Machine) MaxSize() int {
	n := uint64(m.config.Maximum)
	return wire.HeaderSize + 8 + wire.UvarintSize(n*Place) + wire.UvarintSize(1<<64-1) + wire.UvarintSize(maxSerial) +
		wire.UvarintSize(withCosts+n) + wire.UvarintsSize(n, maxSerial) + int(n+n/128)
}

// AppendState implements reducer.Cell.
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.Encode(dst, &s) }

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) { return wire.Decoded(src, m.Decode) }

// Encode is AppendState in place.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, m.digest())
	s.code(&c)
	return c.Bytes()
}

// Decode is DecodeState in place, into a state that is zero. After an error the state
// is undefined.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, m.digest())
	s.code(&c)
	if err := c.Close(); err != nil {
		return err
	}
	if err := m.Check(*s); err != nil {
		return wire.Broken(err)
	}
	return nil
}
