package breaker

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// MaxGrowth is the opening since the breaker was last closed from which on a backoff
// no longer grows.
const MaxGrowth = 1_000

// Machine is an immutable circuit breaker.
type Machine struct {
	config Config
	delay  *backoff.Machine
	digest uint32
}

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	delay, err := c.validate()
	if err != nil {
		return nil, err
	}
	// Only the window, and whether slow outcomes in a row count, determine the encoding
	// of a state.
	digest := wire.NewDigest.Add(uint64(c.Window)).Add(uint64(c.Count)).Add(uint64(c.Span))
	if c.SlowConsecutive > 0 {
		digest = digest.Add(1)
	}
	if c.Forget > 0 {
		digest = digest.Add(2).Add(uint64(c.Forget))
	}
	return &Machine{config: c, delay: delay, digest: uint32(digest)}, nil
}

// Config returns the configuration.
func (m *Machine) Config() Config { return m.config }

// Begin implements reducer.Cell. The first Acquire begins the first generation.
func (m *Machine) Begin(s *State, _ clock.Mark) {
	s.Mode = m.config.Initial
}

// Step implements reducer.Cell. At one mark what ends comes before the changes that
// time brings: a probe that ends exactly at the mark at which its place would become
// free still counts.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	m.step(&answer, s, &a, now, out)
	return answer
}

// step is Step without copies of the action and of the answer, which is zero.
func (m *Machine) step(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) {
	now = s.present(now)
	if a.Kind == reducer.Peek {
		m.peek(answer, *s, a, now)
		return
	}
	before := s.probes()
	if s.waits() {
		m.advance(s, endsFirst(a, now), out)
	}
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		m.begin(s, now)
		if m.admits(answer, &s.Core, now); s.Mode == HalfOpen && answer.Verdict == reducer.Admit {
			answer.Permit = s.sendProbe(now)
		}
	case reducer.Record:
		answer.Verdict = m.record(s, a, now, out)
	case reducer.Cancel, reducer.Release:
		answer.Verdict = s.giveBack(&a.Permit, now)
	case reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	case reducer.Transition:
		answer.Verdict = m.transition(s, a, now, out)
	case reducer.Reset:
		if answer.Verdict = reducer.Done; s.Generation > 0 {
			s.Openings, s.Opens, s.OpenFor = 0, 0, 0
			m.start(s, now, out)
		}
	}
	answer.Changed, s.changed = s.changed, false
	if assert.On {
		m.assert(s, before)
	}
}

// endsFirst returns the mark up to which time brings changes before an action.
func endsFirst(a *reducer.Action, now clock.Mark) clock.Mark {
	switch a.Kind {
	case reducer.Record, reducer.Cancel, reducer.Release:
		return now.Add(-1)
	case reducer.Peek:
		// With an outcome it is a peek for an attempt that ends now.
		if a.Outcome != 0 {
			return now.Add(-1)
		}
	}
	return now
}

// peek answers as acquire would, on a copy: changes by time and acquire replace the
// words of a state and never write into them.
func (m *Machine) peek(answer *reducer.Answer, s State, a *reducer.Action, now clock.Mark) {
	m.begin(&s, now)
	m.advance(&s, endsFirst(a, now), nil)
	m.admits(answer, &s.Core, now)
}

// Enter is a fast path of Step(Acquire) at a closed breaker without a ramp. It returns false
// and leaves the state unchanged if the caller must use Step.
func (m *Machine) Enter(s *State, _ uint32, _ uint64, _, now clock.Mark) (reducer.Permit, bool) {
	if s.Mode != Closed || s.Generation == 0 || s.RampUntil != clock.Never {
		return reducer.Permit{}, false
	}
	return reducer.Permit{Generation: uint64(s.Generation), Mark: max(s.Last, now)}, true
}

// Exit is a fast path of Step(Record) for a success at a closed breaker. It
// returns false and leaves the state unchanged if the caller must use Step: the
// success was slow, begins a bucket, or may be the one that makes the minimum.
func (m *Machine) Exit(s *State, p reducer.Permit, now clock.Mark) bool {
	if s.Mode != Closed || s.Generation == 0 || p.Generation != uint64(s.Generation) {
		return false
	}
	now = max(s.Last, now)
	bucket := m.bucket(s, now)
	if m.slow(p.Mark, now) || bucket != s.Cursor || m.mayOpenOnSuccess(s) {
		return false
	}
	if m.count(s, false, false, now, bucket) {
		s.Last = now
	}
	if assert.On {
		m.assert(s, 0)
	}
	return true
}

// mayOpenOnSuccess reports whether one more success that is not slow may open a
// closed breaker. It lowers the shares of failed and of slow calls, as long as the
// window does not move.
func (m *Machine) mayOpenOnSuccess(s *State) bool {
	c := &m.config
	return c.Window != Consecutive && s.Total > 0 && s.Total+1 >= c.Minimum && m.rateReached(s)
}

// Due implements reducer.Cell. The end of a stay concerns a caller at the next step only,
// but where it ends probes that are pending. A breaker has no queue.
func (m *Machine) Due(s *State) reducer.Due {
	due := reducer.NothingDue()
	switch {
	case !s.waits():
		return due
	case s.probesLapse() && s.ProbesOut > 0:
		due.Wake = s.lapses(s.words[0])
	default:
		due.Wake = s.until()
	}
	if m.Held(s) {
		due.Ends = due.Wake
	}
	return due
}
