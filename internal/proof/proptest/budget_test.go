package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of retry budgets.

// spendings recounts a budget from the list of all attempts.
type spendings struct {
	config          budget.Config
	begun           bool
	origin          clock.Mark
	firsts, retries []clock.Mark
}

// begin starts the first bucket at the first count.
func (s *spendings) begin(at clock.Mark) {
	if !s.begun {
		s.origin, s.begun = at, true
	}
}

func (s *spendings) first(at clock.Mark) {
	s.begin(at)
	s.firsts = append(s.firsts, at)
}

func (s *spendings) retry(at clock.Mark) {
	s.begin(at)
	s.retries = append(s.retries, at)
}

// grants reports whether the budget has a retry at the mark.
func (s *spendings) grants(at clock.Mark) bool {
	c := s.config
	allowed := s.within(s.firsts, at) * int64(c.Ratio.Millionths()) / int64(reducer.Whole)
	if c.MinimumCount > 0 {
		allowed += int64(c.MinimumCount) * int64(c.Window) / int64(c.MinimumPeriod)
	}
	return s.within(s.retries, at)+1 <= allowed
}

// within counts the marks in the bucket of a mark and the nine before it.
func (s *spendings) within(list []clock.Mark, at clock.Mark) (n int64) {
	bucket := func(m clock.Mark) int64 { return int64(m-s.origin) * 10 / int64(s.config.Window) }
	for _, m := range list {
		if bucket(at)-bucket(m) < 10 {
			n++
		}
	}
	return n
}

// R8: in the present bucket and the nine before it exactly as many retries are
// granted as the minimum and the ratio allow.
func R8(m machine, h history) error {
	r, c := play(m, h)
	s := spendings{config: c.budget}
	for _, x := range r.log {
		asks := x.action.Kind == reducer.Acquire || x.action.Kind == reducer.TryAcquire
		granted := x.answer.Verdict == reducer.Admit
		switch {
		case x.action.Kind == reducer.Record:
			s.first(x.at)
		case asks && granted != s.grants(x.at):
			return fmt.Errorf("R8: %s with %d firsts and %d retries so far", x, len(s.firsts), len(s.retries))
		case asks && granted:
			s.retry(x.at)
		case asks:
			m.meet()
		}
	}
	return nil
}

// R12: a bucket of tokens grants a retry exactly when its tokens allow it, by a recount of
// all that was taken and returned, in whole thousandths: retries take no more than the
// full bucket and what successes returned.
func R12(m machine, h history) error {
	r, c := play(m, h)
	b := c.budget
	full := int64(b.Tokens) * 1000
	left, taken, returned := full, int64(0), int64(0)
	for _, x := range r.log {
		switch x.action.Kind {
		case reducer.Acquire, reducer.TryAcquire:
			cost := int64(b.Retry) * 1000
			if x.action.Outcome == reducer.Timeout {
				cost = int64(b.Timeout) * 1000
			}
			allowed := left >= cost
			if b.Rule == budget.Throttle {
				allowed = 2*left > full
			}
			granted := x.answer.Verdict == reducer.Admit
			if granted != allowed || granted && x.answer.ID != uint64(cost) {
				return fmt.Errorf("R12: %s with %d of %d thousandths", x, left, full)
			}
			if granted {
				left, taken = left-cost, taken+cost
			} else {
				m.meet()
			}
		case reducer.Release:
			before := left
			switch {
			case x.action.Outcome == reducer.OK && b.Rule == budget.Throttle:
				left = min(full, left+int64(b.TokenRatio.Millionths())/1000)
			case x.action.Outcome == reducer.OK && x.action.ID > 0:
				left = min(full, left+int64(x.action.ID))
			case x.action.Outcome == reducer.OK:
				left = min(full, left+int64(b.Refund)*1000)
			case b.Rule == budget.Throttle && retry.Retries(x.action.Outcome):
				left = max(0, left-1000)
			}
			returned += max(0, left-before)
		}
		if taken > full+returned {
			return fmt.Errorf("R12: %s: retries took %d thousandths of %d and %d returned ones", x, taken, full, returned)
		}
	}
	return nil
}

// R13: an adaptive budget grants a further attempt exactly when the call has made fewer than
// its wait and the share of failures in the window allow, by a recount.
func R13(m machine, h history) error {
	r, c := play(m, h)
	b := c.budget
	s := spendings{config: b} // firsts ended, retries failed
	for _, x := range r.log {
		switch x.action.Kind {
		case reducer.Release:
			if failed := retry.Retries(x.action.Outcome); failed || x.action.Outcome == reducer.OK {
				s.first(x.at)
				if failed {
					s.retry(x.at)
				}
			}
		case reducer.Acquire, reducer.TryAcquire:
			ended, failed := s.within(s.firsts, x.at), s.within(s.retries, x.at)
			most := uint64(1) << 40
			for n, share := range []reducer.Share{b.TwoAbove, b.OneAbove} {
				if failed*int64(reducer.Whole) > ended*int64(share.Millionths()) {
					most = uint64(2 - n)
				}
			}
			if x.action.Value > uint64(b.Wait) {
				most = 0
			}
			granted := x.answer.Verdict == reducer.Admit
			if granted != (uint64(x.action.Cost) < most) {
				return fmt.Errorf("R13: %s after %d further attempts and a wait of %d with %d of %d failed", x, x.action.Cost, x.action.Value, failed, ended)
			}
			if !granted {
				m.meet()
			}
		}
	}
	return nil
}

// budgeted draws a policy with a retry of two attempts or more that has a
// budget.
func budgeted(h history) pipeline.Policy {
	p := drawPolicy(h.word(0)|2, true)
	pipeline.Edit(&p.Steps[find(p, "again")], func(c *retry.Config) {
		c.Attempts++
		c.Budgeted, c.Budget = true, drawBudget(history{h.word(1)}).budget
	})
	return p
}

// R9: a spent budget only suppresses new attempts: with an empty budget the policy
// decides as with one attempt, and the first attempts of all calls run to their ends.
func R9(m machine, h history) error {
	spent, single := budgeted(h), budgeted(h)
	i := find(spent, "again")
	pipeline.Edit(&spent.Steps[i], func(c *retry.Config) { c.Budget = budget.Config{MinimumPeriod: time.Hour, Window: time.Hour} })
	single.Steps = slices.Clone(single.Steps)
	pipeline.Edit(&single.Steps[i], func(c *retry.Config) { c.Attempts, c.Budgeted = 1, false })
	a, b := played(m, spent, h), played(flowing, single, h)
	for j := range a.said {
		if a.said[j].Reason == reducer.ReasonBudget {
			m.meet()
		}
	}
	for _, f := range [...]*flow{a, b} {
		for j := range f.said {
			if t := &f.said[j]; t.Kind == decision.End {
				t.Reason = reducer.NoReason
			}
		}
	}
	return agree("R9", a.said, b.said, func(told) bool { return true })
}

// R10: a first attempt counts when it starts, a retry when it is granted, even if it
// never starts. A retry does not count as a first attempt, and a refused call counts
// as neither.
func R10(m machine, h history) error {
	p := budgeted(h)
	f := played(m, p, h)
	s := spendings{config: pipeline.ConfigOf[retry.Config](p.Steps[find(p, "again")]).Budget}
	for _, t := range f.said {
		switch {
		case t.Kind == decision.Admit && t.Attempt == 1:
			s.first(t.At)
		case t.Kind == decision.Retry:
			if !s.grants(t.At) {
				return fmt.Errorf("R10: %s, with %d first attempts and %d retries so far", t.text(), len(s.firsts), len(s.retries))
			}
			s.retry(t.At)
		case t.Kind == decision.End && t.Reason == reducer.ReasonBudget:
			m.meet()
			if s.grants(t.At) {
				return fmt.Errorf("R10: %s, with %d first attempts and %d retries so far", t.text(), len(s.firsts), len(s.retries))
			}
		}
	}
	return nil
}
