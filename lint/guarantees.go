package lint

import (
	"math/bits"
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
)

func (a *analysis) guarantees() Guarantees {
	g := Guarantees{
		Requests:          a.requests(),
		Concurrent:        a.concurrent(),
		Attempts:          Attempts{Most: uint32(a.repeats(-1))},
		WaitBeforeAttempt: a.time(0, 0, 0),
		WaitInAll:         a.time(0, a.attempts, 0),
		Held:              a.held(),
		Breakers:          []Breaker{},
	}
	if a.retry >= 0 {
		if c, budgeted := a.budget(); budgeted {
			g.Attempts.Budget = budgetOf(c, a.steps[a.retry].Per)
		}
	}
	for i := range a.steps {
		if opens := a.docs[i].Opens; opens != nil && !a.steps[i].Shadow {
			g.Breakers = append(g.Breakers, breakerOf(&a.steps[i], opens(a.steps[i].Config)))
		}
	}
	return g
}

// held returns the longest that a call lasts. With a timeout above the retry, answers
// may ask for delays up to it.
func (a *analysis) held() Time {
	backoffs := a.sleeps()
	if a.retry >= 0 && !a.asksFreely() {
		backoffs = forever
	}
	t := a.time(forever, a.attempts, backoffs)
	t.RetryAfter = t.Longest != nil && a.asksFreely()
	return t
}

// requests returns the rows of each limit and of what starts.
func (a *analysis) requests() Requests {
	r := Requests{Limits: []Passed{}, Started: []Passed{}}
	scopes := [][]string{{}}
	for i := range a.steps {
		s := &a.steps[i]
		if own := a.policy.Steps[i]; len(own.When) > 0 && !own.Enforce.Partial() && !own.Shadow && a.docs[i].Admits != nil {
			// What passes it of the calls that it applies to.
			r.Limits = append(r.Limits, Passed{Step: s.Name, Per: orEmpty(s.Per), Most: windows(func(w time.Duration) uint64 { return a.docs[i].Admits(s.Config, w) })})
			continue
		}
		admits := a.admits(i)
		if admits == nil {
			continue
		}
		r.Limits = append(r.Limits, Passed{Step: s.Name, Per: orEmpty(s.Per), Most: windows(admits)})
		if set := scope(s.Per); !slices.ContainsFunc(scopes, func(other []string) bool { return slices.Equal(other, set) }) {
			scopes = append(scopes, set)
		}
	}
	for _, set := range scopes {
		r.Started = append(r.Started, Passed{Per: orEmpty(set), Most: windows(func(w time.Duration) uint64 { return a.started(set, w) })})
	}
	return r
}

// windows asks for the three windows.
func windows(most func(time.Duration) uint64) Windows {
	ask := func(w time.Duration) *uint64 {
		n := most(w)
		if n == none {
			return nil
		}
		return &n
	}
	return Windows{Second: ask(time.Second), Minute: ask(time.Minute), Hour: ask(time.Hour)}
}

// concurrent returns a row for each bulkhead. One above a retry also bounds the
// running attempts, unless a hedge is below it: without a hedge a call runs one
// attempt at a time.
func (a *analysis) concurrent() []Concurrent {
	rows := []Concurrent{}
	for i := range a.steps {
		s := &a.steps[i]
		if a.docs[i].Concurrent == nil || s.Shadow {
			continue
		}
		row := Concurrent{Step: s.Name, Per: orEmpty(s.Per)}
		if most, ok := a.docs[i].Concurrent(s.Config); ok {
			if i < a.hedge {
				most *= uint64(a.hedges) + 1
			}
			row.Most = &most
		}
		rows = append(rows, row)
	}
	return rows
}

func budgetOf(c budget.Config, per []string) *Budget {
	if c.Rule == budget.Adaptive {
		return &Budget{Per: orEmpty(per), Window: Duration(c.Window), OneAbove: c.OneAbove.String(), TwoAbove: c.TwoAbove.String()}
	}
	if c.Rule != budget.Windowed {
		return &Budget{Per: orEmpty(per), Tokens: c.Tokens, UntilSpent: untilSpent(c)}
	}
	return &Budget{Per: orEmpty(per), Ratio: c.Ratio.String(), Always: always(c), Window: Duration(c.Window)}
}

// untilSpent returns the retries that a full bucket of tokens grants while no attempt
// succeeds.
func untilSpent(c budget.Config) uint64 {
	if c.Rule == budget.Throttle {
		return uint64(c.Tokens-1) / 2 // each after a failure that leaves more than one half
	}
	return uint64(c.Tokens / min(c.Retry, c.Timeout))
}

// always returns the retries that a budget grants in a window whatever the load.
func always(c budget.Config) uint64 {
	if c.MinimumCount == 0 || c.MinimumPeriod <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(c.MinimumCount), uint64(c.Window))
	if high >= uint64(c.MinimumPeriod) {
		return none
	}
	n, _ := bits.Div64(high, low, uint64(c.MinimumPeriod))
	return n
}

func breakerOf(s *pipeline.Step, o mechanism.Opens) Breaker {
	known := func(n uint32) *uint32 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return Breaker{
		Step: s.Name, Per: orEmpty(s.Per), Failures: o.Failures, Probes: o.Probes,
		FailuresAfterGood: known(o.FailuresAfterGood), SlowAfterGood: known(o.SlowAfterGood),
		Open: bounded(o.First), OpenLongest: bounded(o.Longest),
	}
}
