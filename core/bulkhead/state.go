package bulkhead

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/queue"
	"github.com/sluice-go/sluice/core/internal/wire"
	"github.com/sluice-go/sluice/reducer"
)

// State has the holders of places and the waiters. Its memory grows to the most
// places ever held, at most Concurrent; its encoding has only the held ones.
type State struct {
	Queue queue.Queue
	Last  clock.Mark // of the latest change
	// Serial numbers the grants, so that a second release of a place is stale.
	Serial  uint64
	changed bool // by the current step
	holding
}

// holding has the holders in the slots that their permits name.
type holding struct {
	Held        uint32 // places
	first, last uint32 // holders with a lease, by its end
	holders     []holder
	vacant      heap // free slots
}

// holder has the places of a grant. Links of holders with a lease count from 1, and 0 is
// none.
type holder struct {
	grant         uint64 // 0 when the slot is free; then the other fields are undefined
	caller        uint64
	until         clock.Mark // end of the lease, clock.Never without one
	sooner, later uint32
	cost          uint32 // places
}

// overAt reports whether the lease is over at now.
func (h *holder) overAt(now clock.Mark) bool { return h.until <= now && h.until != clock.Never }

// touch notes a change, and makes now the mark of the latest one.
func (s *State) touch(now clock.Mark) { s.Last, s.changed = now, true }

// Clone implements reducer.Cell.
func (m *Machine) Clone(s State) State {
	s.Queue = s.Queue.Clone()
	s.holders = slices.Clone(s.holders)
	s.vacant = slices.Clone(s.vacant)
	return s
}

// hold takes the lowest free slot, so that only the holders determine the slots of
// later grants.
func (s *State) hold(caller uint64, cost uint32, until, now clock.Mark) reducer.Permit {
	s.Serial = max(1, s.Serial+1) // 0 is no grant
	s.Held += cost
	at := s.vacant.pop()
	if at == 0 {
		s.holders = append(s.holders, holder{})
		at = uint32(len(s.holders))
	}
	h := &s.holders[at-1]
	*h = holder{grant: s.Serial, caller: caller, until: until, cost: cost}
	if until != clock.Never {
		s.link(at)
	}
	s.touch(now)
	return reducer.Permit{Generation: s.Serial, ID: uint64(at), Mark: now}
}

func (s *State) holds(p reducer.Permit) bool {
	return p.Generation != 0 && p.ID != 0 && p.ID <= uint64(len(s.holders)) && s.holders[p.ID-1].grant == p.Generation
}

// leased reports whether a place has a lease.
func (s *State) leased() bool { return s.first != 0 }

func (s *State) release(p reducer.Permit, now clock.Mark) bool {
	if !s.holds(p) {
		return false
	}
	s.vacate(uint32(p.ID))
	s.touch(now)
	return true
}

// vacate frees the places of a holder.
func (s *State) vacate(at uint32) {
	h := &s.holders[at-1]
	if h.until != clock.Never {
		s.unlink(at)
	}
	h.grant = 0
	s.Held -= h.cost
	s.vacant.push(at)
}

// link walks back from the latest end; with one lease for all, that is one look.
func (s *State) link(at uint32) {
	h := &s.holders[at-1]
	next, prev := uint32(0), s.last
	for prev != 0 && s.holders[prev-1].until > h.until {
		next, prev = prev, s.holders[prev-1].sooner
	}
	h.sooner, h.later = prev, next
	*s.later(prev), *s.sooner(next) = at, at
}

func (s *State) unlink(at uint32) {
	h := &s.holders[at-1]
	*s.later(h.sooner), *s.sooner(h.later) = h.later, h.sooner
}

// later returns the link to whose lease ends after that of a place; that of none
// leads to the first. sooner is the like.
func (s *State) later(at uint32) *uint32 {
	if at == 0 {
		return &s.first
	}
	return &s.holders[at-1].later
}

func (s *State) sooner(at uint32) *uint32 {
	if at == 0 {
		return &s.last
	}
	return &s.holders[at-1].sooner
}

var errPlaces = wire.Invalid("bulkhead: a place that two hold, or leases out of order")

// Check implements reducer.Cell: a state is sound when its bytes are those of the
// same holders and waiters.
func (m *Machine) Check(s State) error {
	if err := s.Queue.Check(); err != nil {
		return err
	}
	if !s.linked() {
		return errPlaces
	}
	again, err := m.DecodeState(m.AppendState(nil, s))
	if err != nil {
		return err
	}
	free := 0
	for i := range s.holders {
		if h := &s.holders[i]; h.grant == 0 {
			free++
		} else if again.holders[i] != *h {
			return errPlaces
		}
	}
	if again.Held != s.Held || free != len(s.vacant) || again.first != s.first || again.last != s.last {
		return errPlaces
	}
	return nil
}

// linked reports whether the links lead through the places with a lease, and as
// many places are held as it says.
func (s *State) linked() bool {
	held, leased := uint32(0), 0
	for i := range s.holders {
		if s.holders[i].grant == 0 {
			continue
		}
		if held += s.holders[i].cost; s.holders[i].until != clock.Never {
			leased++
		}
	}
	for at := s.first; at != 0; at = s.holders[at-1].later {
		if leased--; int(at) > len(s.holders) || s.holders[at-1].grant == 0 || leased < 0 {
			return false
		}
	}
	return leased == 0 && held == s.Held
}

const tag = 'H'

// withCosts is added to the number of holders without a lease where costs above 1 follow.
const withCosts = 1 << 20

// code codes Last, Serial, how many holders have a lease and how many have none;
// the holders with a lease in the order in which the leases end, then the others
// in the order of their slots; then the queue; then the costs above 1. A holder is
// its slot, Serial less the number of the grant, the caller, and the end of a lease
// after that of the one before.
func (s *State) code(c *wire.Coder) {
	c.Mark(&s.Last)
	c.Uvarint(&s.Serial)
	leased := uint64(0)
	for at := s.first; !c.Reads() && at != 0; at = s.holders[at-1].later {
		leased++
	}
	others := uint64(len(s.holders)-len(s.vacant)) - leased
	costs := uint64(s.Held) > leased+others
	if costs {
		others += withCosts
	}
	c.Uvarint(&leased)
	c.Uvarint(&others)
	if others >= withCosts {
		costs = true
		others -= withCosts
	}
	if !c.Reads() {
		s.codeHolders(c)
	} else if leased > MaxConcurrent || others > MaxConcurrent || leased+others > uint64(c.Left())/holderSize {
		c.Fail(errPlaces)
	} else {
		s.readHolders(c, leased, others)
	}
	s.Queue.Code(c)
	if costs {
		s.codeCosts(c)
	}
}

// codeCosts codes the holders of more than one place, in the order of their slots: how
// many there are, and of each the distance of its slot from that of the one before, and
// its places above 1.
func (s *State) codeCosts(c *wire.Coder) {
	n := uint64(0)
	for i := range s.holders {
		if h := &s.holders[i]; h.grant != 0 && h.cost > 1 {
			n++
		}
	}
	if c.Uvarint(&n); c.Reads() && (n == 0 || n > uint64(len(s.holders))) {
		c.Fail(errPlaces)
		return
	}
	at := uint64(0)
	for range n {
		next := at + 1
		for !c.Reads() && (s.holders[next-1].grant == 0 || s.holders[next-1].cost == 1) {
			next++
		}
		gap, more := next-at, uint32(0)
		if !c.Reads() {
			more = s.holders[next-1].cost - 1
		}
		c.Uvarint(&gap)
		c.Uvarint32(&more)
		if !c.Reads() {
			at = next
			continue
		}
		if gap == 0 || gap > uint64(len(s.holders))-at || more == 0 || more > MaxConcurrent-s.Held || s.holders[at+gap-1].grant == 0 {
			c.Fail(errPlaces)
			return
		}
		at += gap
		s.holders[at-1].cost += more
		s.Held += more
	}
}

func (s *State) codeHolders(c *wire.Coder) {
	ends := clock.Never
	for at := s.first; at != 0; at = s.holders[at-1].later {
		h := s.holders[at-1]
		s.codeHolder(c, &at, &h)
		codeLease(c, &h.until, ends)
		ends = h.until
	}
	for i, h := range s.holders {
		if h.grant != 0 && h.until == clock.Never {
			at := uint32(i + 1)
			s.codeHolder(c, &at, &h)
		}
	}
}

func (s *State) readHolders(c *wire.Coder, leased, others uint64) {
	ends, last := clock.Never, uint32(0)
	for i := range leased + others {
		at, h := uint32(0), holder{until: clock.Never, cost: 1}
		s.codeHolder(c, &at, &h)
		if i < leased {
			codeLease(c, &h.until, ends)
			ends = h.until
		}
		if at == 0 || at > MaxConcurrent || (i < leased) == (h.until == clock.Never) || i >= leased && at <= last || !s.place(at, h) {
			c.Fail(errPlaces)
			return
		}
		if i >= leased {
			last = at
		}
	}
	for i := range s.holders {
		if s.holders[i].grant == 0 {
			s.vacant = append(s.vacant, uint32(i+1)) // ascending: a heap
		}
	}
}

func (s *State) codeHolder(c *wire.Coder, at *uint32, h *holder) {
	age := s.Serial - h.grant
	c.Uvarint32(at)
	c.Uvarint(&age)
	c.Uvarint(&h.caller)
	if age >= s.Serial {
		c.Fail(errPlaces)
	}
	h.grant = s.Serial - age
}

// codeLease codes the end of a lease: in full for the first one, after that of
// the one before for the others.
func codeLease(c *wire.Coder, until *clock.Mark, before clock.Mark) {
	if before == clock.Never {
		c.Mark(until)
	} else {
		c.After(until, before)
	}
}

// holderSize is the least length of an encoded holder.
const holderSize = 3

// place puts a holder that was read into its slot, and its lease behind all
// others. It reports whether the slot was free.
func (s *State) place(at uint32, h holder) bool {
	for int(at) > len(s.holders) {
		s.holders = append(s.holders, holder{})
	}
	if s.holders[at-1].grant != 0 {
		return false
	}
	s.holders[at-1] = h
	s.Held++
	if h.until != clock.Never {
		s.link(at)
	}
	return true
}

// MaxSize implements cell.Machine. A queue that was used takes the number of its last
// ticket.
func (m *Machine) MaxSize() int {
	n, number := uint64(m.config.Concurrent), wire.UvarintSize(1<<64-1)
	each := wire.UvarintSize(n) + 2*number // slot, number of the grant and caller
	size := wire.HeaderSize + 8 + number + wire.UvarintSize(n) + 1 + int(n)*each + 1
	if m.config.Lease > 0 {
		size += 8 + wire.UvarintsSize(n-1, uint64(m.config.Lease))
	}
	if m.config.Queue > 0 {
		size += number
	}
	return size
}

// AppendState implements reducer.Cell.
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.Encode(dst, &s) }

// DecodeState implements reducer.Cell. No setting shapes the bytes: a state is
// read under every configuration.
func (m *Machine) DecodeState(src []byte) (State, error) {
	return wire.Decoded(src, m.Decode)
}

// Encode is AppendState in place.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, uint32(wire.NewDigest))
	s.code(&c)
	return c.Bytes()
}

// Decode is DecodeState in place, into a state that is zero. After an error the state
// is undefined.
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
