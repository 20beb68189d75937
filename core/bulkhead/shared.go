package bulkhead

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// MaxMember is the greatest id of a member of a shared bulkhead.
const MaxMember = 1<<32 - 1

// SharedConfig is the configuration of a bulkhead whose places are held by members:
// the workers of a proxy, or the processes of a service.
type SharedConfig struct {
	// Concurrent calls of all members together, 1 to MaxConcurrent.
	Concurrent uint32
	// Lease of a member, more than 0: a member that neither took a place nor renewed
	// its lease for so long loses all of its places. With a longer one the places of
	// a member that died stay taken for longer; with a shorter one a member that is
	// stalled loses places whose calls still run.
	Lease time.Duration
	// Members that hold places at one time, at most; 0 for as many as there are
	// places. It bounds the size of a state. A further member is refused as by a
	// full bulkhead.
	Members uint32
}

// Shared returns the shared form of a bulkhead: its own lease, or the given one where
// it has none. Queue, Wait and Order do not apply to it.
func (c Config) Shared(lease time.Duration, members uint32) SharedConfig {
	if c.Lease > 0 {
		lease = c.Lease
	}
	return SharedConfig{Concurrent: c.Concurrent, Lease: lease, Members: members}
}

// SharedMachine is an immutable bulkhead that members share. It admits as Machine
// does, without a queue, and keeps for each member how many places it holds and one
// lease for all of them.
//
// The ID of an Acquire is the member. The permit names it, and in Generation its
// epoch: the number of its stay, which begins with its first place and ends when it
// has released its last one or its lease is over. A permit of an earlier stay is
// stale. The places of one stay are not distinguished: a member releases each of its
// permits once, with the Cost of its Acquire. Renew extends the lease of the permit's member, and so does each
// admission. A lapse is one effect, with the permit of the stay that ended. All
// actions but a Peek end leases that are over first.
type SharedMachine struct {
	cell.Passive[SharedState]

	config SharedConfig
}

var _ reducer.Cell[SharedState] = (*SharedMachine)(nil)

// NewShared validates the configuration.
func NewShared(c SharedConfig) (*SharedMachine, error) {
	var e reducer.ConfigErrors
	e.Count(c.Concurrent == 0 || c.Concurrent > MaxConcurrent, "concurrent", uint64(c.Concurrent), "1 to 1000000")
	e.Duration(c.Lease <= 0, "lease", c.Lease, "more than 0")
	if err := e.Err(); err != nil {
		return nil, err
	}
	if c.Members == 0 || c.Members > c.Concurrent {
		c.Members = c.Concurrent // each member holds a place
	}
	return &SharedMachine{config: c}, nil
}

// SharedCells returns the maker of the cells of a bulkhead's shared form.
func SharedCells(c SharedConfig) (cell.Maker, error) {
	m, err := NewShared(c)
	if err != nil {
		return nil, err
	}
	return cell.Makes(m, cell.Plain[SharedState]), nil
}

// Begin implements reducer.Cell.
func (m *SharedMachine) Begin(s *SharedState, now clock.Mark) { s.Last = now }

// Step implements reducer.Cell.
func (m *SharedMachine) Step(s *SharedState, a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	now = max(now, s.Last)
	before := s.Held
	if a.Kind == reducer.Peek {
		m.peek(&answer, s, a.ID, placesOf(a.Cost), now)
		return answer
	}
	s.lapse(now, out)
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		m.acquire(&answer, s, a.ID, placesOf(a.Cost), now)
	case reducer.Release, reducer.Cancel:
		answer.Verdict = done(s.release(&a.Permit, placesOf(a.Cost), now))
	case reducer.Renew:
		answer.Verdict = done(m.renew(s, &a.Permit, now))
	case reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	case reducer.Reset:
		if answer.Verdict = reducer.Done; s.Held > 0 {
			m.Recall(s)
			s.touch(now)
		}
	}
	answer.Changed, s.changed = s.changed, false
	if assert.On {
		m.assert(s, before)
	}
	return answer
}

// admits answers an acquire of some places by a member while so many are free and so many
// members hold some, of which it is one or not.
func (m *SharedMachine) admits(answer *reducer.Answer, member uint64, cost, free uint32, members int, known bool) {
	why := reducer.NoReason
	switch {
	case member > MaxMember, cost > m.config.Concurrent:
		why = reducer.ReasonCapacity
	case cost > free, !known && members >= int(m.config.Members):
		why = reducer.ReasonFull
	default:
		answer.Verdict = reducer.Admit
		return
	}
	answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, why, clock.Never
}

// free returns how many places are free where some are held.
func (m *SharedMachine) free(held uint32) uint32 {
	return m.config.Concurrent - min(held, m.config.Concurrent)
}

func (m *SharedMachine) acquire(answer *reducer.Answer, s *SharedState, member uint64, cost uint32, now clock.Mark) {
	i, known := s.find(member)
	if m.admits(answer, member, cost, m.free(s.Held), len(s.Members), known); answer.Verdict != reducer.Admit {
		return
	}
	if !known {
		s.join(i, uint32(member))
	}
	h := &s.Members[i]
	h.Held += cost
	s.Held += cost
	h.Until = now.Add(m.config.Lease)
	s.touch(now)
	answer.Permit = reducer.Permit{Generation: uint64(h.Epoch), ID: member, Mark: now}
}

func (m *SharedMachine) renew(s *SharedState, p *reducer.Permit, now clock.Mark) bool {
	i, ok := s.holds(p)
	if !ok {
		return false
	}
	if until := now.Add(m.config.Lease); s.Members[i].Until != until {
		s.Members[i].Until = until
		s.touch(now)
	}
	return true
}

// peek answers as TryAcquire would, without ending what is over.
func (m *SharedMachine) peek(answer *reducer.Answer, s *SharedState, member uint64, cost uint32, now clock.Mark) {
	held, members, known := uint32(0), 0, false
	for i := range s.Members {
		if h := &s.Members[i]; !h.overAt(now) {
			held += h.Held
			members++
			known = known || uint64(h.ID) == member
		}
	}
	answer.Mark, answer.Free = now, m.free(held)
	m.admits(answer, member, cost, answer.Free, members, known)
}

// Due implements reducer.Cell: the end of a lease.
func (m *SharedMachine) Due(s *SharedState) reducer.Due {
	due := reducer.NothingDue()
	for i := range s.Members {
		due.Ends = min(due.Ends, s.Members[i].Until)
	}
	due.Wake = due.Ends
	return due
}

// Move implements reducer.Cell.
func (m *SharedMachine) Move(s *SharedState, by time.Duration) {
	s.Last = s.Last.Add(by)
	for i := range s.Members {
		s.Members[i].Until = s.Members[i].Until.Add(by)
	}
}

// Held reports whether a place is held.
func (m *SharedMachine) Held(s *SharedState) bool { return s.Held > 0 }

// Recall ends the stays of all members. The numbers of stays continue, so that an
// earlier permit is stale.
func (m *SharedMachine) Recall(s *SharedState) { s.Members, s.Held = s.Members[:0], 0 }

// Inherit implements reducer.Cell. Members keep their places, and their leases until
// they next renew them; those above a lowered maximum leave as their calls end.
func (m *SharedMachine) Inherit(s *SharedState, from reducer.Cell[SharedState], now clock.Mark, out *reducer.Out) {
	if _, ok := from.(*SharedMachine); !ok {
		*s = SharedState{}
		m.Begin(s, now)
		return
	}
	s.lapse(max(now, s.Last), out)
	s.changed = false
}

// Class implements reducer.Cell.
func (m *SharedMachine) Class(s *SharedState, _ clock.Mark) (reducer.Class, clock.Mark) {
	return reducer.Steady(s.Held == 0)
}

// AppendText implements reducer.Cell, as in "held 3/5 members 2".
func (m *SharedMachine) AppendText(dst []byte, s *SharedState, _ clock.Mark) []byte {
	dst = strconv.AppendUint(append(dst, "held "...), uint64(s.Held), 10)
	dst = strconv.AppendUint(append(dst, '/'), uint64(m.config.Concurrent), 10)
	return strconv.AppendUint(append(dst, " members "...), uint64(len(s.Members)), 10)
}

// MaxSize implements reducer.Cell.
func (m *SharedMachine) MaxSize() int {
	n, epoch, lease := m.config.Members, wire.UvarintSize(1<<32-1), wire.UvarintSize(uint64(m.config.Lease))
	members := wire.UvarintsSize(uint64(n), MaxMember) + wire.UvarintsSize(uint64(n), uint64(m.config.Concurrent)) + int(n)*epoch
	ends := int(n)*lease + 1 // the last one, and how much sooner the others are; one is the last one
	return wire.HeaderSize + 8 + epoch + wire.UvarintSize(uint64(n)) + members + ends
}
