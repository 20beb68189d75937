package breaker

import (
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
)

// Mode is the state of a breaker in the words of the field.
type Mode uint8

// The modes.
const (
	Closed Mode = iota
	Open
	HalfOpen
	// ForcedOpen refuses until it is moved by hand.
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

// Core is what both sizes of states share.
type Core struct {
	Last    clock.Mark    // latest mark of a step
	Origin  clock.Mark    // when this generation began
	Until   clock.Mark    // end of Open, or of HalfOpen where it has one
	OpenFor time.Duration // the open time of the last opening
	Head    uint64        // the ring's next call or present bucket; probes sent

	Generation uint32 // one stay in one mode; 0 before the first step
	Opens      uint32 // openings since the breaker was last closed
	Openings   uint32 // openings of all time
	Total      uint32 // outcomes in the window, or of probes
	Failed     uint32
	Slow       uint32

	Mode Mode
	Out  uint16 // probes that are out
}

// smallWords is what is left of 160 bytes.
const smallWords = 11

// State is a breaker of up to 320 calls, 5 buckets and 11 probes: 160 bytes,
// comparable, without pointers.
type State struct {
	Core
	Words [smallWords]uint64
}

// LargeState is a breaker of any configuration.
type LargeState struct {
	Core
	Words []uint64
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(s State) State { return s }

// Clone implements reducer.Cell.
func (m *Large) Clone(s LargeState) LargeState {
	s.Words = slices.Clone(s.Words)
	return s
}

// Shift implements reducer.Cell.
func (m *Machine) Shift(s State, by time.Duration) State {
	s.Core.shift(by)
	return s
}

// Shift implements reducer.Cell.
func (m *Large) Shift(s LargeState, by time.Duration) LargeState {
	s = m.Clone(s)
	m.Move(&s, by)
	return s
}

// Move is Shift in place.
func (m *Large) Move(s *LargeState, by time.Duration) { s.Core.shift(by) }

func (s *Core) shift(by time.Duration) {
	if s.Generation > 0 {
		s.Last, s.Origin, s.Until = s.Last.Add(by), s.Origin.Add(by), s.Until.Add(by)
	}
}

// Fresh reports a closed breaker without outcomes. One with a time window is
// never fresh again: its buckets are cut from its first step.
func (m *Machine) Fresh(s State, now clock.Mark) bool { return m.fresh(&s.Core) }

// Fresh is that of Machine.
func (m *Large) Fresh(s LargeState, now clock.Mark) bool { return m.fresh(&s.Core) }

func (r *rules) fresh(s *Core) bool {
	return s.Generation == 0 || s.Generation == 1 && s.Mode == Closed && s.Total == 0 && s.Failed == 0 && r.config.Window != Time
}

var errState = errors.New("breaker: counts, probes and mode do not agree")

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error { return m.check(&s.Core, s.Words[:]) }

// Check implements reducer.Cell.
func (m *Large) Check(s LargeState) error { return m.check(&s.Core, s.Words) }

func (r *rules) check(s *Core, words []uint64) error {
	if len(words) < r.config.words() || !r.sound(s, words) {
		return errState
	}
	return nil
}

func (r *rules) sound(s *Core, words []uint64) bool {
	c := &r.config
	switch {
	case s.Generation == 0 && *s != (Core{}):
		return false
	case s.Mode > MetricsOnly || s.Failed > s.Total && c.Window != Consecutive || s.Slow > s.Total:
		return false
	case s.Mode == HalfOpen:
		return s.Total < c.Probes && used(words) == int(s.Out)
	case s.Out != 0 || used(words[c.used():]) > 0:
		return false
	case c.Window == Calls:
		return r.ring(s, words)
	case c.Window == Time:
		return r.sums(s, words)
	}
	return true
}

// used returns how many words are not zero.
func used(words []uint64) (n int) {
	for _, word := range words {
		if word != 0 {
			n++
		}
	}
	return n
}

// ring reports whether the bits add up to the totals and stand where the next
// call expects them.
func (r *rules) ring(s *Core, words []uint64) bool {
	n := bitWords(r.config.Count)
	failed, slow := 0, 0
	for i := range n {
		failed += bits.OnesCount64(words[i])
		slow += bits.OnesCount64(words[n+i])
	}
	placed := s.Total == r.config.Count && s.Head < uint64(s.Total) || s.Total < r.config.Count && s.Head == uint64(s.Total)
	return placed && uint32(failed) == s.Failed && uint32(slow) == s.Slow
}

// sums reports whether the buckets add up to the totals.
func (r *rules) sums(s *Core, words []uint64) bool {
	var total, failed, slow uint64
	for i := 0; i < 2*int(r.config.Count); i += 2 {
		total += words[i] >> 32
		failed += uint64(uint32(words[i]))
		slow += words[i+1]
	}
	return total == uint64(s.Total) && failed == uint64(s.Failed) && slow == uint64(s.Slow)
}

const tag = 'B'

// AppendState implements reducer.Cell: header, the core's fields in order, the
// number of words, the words: as many as the configuration needs, and more only
// where an older one's probes are still out.
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.encode(dst, &s.Core, s.Words[:]) }

// AppendState implements reducer.Cell and writes the same bytes as Machine's.
func (m *Large) AppendState(dst []byte, s LargeState) []byte { return m.Encode(dst, &s) }

// Encode is AppendState in place.
func (m *Large) Encode(dst []byte, s *LargeState) []byte { return m.encode(dst, &s.Core, s.Words) }

func (r *rules) encode(dst []byte, s *Core, words []uint64) []byte {
	for len(words) > r.config.words() && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	c := wire.Writer(dst, tag, 0)
	s.code(&c, &words)
	return c.Bytes()
}

// code returns false for bytes that no state has.
func (s *Core) code(c *wire.Coder, words *[]uint64) bool {
	for _, m := range [...]*clock.Mark{&s.Last, &s.Origin, &s.Until} {
		c.Mark(m)
	}
	c.Span(&s.OpenFor)
	c.U64(&s.Head)
	for _, v := range [...]*uint32{&s.Generation, &s.Opens, &s.Openings, &s.Total, &s.Failed, &s.Slow} {
		c.U32(v)
	}
	mode, out := uint8(s.Mode), uint32(s.Out)
	c.U8(&mode)
	c.U32(&out)
	s.Mode, s.Out = Mode(mode), uint16(out)
	n := c.Len(len(*words), 8)
	if c.Reads() {
		*words = make([]uint64, n)
	}
	for i := range *words {
		c.U64(&(*words)[i])
	}
	return uint32(s.Out) == out
}

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	var large LargeState
	err := m.decode(src, &large)
	if err == nil && len(large.Words) > smallWords {
		err = wire.Broken(errState)
	}
	if err != nil {
		return State{}, err
	}
	s := State{Core: large.Core}
	copy(s.Words[:], large.Words)
	return s, nil
}

// DecodeState implements reducer.Cell.
func (m *Large) DecodeState(src []byte) (LargeState, error) {
	return wire.Decoded(src, m.decode)
}

// Decode is DecodeState in place, into a state that is zero. After an error the
// state means nothing.
func (m *Large) Decode(src []byte, s *LargeState) error { return m.decode(src, s) }

func (r *rules) decode(src []byte, s *LargeState) error {
	c := wire.Reader(src, tag, 0)
	known := s.code(&c, &s.Words)
	if err := c.Close(); err != nil {
		return err
	}
	n, need := len(s.Words), r.config.words()
	if !known || n < need || n > need && s.Words[n-1] == 0 || !r.sound(&s.Core, s.Words) {
		return wire.Broken(errState)
	}
	return nil
}

// AppendText implements reducer.Cell, as in "closed failed 3/10 slow 1",
// "closed failed 2 in a row" or "open until 30s".
func (m *Machine) AppendText(dst []byte, s State, _ clock.Mark) []byte { return m.text(dst, &s.Core) }

// AppendText is that of Machine.
func (m *Large) AppendText(dst []byte, s LargeState, _ clock.Mark) []byte {
	return m.text(dst, &s.Core)
}

func (r *rules) text(dst []byte, s *Core) []byte {
	dst = append(dst, s.Mode.String()...)
	switch s.Mode {
	case Open:
		dst = append(dst, " until "...)
		return append(dst, s.Until.String()...)
	case ForcedOpen, ForcedClosed:
		return dst
	}
	dst = append(dst, " failed "...)
	dst = strconv.AppendUint(dst, uint64(s.Failed), 10)
	if r.config.Window == Consecutive && s.Mode != HalfOpen {
		return append(dst, " in a row"...)
	}
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, uint64(s.Total), 10)
	if s.Slow > 0 {
		dst = append(dst, " slow "...)
		dst = strconv.AppendUint(dst, uint64(s.Slow), 10)
	}
	if s.Mode == HalfOpen {
		dst = append(dst, " out "...)
		dst = strconv.AppendUint(dst, uint64(s.Out), 10)
	}
	return dst
}
