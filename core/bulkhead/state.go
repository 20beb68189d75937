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

func (s *State) hold(caller uint64, until clock.Mark) reducer.Permit {
	at := s.free
	if at == 0 {
		s.holders = append(s.holders, holder{})
		at = uint32(len(s.holders))
	} else {
		s.free = s.holders[at-1].later
	}
	s.Serial = max(1, s.Serial+1) // 0 is no grant
	s.Held++
	s.holders[at-1] = holder{grant: s.Serial, caller: caller, until: until}
	s.link(at)
	return reducer.Permit{Generation: s.Serial, ID: uint64(at)}
}

func (s *State) holds(p reducer.Permit) bool {
	return p.Generation != 0 && p.ID != 0 && p.ID <= uint64(len(s.holders)) && s.holders[p.ID-1].grant == p.Generation
}

func (s *State) release(p reducer.Permit) bool {
	if !s.holds(p) {
		return false
	}
	s.unlink(uint32(p.ID))
	s.holders[p.ID-1] = holder{later: s.free}
	s.free = uint32(p.ID)
	s.Held--
	return true
}

// link walks back from the latest end; with one lease for all, that is one look.
func (s *State) link(at uint32) {
	h := &s.holders[at-1]
	next, prev := uint32(0), s.last
	for prev != 0 && s.holders[prev-1].until > h.until {
		next, prev = prev, s.holders[prev-1].sooner
	}
	h.sooner, h.later = prev, next
	if prev == 0 {
		s.first = at
	} else {
		s.holders[prev-1].later = at
	}
	if next == 0 {
		s.last = at
	} else {
		s.holders[next-1].sooner = at
	}
}

func (s *State) unlink(at uint32) {
	h := s.holders[at-1]
	if h.sooner == 0 {
		s.first = h.later
	} else {
		s.holders[h.sooner-1].later = h.later
	}
	if h.later == 0 {
		s.last = h.sooner
	} else {
		s.holders[h.later-1].sooner = h.sooner
	}
}

var errLinks = errors.New("bulkhead: the links do not lead through its holders")

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error {
	if err := s.Queue.Check(); err != nil {
		return err
	}
	seen, prev := uint32(0), uint32(0)
	for at := s.first; at != 0; at = s.holders[at-1].later {
		if uint64(at) > uint64(len(s.holders)) || seen > s.Held {
			return errLinks
		}
		h := s.holders[at-1]
		if h.sooner != prev || h.grant == 0 || prev != 0 && s.holders[prev-1].until > h.until {
			return errLinks
		}
		seen, prev = seen+1, at
	}
	if seen != s.Held || s.last != prev {
		return errLinks
	}
	for at := s.free; at != 0; at = s.holders[at-1].later {
		if uint64(at) > uint64(len(s.holders)) || int(seen) > len(s.holders) || s.holders[at-1].grant != 0 {
			return errLinks
		}
		seen++
	}
	if int(seen) != len(s.holders) {
		return errLinks
	}
	return nil
}

const (
	tag        = 'H'
	holderSize = 3*8 + 2*4
)

// AppendState implements reducer.Cell: header, Last, Serial, links, holders,
// the queue.
func (m *Machine) AppendState(dst []byte, s State) []byte {
	dst = wire.U64(wire.Mark(wire.Header(dst, tag), s.Last), s.Serial)
	for _, v := range [...]uint32{s.first, s.last, s.free, uint32(len(s.holders))} {
		dst = wire.U32(dst, v)
	}
	for _, h := range s.holders {
		dst = wire.Mark(wire.U64(wire.U64(dst, h.grant), h.caller), h.until)
		dst = wire.U32(wire.U32(dst, h.sooner), h.later)
	}
	return s.Queue.Append(dst)
}

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	r := wire.NewReader(src, tag)
	s := State{Last: r.Mark(), Serial: r.U64(), first: r.U32(), last: r.U32(), free: r.U32()}
	n := uint64(r.U32())
	for range min(n, uint64(r.Left()/holderSize)) {
		h := holder{grant: r.U64(), caller: r.U64(), until: r.Mark(), sooner: r.U32(), later: r.U32()}
		s.holders = append(s.holders, h)
		if h.grant != 0 {
			s.Held++
		}
	}
	s.Queue = queue.Read(&r)
	if err := r.Close(); err != nil {
		return State{}, err
	}
	if uint64(len(s.holders)) != n {
		return State{}, wire.Broken(errLinks)
	}
	if err := m.Check(s); err != nil {
		return State{}, wire.Broken(err)
	}
	return s, nil
}
