package breaker

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/reducer"
)

// rules is a validated configuration.
type rules struct {
	config Config
	delay  *backoff.Machine
}

// set validates a configuration and takes it.
func (r *rules) set(c Config) (err error) {
	r.config = c
	if err := r.config.check(); err != nil {
		return err
	}
	r.delay, err = backoff.New(c.Open)
	return err
}

func (c *Config) check() error {
	if err := c.checkWindow(); err != nil {
		return err
	}
	switch {
	case c.SlowOver < 0:
		return reducer.BadDuration("slow.over", c.SlowOver, "0 or more")
	case c.SlowRate > reducer.Whole || (c.SlowRate == 0) != (c.SlowOver == 0):
		return reducer.BadShare("slow.rate", c.SlowRate, "more than 0% and at most 100%, beside slow.over alone")
	case c.Open.Kind == backoff.None:
		return reducer.BadDuration("open", c.Open.Base, "a duration or a backoff")
	case c.Probes == 0 || c.Probes > MaxProbes:
		return reducer.BadCount("probes", uint64(c.Probes), "1 to 1000")
	case c.HalfOpenMax < 0:
		return reducer.BadDuration("half_open_max", c.HalfOpenMax, "0 or more")
	}
	return nil
}

func (c *Config) checkWindow() error {
	switch c.Window {
	case Calls:
		if c.Count == 0 || c.Count > MaxCalls {
			return reducer.BadCount("window.calls", uint64(c.Count), "1 to 10000")
		}
		if c.Minimum > c.Count {
			return reducer.BadCount("minimum", uint64(c.Minimum), "at most window.calls")
		}
	case Time:
		if c.Count == 0 || c.Count > MaxBuckets {
			return reducer.BadCount("window.buckets", uint64(c.Count), "1 to 1000")
		}
		if c.Span < time.Duration(c.Count) {
			return reducer.BadDuration("window.time", c.Span, "at least a nanosecond a bucket")
		}
	case Consecutive:
		if c.Count == 0 || c.Count > MaxCalls {
			return reducer.BadCount("window.consecutive", uint64(c.Count), "1 to 10000")
		}
		if c.Minimum != 0 || c.FailureRate != 0 || c.SlowOver != 0 {
			return reducer.BadShare("failure_rate", c.FailureRate, "no minimum and no rates beside window.consecutive")
		}
		return nil
	default:
		return reducer.BadCount("window", uint64(c.Window), "Calls, Time or Consecutive")
	}
	if c.Minimum == 0 || c.Minimum > MaxCalls {
		return reducer.BadCount("minimum", uint64(c.Minimum), "1 to 10000")
	}
	if c.FailureRate == 0 || c.FailureRate > reducer.Whole {
		return reducer.BadShare("failure_rate", c.FailureRate, "more than 0% and at most 100%")
	}
	return nil
}

// words returns how many words the configuration needs: two bits a call or two
// words a bucket while closed, one word a probe while half-open.
func (c *Config) words() int { return max(c.used(), int(c.Probes)) }

// used returns how many of them are in use while closed.
func (c *Config) used() int {
	switch c.Window {
	case Calls:
		return 2 * bitWords(c.Count)
	case Time:
		return 2 * int(c.Count)
	}
	return 0
}

func bitWords(calls uint32) int { return int(calls+63) / 64 }

// openFor returns how long the n-th opening since the last close lasts. Its
// jitter is seeded with the openings of all time.
func (r *rules) openFor(s *Core, n uint32) time.Duration {
	before := s.OpenFor
	if n == 1 {
		before = 0
	}
	return r.delay.Delay(n, before, backoff.Word(uint64(s.Openings)))
}

// count adds an outcome to the window of a closed breaker.
func (r *rules) count(s *Core, words []uint64, failed, slow bool, now clock.Mark) {
	switch r.config.Window {
	case Calls:
		r.countCall(s, words, failed, slow)
	case Time:
		r.countTime(s, words, failed, slow, now)
	case Consecutive:
		if !failed {
			s.Failed = 0
			return
		}
		s.Failed = tally.Inc(s.Failed)
	}
}

// countCall keeps the last Count outcomes as a ring of bits: failures in the
// first half of the words, slow ones in the second.
func (r *rules) countCall(s *Core, words []uint64, failed, slow bool) {
	n := r.config.Count
	at, bit := int(s.Head/64), uint64(1)<<(s.Head%64)
	failures, slows := &words[at], &words[at+bitWords(n)]
	if s.Total == n {
		s.Total--
		s.Failed -= uint32(*failures >> (s.Head % 64) & 1)
		s.Slow -= uint32(*slows >> (s.Head % 64) & 1)
	}
	*failures &^= bit
	*slows &^= bit
	if failed {
		*failures |= bit
	}
	if slow {
		*slows |= bit
	}
	s.tally(failed, slow)
	s.Head = (s.Head + 1) % uint64(n)
}

// countTime keeps Count buckets as a ring of two words each: outcomes and
// failures, slow ones. Head is the number of the present bucket.
func (r *rules) countTime(s *Core, words []uint64, failed, slow bool, now clock.Mark) {
	n := uint64(r.config.Count)
	r.rotate(s, words, now)
	i := 2 * (s.Head % n)
	if s.Total == tally.Max {
		return // no bucket holds more than all of them
	}
	words[i] += 1 << 32
	if failed {
		words[i]++
	}
	if slow {
		words[i+1]++
	}
	s.tally(failed, slow)
}

// rotate drops the buckets that have left the window at now. The number of a
// bucket is floor((now - Origin) x Count / Span), exactly.
func (r *rules) rotate(s *Core, words []uint64, now clock.Mark) {
	n := uint64(r.config.Count)
	present := tally.Bucket(now, s.Origin, n, r.config.Span)
	for range min(n, present-s.Head) {
		s.Head++
		i := 2 * (s.Head % n)
		s.Total -= uint32(words[i] >> 32)
		s.Failed -= uint32(words[i])
		s.Slow -= uint32(words[i+1])
		words[i], words[i+1] = 0, 0
	}
	if s.Head != present {
		// All buckets are empty: the ring may stand anywhere.
		s.Head = present
	}
}

// tally adds an outcome to the sums.
func (s *Core) tally(failed, slow bool) {
	s.Total = tally.Inc(s.Total)
	if failed {
		s.Failed = tally.Inc(s.Failed)
	}
	if slow {
		s.Slow = tally.Inc(s.Slow)
	}
}

// A probe that is out is a word: when it was sent since Origin in the upper 56
// bits, a serial number that is never 0 in the lower 8. Two probes are equal
// only after 255 others at one mark.
const (
	serialBits = 8
	serials    = 1<<serialBits - 1
	maxSince   = 1<<(64-serialBits) - 1
)

// sendProbe takes a place; peek has made sure that there is one.
func (s *Core) sendProbe(words []uint64, now clock.Mark) uint64 {
	since := uint64(now.Sub(s.Origin))
	if since > maxSince && s.Out == 0 {
		s.Origin, since = now, 0 // after two quiet years; no probe counts from it
	}
	id := min(since, maxSince)<<serialBits | (s.Head%serials + 1)
	s.Head++
	for i, word := range words {
		if word == 0 {
			words[i] = id
			s.Out++
			return id
		}
	}
	return id
}

// endProbe frees the place of the probe, if it is still out.
func (s *Core) endProbe(words []uint64, id uint64) bool {
	if id == 0 {
		return false
	}
	for i, word := range words {
		if word == id {
			words[i] = 0
			s.Out--
			return true
		}
	}
	return false
}

// lapses returns the mark at which a probe has been out for the open time.
func (s *Core) lapses(word uint64) clock.Mark {
	return s.Origin.Add(time.Duration(word >> serialBits)).Add(s.OpenFor)
}
