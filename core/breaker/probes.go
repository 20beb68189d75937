package breaker

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// The words of a half-open breaker are the pending probes, in the order in which they
// were sent. The word of a probe is the ID of its permit: where probes lapse, the
// time from Origin to its sending in the upper 54 bits, and one more than a serial
// number in the lower ten; else the serial number alone. IDs rise, so none is used
// twice in a generation. More than 1,024 probes sent at one mark count as sent a
// nanosecond later.
const (
	serialBits = 10
	maxSerial  = 1 << 40
	// maxSince is the longest time that an ID holds beside maxSerial, 208 days.
	maxSince = 1<<(64-serialBits) - 1<<32
)

// probesLapse reports whether the place of a probe becomes free after the open time:
// half-open has no end of its own.
func (s *Core) probesLapse() bool { return s.Mode == HalfOpen && s.HalfOpenUntil == clock.Never }

// since returns the time from Origin to a mark as the IDs of probes hold it.
func (s *Core) since(at clock.Mark) uint64 {
	if !s.probesLapse() {
		return 0
	}
	return min(uint64(at.Sub(s.Origin)), maxSince)
}

// touch notes a change, and makes now the mark of the latest one.
func (s *Core) touch(now clock.Mark) {
	if s.probesLapse() {
		s.Cursor -= min(s.Cursor, (s.since(now)-s.since(s.Last))<<serialBits)
	}
	s.Last, s.changed = now, true
}

// exhausted reports whether no ID is left for a probe. That takes 208 days in
// half-open with a probe pending all the time.
func (s *Core) exhausted(now clock.Mark) bool { return s.ProbesOut > 0 && s.since(now) == maxSince }

// sendProbe takes a place; admits has checked that one is free.
func (s *State) sendProbe(now clock.Mark) reducer.Permit {
	if s.since(now) == maxSince {
		// No probe is pending: the IDs restart, in a new generation.
		s.Generation = later(s.Generation, 1)
		s.Origin, s.Last, s.Cursor = now, now, 0
	}
	s.touch(now)
	s.Cursor++
	id := s.since(now)<<serialBits + s.Cursor
	s.words = append(s.words, id)
	s.ProbesOut++
	s.Probed = true
	return reducer.Permit{Generation: uint64(s.Generation), ID: id, Mark: now}
}

// endProbe frees the place of the probe, if it is still pending.
func (s *State) endProbe(id uint64, now clock.Mark) bool {
	i, out := slices.BinarySearch(s.words, id)
	if out {
		s.words = append(s.words[:i], s.words[i+1:]...)
		s.ProbesOut--
		s.touch(now)
	}
	return out
}

// lapses returns the mark at which a probe has been pending for the open time.
func (s *Core) lapses(id uint64) clock.Mark {
	return s.Origin.Add(time.Duration((id - 1) >> serialBits)).Add(s.OpenFor)
}

// lapse frees the places of probes that have been pending for the open time at now.
func (s *State) lapse(now clock.Mark) {
	n := 0
	for n < len(s.words) && s.lapses(s.words[n]) <= now {
		n++
	}
	if n == 0 {
		return
	}
	s.touch(max(s.Last, s.lapses(s.words[n-1])))
	s.words = s.words[n:]
	s.ProbesOut -= uint16(n)
}

// codeProbes codes the IDs of the pending probes, from the latest one back: by how much
// less the upper bits are than the upper bits of the greatest ID possible, and in the lowest bit
// of that number whether the lower bits follow.
func (s *State) codeProbes(c *wire.Coder) {
	const lower = 1<<serialBits - 1
	end := s.since(s.Last)<<serialBits + s.Cursor
	for i := len(s.words) - 1; i >= 0; i-- {
		at, latest := max(s.words[i], 1)-1, (end-1)>>serialBits
		serial := at & lower
		word := (latest-at>>serialBits)<<1 | min(serial, 1)
		if c.Uvarint(&word); word&1 > 0 {
			c.Uvarint(&serial)
		}
		at = (latest-word>>1)<<serialBits + serial
		if word&1 != min(serial, 1) || serial > lower || word>>1 > latest || at >= end {
			c.Fail(errState)
		}
		if end = at; c.Reads() {
			s.words[i] = at + 1
		}
	}
}
