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
	s.Core.shift(by)
	return s
}

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
func (m *Large) Check(s LargeState) error {
	if len(s.Words) < m.config.words() {
		return errState
	}
	return m.check(&s.Core, s.Words)
}

func (r *rules) check(s *Core, words []uint64) error {
	c := &r.config
	switch {
	case s.Generation == 0 && *s != (Core{}):
		return errState
	case s.Mode > MetricsOnly || s.Failed > s.Total && c.Window != Consecutive || s.Slow > s.Total:
		return errState
	case s.Mode == HalfOpen && s.Total >= c.Probes:
		return errState
	case s.Mode == HalfOpen:
		out := uint16(0)
		for _, word := range words {
			if word != 0 {
				out++
			}
		}
		if out != s.Out {
			return errState
		}
	case s.Out != 0 || slices.ContainsFunc(words[c.used():], func(word uint64) bool { return word != 0 }):
		return errState
	case c.Window == Calls && !r.ring(s, words):
		return errState
	case c.Window == Time && !r.sums(s, words):
		return errState
	}
	return nil
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
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.append(dst, &s.Core, s.Words[:]) }

// AppendState implements reducer.Cell and writes the same bytes as Machine's.
func (m *Large) AppendState(dst []byte, s LargeState) []byte { return m.append(dst, &s.Core, s.Words) }

func (r *rules) append(dst []byte, s *Core, words []uint64) []byte {
	for len(words) > r.config.words() && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	dst = wire.Header(dst, tag)
	dst = wire.Mark(wire.Mark(wire.Mark(dst, s.Last), s.Origin), s.Until)
	dst = wire.U64(wire.U64(dst, uint64(s.OpenFor)), s.Head)
	for _, v := range [...]uint32{s.Generation, s.Opens, s.Openings, s.Total, s.Failed, s.Slow} {
		dst = wire.U32(dst, v)
	}
	dst = append(dst, byte(s.Mode))
	dst = wire.U32(dst, uint32(s.Out))
	dst = wire.U32(dst, uint32(len(words)))
	for _, word := range words {
		dst = wire.U64(dst, word)
	}
	return dst
}

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	var s State
	words, err := m.decode(&s.Core, src)
	if err == nil && len(words) > len(s.Words) {
		err = wire.Broken(errState)
	}
	if err != nil {
		return State{}, err
	}
	copy(s.Words[:], words)
	return s, nil
}

// DecodeState implements reducer.Cell.
func (m *Large) DecodeState(src []byte) (LargeState, error) {
	var s LargeState
	words, err := m.decode(&s.Core, src)
	if err != nil {
		return LargeState{}, err
	}
	s.Words = words
	return s, nil
}

func (r *rules) decode(s *Core, src []byte) ([]uint64, error) {
	d := wire.NewReader(src, tag)
	*s = Core{Last: d.Mark(), Origin: d.Mark(), Until: d.Mark(), OpenFor: time.Duration(d.U64()), Head: d.U64(),
		Generation: d.U32(), Opens: d.U32(), Openings: d.U32(), Total: d.U32(), Failed: d.U32(), Slow: d.U32(),
		Mode: Mode(d.U8())}
	out, n := d.U32(), uint64(d.U32())
	words := make([]uint64, 0, smallWords)
	for range min(n, uint64(d.Left()/8)) {
		words = append(words, d.U64())
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	need := r.config.words()
	if s.Out = uint16(out); uint32(s.Out) != out || uint64(len(words)) != n || len(words) < need ||
		len(words) > need && words[len(words)-1] == 0 {
		return nil, wire.Broken(errState)
	}
	if err := r.check(s, words); err != nil {
		return nil, wire.Broken(err)
	}
	return words, nil
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
