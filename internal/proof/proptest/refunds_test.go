package proptest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/testenv"
)

// grantedPermit is a permit of a bucket.
type grantedPermit struct {
	record  uint64
	granted clock.Mark
	cost    uint32
	// The state of the bucket after the grant, which a defective refund reads.
	tat      clock.Mark
	refunded uint64
}

// refunder refunds a permit; m's own way is Refund.
type refunder func(m *tokenbucket.Machine, s tokenbucket.State, p grantedPermit, now clock.Mark) tokenbucket.State

func properly(m *tokenbucket.Machine, s tokenbucket.State, p grantedPermit, now clock.Mark) tokenbucket.State {
	s, _ = m.Refund(s, p.record, p.granted, p.cost, now)
	return s
}

// wholly refunds all that has not refilled by TAT: max(TAT - cT, now), which is the
// obvious way.
func wholly(m *tokenbucket.Machine, s tokenbucket.State, p grantedPermit, now clock.Mark) tokenbucket.State {
	if took := s.TAT - max(s.TAT-clock.Mark(m.Interval())*clock.Mark(p.cost), now); took > 0 {
		s.TAT -= took
		s.Refunded += uint64(took)
	}
	return s
}

// unbooked does not record refunds.
func unbooked(m *tokenbucket.Machine, s tokenbucket.State, p grantedPermit, now clock.Mark) tokenbucket.State {
	before := s.Refunded
	s = properly(m, s, p, now)
	s.Refunded = before
	return s
}

// aheadUnminded refunds a permit as if there were no later reservation.
func aheadUnminded(m *tokenbucket.Machine, s tokenbucket.State, p grantedPermit, now clock.Mark) tokenbucket.State {
	took := clock.Mark(m.Interval()) * clock.Mark(p.cost)
	back := took
	if now != p.granted {
		back = min(took, p.tat-clock.Mark(s.Refunded-p.refunded)-now)
	}
	if back > 0 {
		s.TAT -= back
		s.Refunded += uint64(back)
	}
	return s
}

// story is a random short history of a bucket.
type story struct {
	random   *rand.Rand
	machine  *tokenbucket.Machine
	state    tokenbucket.State
	now      clock.Mark
	interval int64
	burst    int64
	permits  []grantedPermit
	kept     []use // of those that are not cancelled
	refund   refunder
	reserves bool
	refunds  int
	text     string
}

// tell plays a history and returns its violation.
func (s *story) tell(n int) error {
	for range n {
		s.now += clock.Mark(s.random.IntN(3) * s.random.IntN(5))
		cost := uint32(1 + s.random.IntN(int(s.burst)))
		switch k := s.random.IntN(6); {
		case k < 2 || k < 4 && !s.reserves:
			s.take(cost, s.now)
		case k < 4:
			s.take(cost, s.now+clock.Mark(s.random.IntN(16)))
		case len(s.permits) > 0:
			s.cancel(s.random.IntN(len(s.permits)))
		}
	}
	return bounded(s.kept, func(w int64) int64 { return s.burst + w/s.interval })
}

// take takes a cost for use at the latest at a mark.
func (s *story) take(cost uint32, latest clock.Mark) {
	ready := s.machine.Turn(s.state.TAT, cost, s.now)
	if ready > latest {
		return
	}
	s.state.TAT = s.machine.Reserve(s.state.TAT, cost, s.now)
	s.text += fmt.Sprintf(" take %d at %d for %d;", cost, s.now, ready)
	s.permits = append(s.permits, grantedPermit{s.state.Potential(), s.now, cost, s.state.TAT, s.state.Refunded})
	s.kept = append(s.kept, use{ready, int64(cost)})
}

func (s *story) cancel(i int) {
	before := s.state.TAT
	s.state = s.refund(s.machine, s.state, s.permits[i], s.now)
	s.text += fmt.Sprintf(" cancel that of %d at %d: TAT %d to %d;", s.kept[i].at, s.now, before, s.state.TAT)
	if s.state.TAT < before {
		s.refunds++
	}
	last := len(s.permits) - 1
	s.permits[i], s.kept[i] = s.permits[last], s.kept[last]
	s.permits, s.kept = s.permits[:last], s.kept[:last]
}

// tales tells n histories. It returns how many refunds there were and the first
// wrong history, shortest first.
func tales(n int, refund refunder, reserves bool) (refunds int, wrong error) {
	source := rand.New(rand.NewPCG(testenv.Seed(), 10))
	for i := range n {
		burst, every := 1+source.Int64N(3), 1+source.Int64N(5)
		m := must(tokenbucket.New(tokenbucket.Config{Count: 1, Period: time.Duration(every), Burst: uint32(burst)}))
		s := &story{random: source, machine: m, state: m.Init(0), interval: every, burst: burst, refund: refund, reserves: reserves}
		if err := s.tell(3 + 9*i/n); err != nil {
			return refunds, fmt.Errorf("SLUICE_SEED=%d: %w: a permit every %d, burst %d:%s", testenv.Seed(), err, every, burst, s.text)
		}
		refunds += s.refunds
	}
	return refunds, nil
}

// refundLines are the refunds of policy/REFERENCE.md#token-bucket: no history of admissions, reservations
// and refunds, early or late, puts more into any window than the bucket's bound;
// a reservation counts from the mark at which it may be used.
func refundLines() []row {
	told := func(name string, n int, refund refunder, reserves bool) trial {
		return trial{name, func() error {
			n := n * testenv.Times()
			refunds, wrong := tales(n, refund, reserves)
			if wrong == nil && refunds < n/3 {
				return fmt.Errorf("%w: %d refunds returned a permit", errRare, refunds)
			}
			return wrong
		}}
	}
	return []row{
		{"L13", "no history of early and late refunds puts more into a window than its bound", byProperty,
			[]trial{told("token bucket", 60_000, properly, false)},
			told("token bucket that refunds to max(TAT - cT, now)", 150_000, wholly, false)},
		{"L13", "what one refund returned no other one returns again", byProperty,
			[]trial{told("token bucket", 15_000, properly, false)},
			told("token bucket that does not record what it refunded", 150_000, unbooked, false)},
		{"L13", "the same holds for histories with reservations, each counted from the mark at which it may be used", byProperty,
			[]trial{told("token bucket", 60_000, properly, true)},
			told("token bucket that refunds what reservations depend on", 150_000, aheadUnminded, true)},
	}
}
