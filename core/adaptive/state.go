package adaptive

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/places"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// State is the limit, the places that are held, and what the round counted.
type State struct {
	Last  clock.Mark // of the latest change
	Limit uint32     // places
	// Settled is set when the limit was lowered since the beginning: it rises slowly from
	// then on.
	Settled bool
	Round   Round
	Fall    Fall
	// over are the longest durations of timely attempts, by slot. The values of free slots are
	// undefined.
	over    []time.Duration
	changed bool // by the current step
	places.Holders
}

// Round is what the outcomes of a round say. It has no outcomes and no beginning until a
// call is admitted.
type Round struct {
	Since clock.Mark // beginning
	// Grant is the latest grant from before the round.
	Grant uint64
	Calls uint32 // that ended with an outcome that says something
	// Good, Late and Cut are the places of these calls, Quick the places of good ones that took at
	// most half of the time.
	Good, Quick, Late, Cut uint32
	Peak                   uint32 // the most places in use at once
}

// ended returns the places of all outcomes.
func (r *Round) ended() uint64 { return uint64(r.Good) + uint64(r.Late) + uint64(r.Cut) }

// bad returns the places of outcomes that count against the limit.
func (r *Round) bad() uint64 { return uint64(r.Late) + uint64(r.Cut) }

// Fall is the round by which the limit was last lowered, and what follows from it.
type Fall struct {
	Limit uint32        // before
	Good  uint32        // places of that round
	Bad   uint32        // places of that round
	Took  time.Duration // that round
	// Last is set in the round after it.
	Last bool
	// Hold is for how many rounds the limit is not lowered, and Next how many these are
	// after the next decrease that mends nothing, as a power of two.
	Hold, Next uint8
}

// InUse returns how many places are held. After the limit was lowered these may be more
// than it allows, and while one call is held whose cost is above the limit.
func (s *State) InUse() uint32 { return s.Held }

func (s *State) touch(now clock.Mark) { s.Last, s.changed = now, true }

func (s *State) release(p *reducer.Permit, now clock.Mark) bool {
	if !s.Release(p) {
		return false
	}
	s.touch(now)
	return true
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(dst, src *State) {
	*dst = *src
	dst.Holders, dst.over = src.Holders.Clone(), slices.Clone(src.over)
}

var (
	errLimit = wire.Invalid("adaptive: a limit outside its bounds")
	errRound = wire.Invalid("adaptive: a round with other counts than its calls can have")
	errFall  = wire.Invalid("adaptive: a decrease that was none")
)

// MaxHold is the most rounds for which the limit is not lowered, as a power of two.
const MaxHold = 5

// mostCounted bounds the counts of a round: the counts of the calls that end it, of which each
// has MaxLimit places at most, and of all that were admitted before it.
const mostCounted = (leastCalls + 2) * MaxLimit

// Check implements reducer.Cell.
func (m *Machine) Check(s *State) error {
	if err := m.sound(s); err != nil {
		return err
	}
	if !s.Linked() || len(s.over) != s.Slots() {
		return places.Err
	}
	var again State
	if err := m.Decode(m.Encode(nil, s), &again); err != nil {
		return err
	}
	for at := range s.over {
		if s.Taken(at+1) && s.over[at] != again.over[at] {
			return places.Err
		}
	}
	return s.Holders.Check(&again.Holders)
}

// sound checks all but the holders.
func (m *Machine) sound(s *State) error {
	r, f := &s.Round, &s.Fall
	switch {
	case s.Held > MaxLimit:
		return places.Err
	case s.Limit < m.config.Minimum || s.Limit > m.config.Maximum:
		return errLimit
	case r.Since > s.Last || r.Grant > s.Serial || uint64(r.Calls) > r.ended() || r.ended() > mostCounted ||
		r.Calls == 0 && r.ended() > 0 || r.Quick > r.Good || r.Peak > mostCounted:
		return errRound
	case f.Took < 0 || f.Limit > MaxLimit || f.Hold > 1<<MaxHold || f.Next > MaxHold || uint64(f.Good)+uint64(f.Bad) > mostCounted ||
		f.Limit == 0 && *f != (Fall{}) || f.Limit > 0 && f.Bad == 0:
		return errFall
	}
	return nil
}

const tag = 'A'

// digest sums up the bounds: a limit outside them is adopted, not read.
func (m *Machine) digest() uint32 {
	return uint32(wire.NewDigest.Add(uint64(m.config.Minimum)).Add(uint64(m.config.Maximum)))
}

// Flags of an encoded state.
const (
	flagSettled = 1 << iota
	flagLast
	flagFall
	flags
)

// code codes Last; the limit; the flags; the round, its beginning as the time from then to
// Last; the latest decrease where there was one; the holders, the durations above which they
// are late, and their costs above 1.
func (s *State) code(c *wire.Coder) {
	c.Mark(&s.Last)
	c.Uvarint32(&s.Limit)
	f := &s.Fall
	set := uint32(0)
	for bit, on := range [...]bool{s.Settled, f.Last, f.Limit > 0} {
		if on {
			set |= 1 << bit
		}
	}
	if c.Uvarint32(&set); set >= flags {
		c.Fail(errFall)
		return
	}
	s.Settled = set&flagSettled != 0
	s.Round.code(c, s.Last)
	if set&flagFall != 0 {
		f.Last = set&flagLast != 0
		f.code(c)
	} else if set&flagLast != 0 {
		c.Fail(errFall)
	}
	costs := s.Holders.Code(c)
	s.codeOver(c)
	if costs {
		s.CodeCosts(c)
	}
	grant := s.Serial - s.Round.Grant
	c.Uvarint(&grant)
	s.Round.Grant = s.Serial - grant
}

func (r *Round) code(c *wire.Coder, last clock.Mark) {
	since := uint64(last) - uint64(r.Since)
	c.Uvarint(&since)
	r.Since = clock.Mark(uint64(last) - since)
	for _, n := range [...]*uint32{&r.Calls, &r.Good, &r.Quick, &r.Late, &r.Cut, &r.Peak} {
		c.Uvarint32(n)
	}
}

func (f *Fall) code(c *wire.Coder) {
	for _, n := range [...]*uint32{&f.Limit, &f.Good, &f.Bad} {
		c.Uvarint32(n)
	}
	took := uint64(f.Took)
	c.Uvarint(&took)
	f.Took = time.Duration(took)
	c.U8(&f.Hold)
	c.U8(&f.Next)
	if c.Reads() && f.Limit == 0 {
		c.Fail(errFall)
	}
}

// codeOver codes the durations above which the holders are late, in the order of their
// slots: of each the difference from the one before.
func (s *State) codeOver(c *wire.Coder) {
	if c.Reads() && !c.Failed() {
		s.over = make([]time.Duration, s.Slots())
	}
	before := uint64(0)
	for at := range s.over {
		if !s.Taken(at + 1) {
			continue
		}
		gap := uint64(s.over[at]) - before
		gap = gap<<1 ^ uint64(int64(gap)>>63) // small for small differences of both signs
		c.Uvarint(&gap)
		before += gap>>1 ^ -(gap & 1)
		s.over[at] = time.Duration(before)
	}
}

// MaxSize implements reducer.Cell.
func (m *Machine) MaxSize() int {
	n, number, count := uint64(m.config.Maximum), wire.UvarintSize(1<<64-1), wire.UvarintSize(mostCounted)
	return wire.HeaderSize + 8 + count + 1 + number + 6*count + 3*count + number + 2 + number +
		places.MaxSize(n, uint64(m.config.Lease)) + int(n)*number
}

// Encode implements reducer.Cell.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, m.digest())
	s.code(&c)
	return c.Bytes()
}

// Decode implements reducer.Cell.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, m.digest())
	s.code(&c)
	if err := c.Close(); err != nil {
		return err
	}
	if err := m.sound(s); err != nil {
		return wire.Broken(err)
	}
	return nil
}
