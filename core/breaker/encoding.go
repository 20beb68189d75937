package breaker

import (
	"math/bits"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// The encoded state, by mode. What follows from other fields is left out.
//
//	header, flags, Generation; of generation 0 no more
//	Last, Openings
//	closed      Origin; in a ramp RampUntil - Last, RampSum; SlowRow where the configuration
//	            counts it; Calls: Total, Cursor of a full ring, the ring
//	            Time: the number of buckets, the buckets from the present one back
//	            Consecutive: Failed, of more than none where it forgets Last - the last failure
//	open        Opens, OpenFor, OpenUntil - Last
//	half-open   Opens, OpenFor, HalfOpenUntil - Last or Last - Origin, Total, of more
//	            than none Failed and Slow, Cursor, ProbesOut, the probes
//
// Marks take 8 bytes, times and all other numbers are varints. Metrics-only is as
// closed; the forced modes have no more.
const (
	tag      = 'B'
	modeBits = 0b111
	probed   = 1 << 3 // half-open: Probed
	bounded  = 1 << 4 // half-open: HalfOpenUntil is set; closed: RampUntil is
)

var errState = wire.Invalid("breaker: counts, probes and mode do not agree")

func (m *Machine) code(c *wire.Coder, s *State) {
	flags := uint8(0)
	if s.Generation > 0 {
		flags = uint8(s.Mode)
		if s.ramps() || s.Mode == HalfOpen && s.HalfOpenUntil != clock.Never {
			flags |= bounded
		}
	}
	if s.Probed {
		flags |= probed
	}
	c.U8(&flags)
	if c.Reads() {
		s.Mode, s.Probed = Mode(flags&modeBits), flags&probed != 0
		if s.Mode > MetricsOnly || flags >= bounded<<1 || flags > modeBits && s.Mode != HalfOpen && flags != bounded|uint8(Closed) {
			c.Fail(errState)
		}
	}
	if c.Uvarint32(&s.Generation); s.Generation == 0 {
		if flags != 0 {
			c.Fail(errState)
		}
		m.Begin(s, clock.Always)
		return
	}
	c.Mark(&s.Last)
	c.Uvarint32(&s.Openings)
	if c.Reads() {
		s.endless()
	}
	switch s.Mode {
	case Closed, MetricsOnly:
		c.Mark(&s.Origin)
		if c.Reads() && s.Last < s.Origin {
			c.Fail(errState)
		}
		if flags&bounded != 0 {
			s.codeRamp(c)
		}
		if m.config.SlowConsecutive > 0 {
			row := uint32(s.SlowRow)
			if c.Uvarint32(&row); row > MaxCalls {
				c.Fail(errState)
			}
			s.SlowRow = uint16(row)
		}
		m.codeWindow(c, s)
	case Open:
		s.codeOpening(c)
		c.After(&s.OpenUntil, s.Last)
	case HalfOpen:
		s.codeOpening(c)
		m.codeHalfOpen(c, s, flags&bounded != 0)
	}
}

func (s *Core) codeRamp(c *wire.Coder) {
	c.After(&s.RampUntil, s.Last)
	c.Uvarint32(&s.RampSum)
	if c.Reads() && (s.RampUntil == clock.Never || s.RampUntil <= s.Origin || s.RampSum >= reducer.Whole) {
		c.Fail(errState)
	}
}

func (s *Core) codeOpening(c *wire.Coder) {
	c.Uvarint32(&s.Opens)
	open := uint64(s.OpenFor)
	if c.Uvarint(&open); open > 1<<63-1 {
		c.Fail(errState)
		open = 0
	}
	s.OpenFor = time.Duration(open)
}

func (m *Machine) codeWindow(c *wire.Coder, s *State) {
	switch m.config.Window {
	case Calls:
		m.codeCalls(c, s)
	case Time:
		m.codeBuckets(c, s)
	default:
		c.Uvarint32(&s.Failed)
		if m.config.Forget > 0 && s.Failed > 0 {
			s.codeLastFailure(c)
		}
	}
}

func (s *Core) codeLastFailure(c *wire.Coder) {
	last := uint64(s.Last) - uint64(s.Origin)
	before := last - s.Cursor
	c.Uvarint(&before)
	if c.Reads() && before > last {
		c.Fail(errState)
	}
	s.Cursor = last - before
}

func (m *Machine) codeCalls(c *wire.Coder, s *State) {
	n := m.config.Count
	c.Uvarint32(&s.Total)
	if s.Total > n {
		c.Fail(errState)
		return
	}
	if s.Total == n {
		c.Uvarint(&s.Cursor)
	} else if c.Reads() {
		s.Cursor = uint64(s.Total)
	}
	if s.Total == 0 {
		return
	}
	if c.Reads() {
		s.words = make([]uint64, (n+callsPerWord-1)/callsPerWord)
	}
	for i := range (s.Total + 3) / 4 {
		shift := i % 8 * 8
		b := uint8(s.words[i/8] >> shift)
		if c.U8(&b); c.Reads() {
			s.words[i/8] |= uint64(b) << shift
		}
	}
	if !c.Reads() {
		return
	}
	for _, word := range s.words {
		s.Failed += uint32(bits.OnesCount64(word & failedBits))
		s.Slow += uint32(bits.OnesCount64(word &^ failedBits))
	}
	last := s.words[(s.Total-1)/callsPerWord]
	if rest := s.Total % 4; s.Cursor >= uint64(n) && s.Total == n || rest != 0 && last>>(s.Total%callsPerWord*2) != 0 {
		c.Fail(errState)
	}
}

// codeBuckets leaves out the oldest buckets that are empty.
func (m *Machine) codeBuckets(c *wire.Coder, s *State) {
	n := uint64(m.config.Count)
	kept := uint64(0)
	at := func(back uint64) []uint64 {
		i := (s.Cursor%n + n - back) % n * 2
		return s.words[i : i+2]
	}
	if s.words != nil && !c.Reads() {
		for kept = n; kept > 0 && at(kept - 1)[0] == 0; kept-- {
		}
	}
	c.Uvarint(&kept)
	if !c.Reads() {
		for back := range kept {
			codeBucket(c, at(back))
		}
		return
	}
	if s.Last < s.Origin {
		return
	}
	s.Cursor = tally.Bucket(s.Last, s.Origin, n, m.config.Span)
	if kept > n || kept > s.Cursor+1 {
		c.Fail(errState)
		return
	}
	if kept == 0 {
		return
	}
	s.words = make([]uint64, 2*n)
	var sum [3]uint64
	for back := range kept {
		b := at(back)
		codeBucket(c, b)
		total, failed, slow := b[0]>>32, b[0]&(1<<32-1), b[1]
		sum[0], sum[1], sum[2] = sum[0]+total, sum[1]+failed, sum[2]+slow
		if failed > total || slow > total || back == kept-1 && total == 0 {
			c.Fail(errState)
		}
	}
	if sum[0] > tally.Max {
		c.Fail(errState)
	}
	s.Total, s.Failed, s.Slow = uint32(sum[0]), uint32(sum[1]), uint32(sum[2])
}

func codeBucket(c *wire.Coder, b []uint64) {
	total, failed, slow := uint32(b[0]>>32), uint32(b[0]), uint32(b[1])
	c.Uvarint32(&total)
	c.Uvarint32(&failed)
	if c.Uvarint32(&slow); c.Reads() {
		b[0], b[1] = uint64(total)<<32|uint64(failed), uint64(slow)
	}
}

func (m *Machine) codeHalfOpen(c *wire.Coder, s *State, bounded bool) {
	if bounded {
		c.After(&s.HalfOpenUntil, s.Last)
	} else {
		since := uint64(s.Last) - uint64(s.Origin)
		c.Uvarint(&since)
		s.Origin = clock.Mark(uint64(s.Last) - since)
		if c.Reads() && s.Origin > s.Last {
			c.Fail(errState)
		}
	}
	c.Uvarint32(&s.Total)
	if s.Total > 0 {
		c.Uvarint32(&s.Failed)
		c.Uvarint32(&s.Slow)
	}
	c.Uvarint(&s.Cursor)
	out := uint64(len(s.words))
	c.Uvarint(&out)
	if c.Reads() {
		if out > MaxProbes || bounded && s.HalfOpenUntil == clock.Never || s.Failed > s.Total || s.Slow > s.Total ||
			s.Cursor > maxSerial || !s.Probed && uint64(s.Total)+s.Cursor+out > 0 {
			c.Fail(errState)
			return
		}
		s.ProbesOut, s.words = uint16(out), make([]uint64, out)
	}
	s.codeProbes(c)
}

// Encode implements reducer.Cell.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, m.digest)
	m.code(&c, s)
	return c.Bytes()
}

// Decode implements reducer.Cell. A state that was made under another
// window, in a ramp that this configuration does not have, or half-open with outcomes that
// suffice under it, is refused with reducer.ErrConfiguration.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, m.digest)
	m.code(&c, s)
	if err := c.Close(); err != nil {
		return err
	}
	if s.ramps() && m.config.RampOver == 0 {
		return wire.Foreign()
	}
	if s.Mode == HalfOpen && s.Total > 0 {
		if opens, closes := m.verdict(s); opens || closes {
			return wire.Foreign()
		}
	}
	return nil
}

// Check implements reducer.Cell: a state is sound when its bytes are those of the
// same state.
func (m *Machine) Check(s *State) error {
	var again State
	if err := m.Decode(m.Encode(nil, s), &again); err != nil {
		return err
	}
	if again.Core != s.Core || !sameWords(again.words, s.words) {
		return errState
	}
	return nil
}

// sameWords compares words; none are as good as zeros.
func sameWords(a, b []uint64) bool {
	if len(a) > 0 && len(b) > 0 {
		return slices.Equal(a, b)
	}
	return !slices.ContainsFunc(append(slices.Clone(a), b...), func(w uint64) bool { return w != 0 })
}
