package bulkhead

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// SharedState has the members that hold places.
type SharedState struct {
	Last clock.Mark // of the latest change
	// Serial is the epoch of the latest stay, 0 before the first one. It wraps
	// around, without 0.
	Serial  uint32
	Held    uint32   // places of all members
	Members []Member // in ascending order of their ids
	changed bool     // by the current step
}

// Member of a shared bulkhead that holds a place or more.
type Member struct {
	ID    uint32
	Epoch uint32 // of its stay
	Held  uint32 // places
	Until clock.Mark
}

// overAt reports whether the lease is over at now.
func (h *Member) overAt(now clock.Mark) bool { return h.Until <= now && h.Until != clock.Never }

// touch notes a change, and makes now the mark of the latest one.
func (s *SharedState) touch(now clock.Mark) { s.Last, s.changed = now, true }

// Clone implements reducer.Cell.
func (m *SharedMachine) Clone(dst, src *SharedState) {
	*dst = *src
	dst.Members = slices.Clone(src.Members)
}

// find returns the place of a member among the members, and whether it is there.
func (s *SharedState) find(member uint64) (i int, known bool) {
	low, high := 0, len(s.Members)
	for low < high {
		if i = (low + high) / 2; uint64(s.Members[i].ID) < member {
			low = i + 1
		} else {
			high = i
		}
	}
	return low, low < len(s.Members) && uint64(s.Members[low].ID) == member
}

// holds returns the place of a permit's member, and whether its stay is that of the
// permit.
func (s *SharedState) holds(p *reducer.Permit) (i int, ok bool) {
	i, ok = s.find(p.ID)
	return i, ok && uint64(s.Members[i].Epoch) == p.Generation
}

// join begins the stay of a member.
func (s *SharedState) join(i int, member uint32) {
	s.Serial = max(1, s.Serial+1)
	s.Members = slices.Insert(s.Members, i, Member{ID: member, Epoch: s.Serial})
}

func (s *SharedState) release(p *reducer.Permit, cost uint32, now clock.Mark) bool {
	i, ok := s.holds(p)
	if !ok || cost > s.Members[i].Held {
		return false
	}
	s.Held -= cost
	if s.Members[i].Held -= cost; s.Members[i].Held == 0 {
		s.Members = slices.Delete(s.Members, i, i+1)
	}
	s.touch(now)
	return true
}

// lapse ends the stays of the members whose leases are over at now.
func (s *SharedState) lapse(now clock.Mark, out *reducer.Out) {
	kept, last := s.Members[:0], s.Last
	for _, h := range s.Members {
		if !h.overAt(now) {
			kept = append(kept, h)
			continue
		}
		s.Held -= h.Held
		last = max(last, h.Until)
		*out = append(*out, reducer.Effect{Kind: reducer.Lapse, Caller: uint64(h.ID),
			Permit: reducer.Permit{Generation: uint64(h.Epoch), ID: uint64(h.ID), Mark: now}})
	}
	if len(kept) < len(s.Members) {
		s.Members = kept
		s.touch(last)
	}
}

const sharedTag = 'M'

var errMembers = wire.Invalid("bulkhead: members out of order, without a place or a stay, or with leases before the latest change")

// memberSize is the least length of an encoded member.
const memberSize = 4

// code codes Last, Serial, how many members there are, and if any, the end of the
// last lease after Last, and of each member: its id less the least that may follow the
// one before, Serial less its epoch, its places, and how much sooner than the last one
// its lease is over. Numbers but Last are varints.
func (s *SharedState) code(c *wire.Coder) {
	c.Mark(&s.Last)
	c.Uvarint32(&s.Serial)
	n := uint64(len(s.Members))
	if c.Uvarint(&n); n == 0 {
		return
	}
	latest := s.Last
	if c.Reads() {
		if n > MaxConcurrent || n > uint64(c.Left())/memberSize {
			c.Fail(errMembers)
			return
		}
		s.Members = make([]Member, n, n+1)
	}
	for i := range s.Members {
		latest = max(latest, s.Members[i].Until)
	}
	c.After(&latest, s.Last)
	least, soonest := uint64(0), uint64(1)
	for i := range s.Members {
		h := s.Members[i]
		gap, age, before := uint64(h.ID)-least, s.Serial-h.Epoch, uint64(latest)-uint64(h.Until)
		c.Uvarint(&gap)
		c.Uvarint32(&age)
		c.Uvarint32(&h.Held)
		c.Uvarint(&before)
		if c.Reads() {
			h.ID, h.Epoch, h.Until = uint32(least+gap), s.Serial-age, clock.Mark(uint64(latest)-before)
			s.Held += h.Held
			if gap > MaxMember || least+gap > MaxMember || h.Epoch == 0 || h.Held == 0 || h.Held > MaxConcurrent || s.Held > MaxConcurrent ||
				before > uint64(latest)-uint64(s.Last) {
				c.Fail(errMembers)
				return
			}
			s.Members[i] = h
		}
		least, soonest = uint64(h.ID)+1, min(soonest, before)
	}
	if c.Reads() && soonest != 0 {
		c.Fail(errMembers)
	}
}

// Check implements reducer.Cell: a state is sound when its bytes are those of the
// same members.
func (m *SharedMachine) Check(s *SharedState) error {
	var again SharedState
	if err := m.Decode(m.Encode(nil, s), &again); err != nil {
		return err
	}
	if again.Held != s.Held || !slices.Equal(again.Members, s.Members) {
		return errMembers
	}
	return nil
}

// Encode implements reducer.Cell.
func (m *SharedMachine) Encode(dst []byte, s *SharedState) []byte {
	c := wire.Writer(dst, sharedTag, uint32(wire.NewDigest))
	s.code(&c)
	return c.Bytes()
}

// Decode implements reducer.Cell. No setting shapes the bytes: a state is
// read under every configuration.
func (m *SharedMachine) Decode(src []byte, s *SharedState) error {
	c := wire.Reader(src, sharedTag, uint32(wire.NewDigest))
	s.code(&c)
	return c.Close()
}
