package proptest

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The explorations of circuit breakers.

// exploredBreaker has a window of 4 calls and 2 probes, in nanoseconds.
var exploredBreaker = breaker.Config{Window: breaker.Calls, Count: 4, Minimum: 2, FailureRate: reducer.Percent(50),
	SlowOver: 1, SlowRate: reducer.Percent(75), Probes: 2,
	Open: backoff.Config{Kind: backoff.Exponential, Base: 2, Factor: 2 * backoff.FactorOne, Max: 4}}

func breakerScene(name string, c breaker.Config, callers, depth int) scene[breaker.State] {
	record := func(o reducer.Outcome) reducer.Action { return reducer.Action{Kind: reducer.Record, Outcome: o} }
	s := scene[breaker.State]{
		name: name, depth: depth,
		use: explore.Use[breaker.State]{Cell: must(breaker.New(c)), New: "window=calls:4", Callers: callers, Modes: breakerModes,
			Alphabet: []reducer.Action{{Kind: reducer.Acquire, Cost: 1}, record(reducer.OK), record(reducer.Fail), record(reducer.Timeout),
				record(reducer.Throttle), record(reducer.Ignore), record(reducer.Cancelled), {Kind: reducer.Cancel}, tick}},
		marks: explore.Marks{After: []time.Duration{0, 1}, Wake: []time.Duration{-1, 0}},
		last:  func(s *breaker.State) (clock.Mark, bool) { return s.Last, s.Generation > 0 },
		move:  moveMark,
	}
	s.key = breakerKey(c)
	s.rules = breakerRules(c)
	return s
}

var breakerModes = func() (names []string) {
	for m := breaker.Closed; m <= breaker.MetricsOnly; m++ {
		names = append(names, m.String())
	}
	return names
}()

// moveMark moves a permit whose other words are no marks.
func moveMark(p reducer.Permit, by time.Duration) reducer.Permit {
	if p != (reducer.Permit{}) {
		p.Mark = p.Mark.Add(by)
	}
	return p
}

// breakerKey omits the parts of a breaker that no step depends on: its absolute
// marks, how often it changed and opened, for how long it has been closed or a slow
// attempt has been running.
func breakerKey(c breaker.Config) relativeKey[breaker.State] {
	longest := must(backoff.New(c.Open)).Nominal(1 << 20)
	return func(dst []byte, r room[breaker.State], now clock.Mark) []byte {
		s := &r.State
		put := func(v int64) { dst = binary.LittleEndian.AppendUint16(dst, uint16(v)) }
		put(int64(s.Mode))
		put(int64(min(s.Generation, 1)))
		put(int64(s.OpenFor))
		if s.OpenFor == longest {
			put(-1) // and so are all to come
		} else {
			put(int64(s.Opens))
		}
		until := int64(-1 << 15)
		for _, end := range [...]clock.Mark{s.OpenUntil, s.HalfOpenUntil} {
			if end != clock.Never && s.Generation > 0 {
				until = int64(end - now)
			}
		}
		put(until)
		put(int64(s.Total))
		put(int64(s.Failed))
		put(int64(s.Slow))
		if s.Mode == breaker.HalfOpen {
			if s.Probed {
				put(1)
			}
		} else {
			dst = append(dst, ring(c, s)...)
		}
		out := probesOf(s)
		pages := make([]uint64, len(r.Callers))
		for i := range r.Callers {
			pages[i] = breakerPage(s, &r.Callers[i], max(c.SlowOver, longest), out, now)
		}
		slices.Sort(pages) // a breaker does not store its callers
		for _, page := range pages {
			dst = binary.LittleEndian.AppendUint64(dst, page)
		}
		for i, id := range probesOf(s) {
			left := int64(s.Origin) + int64((id-1)>>10) + int64(s.OpenFor) - int64(now)
			put(max(left, -1))
			put(min(int64(out[i]), 1)) // no caller's
		}
		return dst
	}
}

// encoder encodes states of breakers with the window of exploredBreaker.
var encoder = must(breaker.New(exploredBreaker))

// probesOf are the IDs of the pending probes, read from an encoded state, whose layout
// is part of the format.
func probesOf(s *breaker.State) []uint64 {
	if s.ProbesOut == 0 {
		return nil
	}
	const header, mark = 6 + 1, 8 // and the flags
	all := reducer.ValuesOf(encoder).AppendState(nil, *s)[header:]
	number := func() uint64 {
		v, n := binary.Uvarint(all)
		all = all[n:]
		return v
	}
	number() // of the generation
	all = all[mark:]
	for range 4 { // both counts of openings, the open time, the end or the beginning of half-open
		number()
	}
	if number() > 0 { // outcomes
		number()
		number()
	}
	number() // of the last probe
	ids := make([]uint64, number())
	last := s.Cursor
	if s.HalfOpenUntil == clock.Never {
		last += uint64(s.Last-s.Origin) << 10
	}
	for i := len(ids) - 1; i >= 0; i-- {
		word, serial := number(), uint64(0)
		if word&1 == 1 {
			serial = number()
		}
		ids[i] = ((last-1)>>10-word>>1)<<10 + serial + 1
		last = ids[i] - 1
	}
	return ids
}

// breakerPage is the part of a caller that matters; the ID of its probe, while that
// is pending, becomes 0.
func breakerPage(s *breaker.State, p *explore.Caller, longest time.Duration, out []uint64, now clock.Mark) uint64 {
	switch {
	case p.Standing != explore.Holds:
		return 0
	case p.Permit.Generation != uint64(s.Generation):
		return 1 // too late to count
	}
	page := 2 + uint64(min(now.Sub(p.Permit.Mark), longest+1))<<16
	if s.Mode == breaker.HalfOpen {
		at := slices.Index(out, p.Permit.ID)
		page |= uint64(at+1) << 8
		if at >= 0 {
			out[at] = 0
		}
	}
	return page
}

// ring is the window as a list, the oldest call first: 1 for failed, 2 for slow.
// Its calls are the last bytes of an encoded state, four in each.
func ring(c breaker.Config, s *breaker.State) (all []byte) {
	if s.Mode != breaker.Closed {
		return nil
	}
	encoded := reducer.ValuesOf(encoder).AppendState(nil, *s)
	calls := encoded[len(encoded)-int(s.Total+3)/4:]
	for i := range uint64(s.Total) {
		at := (s.Cursor + uint64(c.Count) - uint64(s.Total) + i) % uint64(c.Count)
		all = append(all, calls[at/4]>>(at%4*2)&3)
	}
	return all
}

// recount is the expected window of a closed breaker after the step, and whether it
// opens the breaker; ok is false for a step that counts no outcome.
func recount(c breaker.Config, t *passage[breaker.State]) (window []byte, opens, ok bool) {
	a := t.Before.Action(t.Action)
	s := &t.Before.State
	failed := a.Outcome == reducer.Fail || a.Outcome == reducer.Timeout
	if a.Kind != reducer.Record || s.Mode != breaker.Closed || a.Generation != uint64(s.Generation) || !failed && a.Outcome != reducer.OK {
		return nil, false, false
	}
	vote := byte(0)
	if failed {
		vote = 1
	}
	if c.SlowOver > 0 && t.At.Sub(a.Mark) > c.SlowOver {
		vote |= 2
	}
	window = append(ring(c, s), vote)
	window = window[max(0, len(window)-int(c.Count)):]
	var bad, slow int
	for _, v := range window {
		bad += int(v & 1)
		slow += int(v >> 1)
	}
	n, whole := len(window), int(reducer.Whole)
	opens = n >= int(c.Minimum) && (bad*whole >= int(c.FailureRate.Millionths())*n || c.SlowOver > 0 && slow*whole >= int(c.SlowRate.Millionths())*n)
	return window, opens, true
}
