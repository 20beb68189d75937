package bulkhead

import (
	"errors"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/queue"
	"github.com/sluice-go/sluice/core/internal/wire"
	"github.com/sluice-go/sluice/reducer"
)

// State is who holds a place and who waits for one. Its memory grows to the
// most places ever held, at most Concurrent.
type State struct {
	Queue queue.Queue
	Last  clock.Mark
	// Serial numbers the grants, so that a place given back twice is noticed.
	Serial uint64
	// Held places.
	Held uint32

	holders           []holder
	first, last, free uint32 // holders by the end of their leases; free places
}

// holder is a place; links count from 1, and 0 leads nowhere.
type holder struct {
	grant         uint64 // 0 when free
	caller        uint64
	until         clock.Mark
	sooner, later uint32 // later links free places
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(s State) State {
	s.Queue = s.Queue.Clone()
	s.holders = slices.Clone(s.holders)
	return s
}

func (s *State) hold(caller uint64, until, now clock.Mark) reducer.Permit {
	if s.free == 0 {
		s.holders = append(s.holders, holder{})
		s.free = uint32(len(s.holders))
	}
	at := s.free
	h := &s.holders[at-1]
	s.free = h.later
	s.Serial = max(1, s.Serial+1) // 0 is no grant
	s.Held++
	h.grant, h.caller, h.until = s.Serial, caller, until
	s.link(at)
	return reducer.Permit{Generation: s.Serial, ID: uint64(at), Mark: now}
}

func (s *State) holds(p reducer.Permit) bool {
	return p.Generation != 0 && p.ID != 0 && p.ID <= uint64(len(s.holders)) && s.holders[p.ID-1].grant == p.Generation
}

// leased reports whether a place has a lease: the first one to run out does.
func (s *State) leased() bool { return s.first != 0 && s.holders[s.first-1].until != clock.Never }

func (s *State) release(p reducer.Permit) bool {
	if !s.holds(p) {
		return false
	}
	s.vacate(uint32(p.ID))
	return true
}

// vacate frees a place that is held.
func (s *State) vacate(at uint32) {
	s.unlink(at)
	s.holders[at-1] = holder{later: s.free}
	s.free = at
	s.Held--
}

// link walks back from the latest end; with one lease for all, that is one look.
func (s *State) link(at uint32) {
	h := &s.holders[at-1]
	next, prev := uint32(0), s.last
	for prev != 0 && s.holders[prev-1].until > h.until {
		next, prev = prev, s.holders[prev-1].sooner
	}
	h.sooner, h.later = prev, next
	*s.later(prev), *s.sooner(next) = at, at
}

func (s *State) unlink(at uint32) {
	h := &s.holders[at-1]
	*s.later(h.sooner), *s.sooner(h.later) = h.later, h.sooner
}

// later returns the link to whose lease ends after that of a place; that of none
// leads to the first. sooner is the like.
func (s *State) later(at uint32) *uint32 {
	if at == 0 {
		return &s.first
	}
	return &s.holders[at-1].later
}

func (s *State) sooner(at uint32) *uint32 {
	if at == 0 {
		return &s.last
	}
	return &s.holders[at-1].sooner
}

var errLinks = errors.New("bulkhead: the links do not lead through its holders")

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error { return s.check() }

func (s *State) check() error {
	if err := s.Queue.Check(); err != nil {
		return err
	}
	if !s.linked() {
		return errLinks
	}
	return nil
}

func (s *State) linked() bool {
	seen, prev := uint32(0), uint32(0)
	for at := s.first; at != 0; at = s.holders[at-1].later {
		if uint64(at) > uint64(len(s.holders)) || seen > s.Held {
			return false
		}
		h := &s.holders[at-1]
		if h.sooner != prev || h.grant == 0 || prev != 0 && s.holders[prev-1].until > h.until {
			return false
		}
		seen, prev = seen+1, at
	}
	if seen != s.Held || s.last != prev {
		return false
	}
	for at := s.free; at != 0; at = s.holders[at-1].later {
		if uint64(at) > uint64(len(s.holders)) || int(seen) > len(s.holders) || s.holders[at-1].grant != 0 {
			return false
		}
		seen++
	}
	return int(seen) == len(s.holders)
}

const (
	tag        = 'H'
	holderSize = 3*8 + 2*4
)

func (s *State) code(c *wire.Coder) {
	c.Mark(&s.Last)
	c.U64(&s.Serial)
	for _, link := range [...]*uint32{&s.first, &s.last, &s.free} {
		c.U32(link)
	}
	n := c.Len(len(s.holders), holderSize)
	if c.Reads() {
		s.holders = make([]holder, n)
	}
	for i := range s.holders {
		h := &s.holders[i]
		c.U64(&h.grant)
		c.U64(&h.caller)
		c.Mark(&h.until)
		c.U32(&h.sooner)
		c.U32(&h.later)
		if c.Reads() && h.grant != 0 {
			s.Held++
		}
	}
	s.Queue.Code(c)
}

// AppendState implements reducer.Cell: header, Last, Serial, links, holders,
// the queue.
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.Encode(dst, &s) }

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	return wire.Decoded(src, m.Decode)
}

// Encode is AppendState in place.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, 0)
	s.code(&c)
	return c.Bytes()
}

// Decode is DecodeState in place, into a state that is zero. After an error the
// state means nothing.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, 0)
	s.code(&c)
	if err := c.Close(); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return wire.Broken(err)
	}
	return nil
}
