package breaker

import (
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Mode is the mode of a breaker.
type Mode uint8

// The modes.
const (
	Closed Mode = iota
	Open
	HalfOpen
	// ForcedOpen refuses until an operator changes the mode.
	ForcedOpen
	// ForcedClosed admits everything and counts nothing.
	ForcedClosed
	// MetricsOnly counts and never opens.
	MetricsOnly
)

var modeNames = [...]string{"closed", "open", "half-open", "forced-open", "forced-closed", "metrics-only"}

// String names the mode.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// Core is a state without the words of its window or of its probes. Fields that
// a mode does not use are zero, but for the ends of stays.
type Core struct {
	Last   clock.Mark // of the latest change
	Origin clock.Mark // beginning of this generation, while outcomes are counted or probes lapse
	// The ends of the present stay, clock.Never where it has none of the kind.
	OpenUntil     clock.Mark
	HalfOpenUntil clock.Mark // set where the configuration bounds the stay
	RampUntil     clock.Mark // closed, in a ramp

	OpenFor time.Duration // open time of the last opening, while open or half-open
	// Cursor is, of Calls, the place of the next outcome in the ring; of Time,
	// the number of the present bucket; of Consecutive where it forgets, the time from
	// Origin to the last failure; half-open, the serial number of the last probe, see
	// probes.go.
	Cursor uint64

	Generation uint32 // counts the stays in a mode; 0 before the first Acquire
	// Opens is, of an open and a half-open breaker, the openings that outcomes caused since
	// it was last closed.
	Opens    uint32
	RampSum  uint32 // in a ramp: the shares of calls since the last one passed, in millionths
	Openings uint32 // openings of all time
	Total    uint32 // outcomes in the window, or of probes
	Failed   uint32 // of them; of Consecutive, the consecutive ones
	Slow     uint32

	ProbesOut uint16
	SlowRow   uint16 // slow outcomes in a row, where the configuration counts them
	Mode      Mode
	Probed    bool // half-open: a probe was sent
	changed   bool // by the current step
}

// State is a breaker. It has memory for what its mode needs: two bits a call, or 16
// bytes a bucket, from the first outcome on; a word for each pending probe.
type State struct {
	Core
	words []uint64
}

// present returns the mark at which an action at now counts.
func (s *Core) present(now clock.Mark) clock.Mark {
	if s.Generation > 0 {
		return max(now, s.Last)
	}
	return now
}

// endless is a stay without an end.
func (s *Core) endless() {
	s.OpenUntil, s.HalfOpenUntil, s.RampUntil = clock.Never, clock.Never, clock.Never
}

// ramps reports whether the breaker is in a ramp.
func (s *Core) ramps() bool {
	return s.Mode == Closed && s.Generation > 0 && s.RampUntil != clock.Never
}

// until returns the end of the present stay or of its ramp, clock.Never for none.
func (s *Core) until() clock.Mark {
	switch s.Mode {
	case Open:
		return s.OpenUntil
	case HalfOpen:
		return s.HalfOpenUntil
	}
	return s.RampUntil
}

// waits reports whether time may bring a change.
func (s *Core) waits() bool {
	return s.Generation > 0 && (s.Mode == Open || s.Mode == HalfOpen || s.ramps())
}

// counts reports whether outcomes go into the window.
func (s *Core) counts() bool { return s.Mode == Closed || s.Mode == MetricsOnly }

// RejectOpen is a fast path of Step(Acquire) that an open breaker refuses. It
// returns the mark at which the breaker lets a probe pass, or false if the caller
// must use Step.
func (s *Core) RejectOpen(now clock.Mark) (until clock.Mark, rejected bool) {
	if s.Mode != Open || s.Generation == 0 || s.OpenUntil <= max(now, s.Last) {
		return clock.Never, false
	}
	return s.OpenUntil, true
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(dst, src *State) {
	*dst = *src
	dst.words = slices.Clone(src.words)
}

// Move implements reducer.Cell.
func (m *Machine) Move(s *State, by time.Duration) {
	if s.Generation == 0 {
		return
	}
	s.Last = s.Last.Add(by)
	s.OpenUntil, s.HalfOpenUntil, s.RampUntil = s.OpenUntil.Add(by), s.HalfOpenUntil.Add(by), s.RampUntil.Add(by)
	if s.counts() || s.probesLapse() {
		s.Origin = s.Origin.Add(by)
	}
}

// unusedAt returns the mark from which on the breaker is as a new one: in its first stay
// without outcomes. clock.Never for none: a breaker with a time window, and one that starts open
// or half-open, counts its buckets or its deadline from its first step.
func (m *Machine) unusedAt(s *State) clock.Mark {
	switch {
	case s.Generation == 0:
		return clock.Always
	case s.Generation > 1 || s.Mode != m.config.Initial || s.Mode == Open || s.Mode == HalfOpen ||
		s.Total > 0 || s.SlowRow > 0 || m.config.Window == Time && s.counts():
		return clock.Never
	case s.Failed > 0:
		return m.forgetsAt(&s.Core)
	}
	return clock.Always
}

// Class implements reducer.Cell. A breaker that time has made half-open, or would make
// open again, is of the class of an open one: no tick changes it.
func (m *Machine) Class(s *State, now clock.Mark) (reducer.Class, clock.Mark) {
	at := m.unusedAt(s)
	switch {
	case at <= now:
		return reducer.Unused, clock.Never
	case s.Mode == Open || s.Mode == HalfOpen || s.Mode == ForcedOpen:
		return reducer.UsedUp, clock.Never
	}
	return reducer.InUse, at
}

// Held reports whether a probe is pending.
func (m *Machine) Held(s *State) bool { return s.ProbesOut > 0 }

// Recall frees the places of all pending probes, because the process that sent them
// has ended.
func (m *Machine) Recall(s *State) {
	if s.ProbesOut > 0 {
		s.words, s.ProbesOut = nil, 0
	}
}

// AppendText implements reducer.Cell, as in "closed failed 3/10 slow 1",
// "closed failed 2 in a row", "closed failed 0/4 ramp until 1m" or "open until 30s".
func (m *Machine) AppendText(dst []byte, state *State, now clock.Mark) []byte {
	s := state.Core
	m.forget(&s, now)
	dst = append(dst, s.Mode.String()...)
	switch s.Mode {
	case Open:
		if s.Generation == 0 {
			return dst
		}
		dst = append(dst, " until "...)
		return append(dst, s.OpenUntil.String()...)
	case ForcedOpen, ForcedClosed:
		return dst
	}
	dst = append(dst, " failed "...)
	dst = strconv.AppendUint(dst, uint64(s.Failed), 10)
	if m.config.Window == Consecutive && s.Mode != HalfOpen {
		dst = append(dst, " in a row"...)
	} else {
		dst = append(dst, '/')
		dst = strconv.AppendUint(dst, uint64(s.Total), 10)
	}
	if s.Slow > 0 {
		dst = append(dst, " slow "...)
		dst = strconv.AppendUint(dst, uint64(s.Slow), 10)
	}
	if s.SlowRow > 0 {
		dst = append(dst, " slow in a row "...)
		dst = strconv.AppendUint(dst, uint64(s.SlowRow), 10)
	}
	if s.Mode == HalfOpen {
		dst = append(dst, " out "...)
		dst = strconv.AppendUint(dst, uint64(s.ProbesOut), 10)
	}
	if s.ramps() {
		dst = append(dst, " ramp until "...)
		dst = append(dst, s.RampUntil.String()...)
	}
	return dst
}
