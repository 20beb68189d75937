package places

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/wire"
)

// withCosts is added to the number of holders without a lease where costs above 1 follow.
const withCosts = 1 << 20

// Most is the most places that holders may have.
const Most = 1_000_000

// Code codes Serial, how many holders have a lease and how many have none;
// the holders with a lease in the order in which the leases end, then the others
// in the order of their slots. A holder is its slot, Serial less the number of the
// grant, the caller, and the end of a lease after the end of the one before. It reports
// whether the costs follow, which CodeCosts codes.
func (s *Holders) Code(c *wire.Coder) (costs bool) {
	c.Uvarint(&s.Serial)
	leased := uint64(0)
	for at := s.first; !c.Reads() && at != 0; at = s.holders[at-1].later {
		leased++
	}
	others := uint64(len(s.holders)-len(s.vacant)) - leased
	costs = uint64(s.Held) > leased+others
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
	} else if leased > Most || others > Most || leased+others > uint64(c.Left())/holderSize {
		c.Fail(Err)
	} else {
		s.readHolders(c, leased, others)
	}
	return costs
}

// CodeCosts codes the holders of more than one place, in the order of their slots: how
// many there are, and of each the distance of its slot from the slot of the one before, and
// its places above 1.
func (s *Holders) CodeCosts(c *wire.Coder) {
	n := uint64(0)
	for i := range s.holders {
		if h := &s.holders[i]; h.grant != 0 && h.cost > 1 {
			n++
		}
	}
	if c.Uvarint(&n); c.Reads() && (n == 0 || n > uint64(len(s.holders))) {
		c.Fail(Err)
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
		if gap == 0 || gap > uint64(len(s.holders))-at || more == 0 || more > Most-s.Held || s.holders[at+gap-1].grant == 0 {
			c.Fail(Err)
			return
		}
		at += gap
		s.holders[at-1].cost += more
		s.Held += more
	}
}

func (s *Holders) codeHolders(c *wire.Coder) {
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

func (s *Holders) readHolders(c *wire.Coder, leased, others uint64) {
	ends, last := clock.Never, uint32(0)
	for i := range leased + others {
		at, h := uint32(0), holder{until: clock.Never, cost: 1}
		s.codeHolder(c, &at, &h)
		if i < leased {
			codeLease(c, &h.until, ends)
			ends = h.until
		}
		if at == 0 || at > Most || (i < leased) == (h.until == clock.Never) || i >= leased && at <= last || !s.place(at, h) {
			c.Fail(Err)
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

func (s *Holders) codeHolder(c *wire.Coder, at *uint32, h *holder) {
	age := s.Serial - h.grant
	c.Uvarint32(at)
	c.Uvarint(&age)
	c.Uvarint(&h.caller)
	if age >= s.Serial {
		c.Fail(Err)
	}
	h.grant = s.Serial - age
}

// codeLease codes the end of a lease: in full for the first one, after the end of
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
func (s *Holders) place(at uint32, h holder) bool {
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

// MaxSize returns the most bytes that Code and CodeCosts write for n places, where each
// has a lease of at most a duration, 0 for none.
func MaxSize(n, lease uint64) int {
	number := wire.UvarintSize(1<<64 - 1)
	each := wire.UvarintSize(n) + 2*number // slot, number of the grant and caller
	size := number + wire.UvarintSize(n) + 1 + int(n)*each
	if lease > 0 {
		size += 8 + wire.UvarintsSize(n-1, lease)
	}
	return size
}
