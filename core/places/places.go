package places

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Holders has the holders in the slots that their permits name. Copies share memory until
// Clone.
type Holders struct {
	// Serial numbers the grants, so that a second release of a place is stale.
	Serial      uint64
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

// Clone returns holders that share no memory with h.
func (s *Holders) Clone() Holders {
	c := *s
	c.holders = slices.Clone(s.holders)
	c.vacant = slices.Clone(s.vacant)
	return c
}

// Emptied returns no holders, whose grants continue the numbers.
func (s *Holders) Emptied() Holders { return Holders{Serial: s.Serial} }

// Hold takes the lowest free slot, so that only the holders determine the slots of
// later grants. until is the end of the lease, clock.Never for none.
func (s *Holders) Hold(caller uint64, cost uint32, until, now clock.Mark) reducer.Permit {
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
	return reducer.Permit{Generation: s.Serial, ID: uint64(at), Mark: now}
}

// Holds reports whether a permit holds places.
func (s *Holders) Holds(p *reducer.Permit) bool {
	return p.Generation != 0 && p.ID != 0 && p.ID <= uint64(len(s.holders)) && s.holders[p.ID-1].grant == p.Generation
}

// Leased reports whether a place has a lease.
func (s *Holders) Leased() bool { return s.first != 0 }

// Release frees the places of a permit. It returns false where it holds none.
func (s *Holders) Release(p *reducer.Permit) bool {
	if !s.Holds(p) {
		return false
	}
	s.vacate(uint32(p.ID))
	return true
}

// Renew moves the end of the lease of a permit, where it has a lease, and reports whether
// that changes it. The permit holds places. A lease that is to end at clock.Never is none from
// then on.
func (s *Holders) Renew(p *reducer.Permit, until clock.Mark) bool {
	h := &s.holders[p.ID-1]
	if h.until == clock.Never || h.until == until {
		return false
	}
	s.unlink(uint32(p.ID))
	if h.until = until; until != clock.Never {
		s.link(uint32(p.ID))
	}
	return true
}

// Ends returns the mark at which the first lease runs out, clock.Never for none.
func (s *Holders) Ends() clock.Mark {
	if s.first == 0 {
		return clock.Never
	}
	return s.holders[s.first-1].until
}

// LapseUntil frees the places whose leases are over at now, and says so. It returns the end of
// the last one, and whether there was one.
func (s *Holders) LapseUntil(now clock.Mark, out *reducer.Out) (last clock.Mark, any bool) {
	for at := s.Ends(); at <= now && at != clock.Never; at = s.Ends() {
		s.lapse(now, out)
		last, any = at, true
	}
	return last, any
}

// lapse frees the places whose lease is the next to run out, and says so. A lease runs out.
func (s *Holders) lapse(now clock.Mark, out *reducer.Out) {
	h := &s.holders[s.first-1]
	*out = append(*out, reducer.Effect{Kind: reducer.Lapse, Caller: h.caller,
		Permit: reducer.Permit{Generation: h.grant, ID: uint64(s.first), Mark: now}})
	s.vacate(s.first)
}

// HeldAt returns how many places are held when the leases that are over at now have ended.
func (s *Holders) HeldAt(now clock.Mark) uint32 {
	held := s.Held
	for at := s.first; at != 0 && s.holders[at-1].overAt(now); at = s.holders[at-1].later {
		held -= s.holders[at-1].cost
	}
	return held
}

// Shift moves the ends of all leases. One that comes to clock.Never is none from then on.
func (s *Holders) Shift(by time.Duration) {
	for i := range s.holders {
		if h := &s.holders[i]; h.grant != 0 {
			h.until = h.until.Add(by)
		}
	}
	for s.last != 0 && s.holders[s.last-1].until == clock.Never {
		s.unlink(s.last)
	}
}

// Slots returns how many slots there are; the last ones may be free.
func (s *Holders) Slots() int { return len(s.holders) }

// Taken reports whether a slot, from 1 on, has a holder.
func (s *Holders) Taken(at int) bool { return s.holders[at-1].grant != 0 }

// vacate frees the places of a holder.
func (s *Holders) vacate(at uint32) {
	h := &s.holders[at-1]
	if h.until != clock.Never {
		s.unlink(at)
	}
	h.grant = 0
	s.Held -= h.cost
	s.vacant.push(at)
}

// link walks back from the latest end; with one lease for all, that is one look.
func (s *Holders) link(at uint32) {
	h := &s.holders[at-1]
	next, prev := uint32(0), s.last
	for prev != 0 && s.holders[prev-1].until > h.until {
		next, prev = prev, s.holders[prev-1].sooner
	}
	h.sooner, h.later = prev, next
	*s.later(prev), *s.sooner(next) = at, at
}

func (s *Holders) unlink(at uint32) {
	h := &s.holders[at-1]
	*s.later(h.sooner), *s.sooner(h.later) = h.later, h.sooner
	h.sooner, h.later = 0, 0
}

// later returns the link from a place to the one whose lease ends next; from 0 it leads to
// the first. sooner returns the link in the other direction.
func (s *Holders) later(at uint32) *uint32 {
	if at == 0 {
		return &s.first
	}
	return &s.holders[at-1].later
}

func (s *Holders) sooner(at uint32) *uint32 {
	if at == 0 {
		return &s.last
	}
	return &s.holders[at-1].sooner
}

// Err is the error of holders that are not sound.
var Err = wire.Invalid("places: a place that two hold, or leases out of order")

// Check compares holders with those that were read from their bytes.
func (s *Holders) Check(again *Holders) error {
	free := 0
	for i := range s.holders {
		if h := &s.holders[i]; h.grant == 0 {
			free++
		} else if again.holders[i] != *h {
			return Err
		}
	}
	if again.Held != s.Held || free != len(s.vacant) || again.first != s.first || again.last != s.last {
		return Err
	}
	return nil
}

// Linked reports whether the links lead through the places with a lease, and as
// many places are held as it says.
func (s *Holders) Linked() bool {
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
