package budget

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable retry budget. Acquire requests a retry, after an attempt of
// its Outcome. For a window Record counts a first attempt; for tokens Release ends an
// attempt with its Outcome, with the permit of the Acquire that granted it.
type Machine struct {
	cell.Passive[State]

	config  Config
	minimum uint64 // retries a window that are always allowed
	tokens  tokenBucket
	digest  uint32
}

var _ reducer.Cell[State] = (*Machine)(nil)

// MaxRatio is ten retries for each first attempt.
const MaxRatio = 10 * reducer.Whole // millionths

// New validates the configuration.
func New(c Config) (*Machine, error) {
	m := &Machine{config: c, digest: uint32(AddTo(wire.NewDigest, &c))}
	var e reducer.ConfigErrors
	switch c.Rule {
	case Windowed:
	case Adaptive:
		c.checkAdaptive(&e)
		return checked(m, &e)
	default:
		m.tokens = newBucket(&c, &e)
		return checked(m, &e)
	}
	e.Count(c.hasTokens() || c.hasRates(), "budget.rule", 0, "the fields of its rule alone")
	e.Share(c.Ratio.Millionths() > MaxRatio, "budget.ratio", c.Ratio, "at most 1000%")
	e.Duration(c.Window < buckets, "budget.window", c.Window, "at least 10ns")
	e.Duration(c.MinimumCount > 0 && c.MinimumPeriod <= 0, "budget.minimum", c.MinimumPeriod, "a rate")
	if c.MinimumCount > 0 && c.MinimumPeriod > 0 && c.Window >= buckets {
		hi, lo := bits.Mul64(uint64(c.MinimumCount), uint64(c.Window))
		if many := hi >= uint64(c.MinimumPeriod); many {
			e.Count(many, "budget.minimum", uint64(c.MinimumCount), "fewer retries a window")
		} else {
			m.minimum, _ = bits.Div64(hi, lo, uint64(c.MinimumPeriod))
		}
	}
	return checked(m, &e)
}

func checked(m *Machine, e *reducer.ConfigErrors) (*Machine, error) {
	if err := e.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// AddTo adds what determines the encoding of a state to a digest: the window, or the
// tokens.
func AddTo(d wire.Digest, c *Config) wire.Digest {
	switch c.Rule {
	case Windowed:
		return d.Add(uint64(c.Window))
	case Adaptive:
		return d.Add(uint64(c.Window) | 1<<63).Add(uint64(c.Rule))
	}
	return d.Add(uint64(c.Tokens) | 1<<63)
}

// hasTokens reports whether fields of the rules of tokens are set, hasRates whether fields of
// Adaptive alone are, hasRatio whether fields of Windowed alone are.
func (c *Config) hasTokens() bool {
	return c.Tokens+c.Retry+c.Timeout+c.Refund > 0 || c.TokenRatio.Positive()
}
func (c *Config) hasRates() bool {
	return c.OneAbove.Positive() || c.TwoAbove.Positive() || c.Wait != 0
}
func (c *Config) hasRatio() bool {
	return c.Ratio.Positive() || c.MinimumCount > 0 || c.MinimumPeriod != 0
}

// inTokens reports whether the state is the tokens that were taken.
func (m *Machine) inTokens() bool { return m.config.Rule == Tokens || m.config.Rule == Throttle }

// CountsEnds reports whether the budget counts how attempts end, by Release, in place of first
// attempts, by Record.
func (m *Machine) CountsEnds() bool { return m.config.Rule != Windowed }

// Adapts reports whether the rule is Adaptive.
func (m *Machine) Adapts() bool { return m.config.Rule == Adaptive }

// Begin implements reducer.Cell. The first attempt of all begins the window.
func (m *Machine) Begin(*State, clock.Mark) {}

// Step implements reducer.Cell. It has no effects on other callers.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, _ *reducer.Out) (answer reducer.Answer) {
	m.StepInto(&answer, s, &a, now)
	return answer
}

// StepInto is Step without copies of the action and of the answer, which is zero.
func (m *Machine) StepInto(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	before := s.Taken
	m.step(answer, s, a, now)
	if assert.On {
		m.assert(s, before)
	}
}

func (m *Machine) step(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	switch {
	case m.inTokens():
		m.tokens.step(answer, s, a, now)
		return
	case m.Adapts() && m.adapt(answer, s, a, now):
		return
	}
	switch a.Kind {
	case reducer.Record:
		b, moved := m.present(s, now)
		answer.Verdict, answer.Changed = reducer.Done, inc(&b.First) || moved
	case reducer.Acquire, reducer.TryAcquire:
		if m.peek(answer, s, now); answer.Verdict == reducer.Admit {
			b, moved := m.present(s, now)
			answer.Changed = inc(&b.Retries) || moved
		}
	case reducer.Peek:
		m.peek(answer, s, now)
	case reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	case reducer.Reset:
		answer.Verdict, answer.Changed = reducer.Done, s.Begun
		*s = State{}
	}
}

// present returns the bucket to count in now, and whether getting there changed the
// state. The first count of all begins the buckets. When a budget becomes active
// while calls run, that may be a retry.
func (m *Machine) present(s *State, now clock.Mark) (b *Bucket, moved bool) {
	if !s.Begun {
		*s = State{Begun: true, Origin: now, Last: now}
		return &s.Buckets[0], true
	}
	if now > s.Last {
		moved = true
		s.Last = now
		m.rotate(s, now)
	}
	return &s.Buckets[s.Head%buckets], moved
}

// inc adds one to a count, and reports whether that changed it.
func inc(n *uint32) bool {
	before := *n
	*n = tally.Inc(before)
	return *n != before
}

// peek answers the request for a retry.
func (m *Machine) peek(answer *reducer.Answer, s *State, now clock.Mark) {
	if s.Begun {
		now = max(now, s.Last)
	}
	free := m.free(s, now)
	if free == 0 {
		answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, reducer.ReasonBudget, clock.Never
		return
	}
	answer.Verdict, answer.Mark = reducer.Admit, now
	answer.Free = uint32(min(free, 1<<32-1))
}

// free returns how many retries the window still allows at now.
func (m *Machine) free(s *State, now clock.Mark) uint64 {
	first, retries := m.sums(s, now)
	allowed, carry := bits.Add64(m.minimum, first*uint64(m.config.Ratio.Millionths())/uint64(reducer.Whole), 0)
	if carry != 0 {
		allowed = 1<<64 - 1
	}
	return allowed - min(retries, allowed)
}

// sums returns the counts of the window at now.
func (m *Machine) sums(s *State, now clock.Mark) (first, retries uint64) {
	present := m.bucket(s, now)
	for i := range min(buckets, s.Head+1) {
		if number := s.Head - i; present-number < buckets {
			b := &s.Buckets[number%buckets]
			first += uint64(b.First)
			retries += uint64(b.Retries)
		}
	}
	return first, retries
}

// bucket returns the number of the bucket that now lies in: floor((now - Origin)
// x 10 / Window), exactly.
func (m *Machine) bucket(s *State, now clock.Mark) uint64 {
	if !s.Begun {
		return 0
	}
	return tally.Bucket(max(now, s.Last), s.Origin, buckets, m.config.Window)
}

// rotate drops the buckets that have left the window at now.
func (m *Machine) rotate(s *State, now clock.Mark) {
	present := m.bucket(s, now)
	for range min(buckets, present-s.Head) {
		s.Head++
		s.Buckets[s.Head%buckets] = Bucket{}
	}
	s.Head = present
}

// Inherit implements reducer.Cell. The counts stay; with another window it starts
// without counts, in buckets aligned with the same mark. What was taken of the tokens
// stays taken, up to all of them; with another rule it starts anew.
func (m *Machine) Inherit(s *State, from reducer.Cell[State], _ clock.Mark, _ *reducer.Out) {
	old, ok := from.(*Machine)
	switch {
	case !ok || m.config.Rule != old.config.Rule:
		*s = State{}
	case m.inTokens():
		s.Taken = min(s.Taken, m.tokens.capacity)
	case m.config.Window != old.config.Window:
		s.Buckets = [buckets]Bucket{}
		s.Head = m.bucket(s, s.Last)
	}
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(dst, src *State) { *dst = *src }

// Move implements reducer.Cell.
func (m *Machine) Move(s *State, by time.Duration) {
	if s.Begun {
		s.Origin, s.Last = s.Origin.Add(by), s.Last.Add(by)
	}
}

// Class implements reducer.Cell. A budget without retries is in use: the calls that come
// give it new ones.
func (m *Machine) Class(s *State, _ clock.Mark) (reducer.Class, clock.Mark) {
	return reducer.Steady(!s.Begun && s.Taken == 0)
}

// AppendText implements reducer.Cell, as in "retries left 12" or "tokens 9.8".
func (m *Machine) AppendText(dst []byte, s *State, now clock.Mark) []byte {
	switch {
	case m.Adapts():
		ended, failed := m.sums(s, now)
		dst = strconv.AppendUint(append(dst, "failed "...), failed, 10)
		return strconv.AppendUint(append(dst, '/'), ended, 10)
	case m.inTokens():
		return appendThousandths(append(dst, "tokens "...), m.tokens.capacity-min(s.Taken, m.tokens.capacity))
	}
	return strconv.AppendUint(append(dst, "retries left "...), m.free(s, now), 10)
}
