package budget

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// checkAdaptive validates the configuration of Adaptive.
func (c *Config) checkAdaptive(e *reducer.ConfigErrors) {
	e.Count(c.hasRatio() || c.hasTokens(), "budget.rule", uint64(c.Rule), "the fields of its rule alone")
	e.Duration(c.Window < buckets, "budget.adaptive", c.Window, "at least 10ns")
	e.Share(!c.OneAbove.Positive() || c.OneAbove.Millionths() > reducer.Whole, "budget.one_above", c.OneAbove, "more than 0% and at most 100%")
	e.Share(!c.TwoAbove.Positive() || c.OneAbove.Positive() && c.TwoAbove.Compare(c.OneAbove) > 0, "budget.two_above", c.TwoAbove, "more than 0% and at most one_above")
	e.Duration(c.Wait <= 0, "budget.wait", c.Wait, "more than 0")
}

// adapt is StepInto for Adaptive, for the actions that it treats in its own way: Release
// counts how an attempt ended, and Acquire, whose Cost is how many further attempts the
// call has made and whose Value is how long its last one waited, grants by what was
// counted. A grant changes nothing.
func (m *Machine) adapt(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) bool {
	switch a.Kind {
	case reducer.Release:
		answer.Verdict = reducer.Done
		failed := a.Outcome == reducer.Fail || a.Outcome == reducer.Throttle || a.Outcome == reducer.Timeout
		if !failed && a.Outcome != reducer.OK {
			return true
		}
		b, moved := m.present(s, now)
		answer.Changed = inc(&b.First) || moved
		if failed && inc(&b.Retries) {
			answer.Changed = true
		}
	case reducer.Acquire, reducer.TryAcquire, reducer.Peek:
		if s.Begun {
			now = max(now, s.Last)
		}
		most := m.retries(s, a.Value, now)
		if a.Cost >= most {
			answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, reducer.ReasonBudget, clock.Never
			return true
		}
		answer.Verdict, answer.Mark, answer.Free = reducer.Admit, now, most-a.Cost
	case reducer.Record:
		answer.Verdict = reducer.Done
	default:
		return false
	}
	return true
}

// retries returns how many further attempts a call may make.
func (m *Machine) retries(s *State, waited uint64, now clock.Mark) uint32 {
	if waited > uint64(m.config.Wait) {
		return 0
	}
	ended, failed := m.sums(s, now)
	above := func(share reducer.Share) bool {
		return failed*uint64(reducer.Whole) > ended*uint64(share.Millionths())
	}
	switch {
	case above(m.config.OneAbove):
		return 1
	case above(m.config.TwoAbove):
		return 2
	}
	return 1<<32 - 1
}
