package lint

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// checkNeverBinds finds limits that never refuse because of a limit above them. A
// looser limit above a tighter one still refuses some calls, and is not a mistake.
func checkNeverBinds(a *analysis) {
	for j := range a.steps {
		for i := range j {
			if c, ok := a.covers(i, j); ok {
				upper, lower := a.steps[i].Name, a.steps[j].Name
				a.find(Warning, LimitNeverBinds, j, fmt.Sprintf("%s never refuses: %s lets at most %d pass in any %s, where %s allows %d",
					lower, upper, c.Passes, Duration(c.Period), lower, c.Allows), c.Mended)
				break
			}
		}
	}
}

// covers reports whether a step admits every call that a step of its mechanism above it admits.
// Between them is neither a wait nor a retry: a call that passes the outer one reaches the
// inner one at the same mark, or its permit is refunded at that mark.
func (a *analysis) covers(i, j int) (c mechanism.Covered, ok bool) {
	outer, inner, covers := &a.steps[i], &a.steps[j], a.docs[j].Covers
	if covers == nil || outer.Kind() != inner.Kind() || outer.Shadow || inner.Shadow || !a.feeds(i, j) {
		return c, false
	}
	for k := i + 1; k < j; k++ {
		if a.wait(k) > 0 || k == a.retry || k == a.hedge {
			return c, false
		}
	}
	return covers(outer.Config, inner.Config)
}

// feeds reports whether all calls of a cell of a step have the same cell of a step
// above it, and none of them passes that step without a permit.
func (a *analysis) feeds(from, to int) bool {
	s := &a.steps[from]
	return within(s.Per, a.steps[to].Per) && (len(s.Per) == 0 || s.Missing != pipeline.MissingSkip)
}

// checkBudget finds budgets that grant every retry, and the load below which the
// others do.
func checkBudget(a *analysis) {
	if a.retry < 0 {
		return
	}
	s := &a.steps[a.retry]
	c, budgeted := a.budget()
	if !budgeted {
		return
	}
	switch c.Rule {
	case budget.Windowed:
	case budget.Adaptive:
		if a.attempts <= 2 {
			a.find(Note, BudgetFloor, a.retry, "a call makes at most 1 retry, which the budget grants at any share of failures: it refuses only after a long wait and below full steps", "retry: {attempts: 4}")
		}
		if wait := a.waits(a.retry); wait > 0 && wait <= c.Wait {
			a.find(Note, BudgetWait, a.retry, fmt.Sprintf("an attempt waits at most %s at the steps below: wait of %s refuses no retry", Duration(wait), Duration(c.Wait)), fmt.Sprintf("retry: {budget: {adaptive: %s, wait: %s}}", Duration(c.Window), Duration(wait/2)))
		}
		return
	default:
		n := untilSpent(c)
		if n > 0 && n < uint64(a.attempts) {
			a.find(Warning, BudgetOneCall, a.retry, fmt.Sprintf("the tokens grant %d of the %d retries that a call makes while no attempt succeeds: one call that fails uses up the budget of all", n, a.attempts-1), tokensText(c, a.attempts-1))
			return
		}
		if n == 0 {
			a.find(Note, BudgetFloor, a.retry, "a failure leaves one half of the tokens or less: the budget grants no retry", "retry: {budget: {max_tokens: 10, token_ratio: 0.1}}")
			return
		}
		a.find(Note, BudgetFloor, a.retry, fmt.Sprintf("the tokens grant %d retries one after another while no attempt succeeds: up to so many, the budget refuses nothing", n), fewerTokens(c))
		return
	}
	floor := always(c)
	retries := uint64(a.attempts - 1)
	if uint64(c.Ratio.Millionths()) >= retries*uint64(reducer.Whole) {
		// A retry may be counted in a later window than its first attempt, so that
		// the budget may still refuse some.
		a.find(Note, BudgetFloor, a.retry, fmt.Sprintf("%s of the first attempts are granted as retries, and a call makes at most %d: at a steady load the budget refuses nothing", c.Ratio, retries), "retry: {budget: 20%}")
		return
	}
	// The attempts whose retries use the budget ended in the window, and started
	// before by their running time.
	if run := a.attemptEnds(); run != forever {
		if most := a.started(scope(s.Per), mechanism.Plus(c.Window, run)); most <= floor {
			a.find(Warning, BudgetNeverBinds, a.retry, fmt.Sprintf("%d retries are granted in %s whatever the load, and the limits let at most %d attempts end in that time: the budget never refuses", floor, Duration(c.Window), most),
				fmt.Sprintf("retry: {budget: {ratio: %s, minimum: 0/s}}", c.Ratio))
			return
		}
	}
	if floor == 0 {
		return
	}
	// floor + ratio x n >= retries x n, all calls failing.
	share := retries*uint64(reducer.Whole) - uint64(c.Ratio.Millionths())
	high, low := bits.Mul64(floor, uint64(reducer.Whole))
	if high >= share {
		return
	}
	calls, _ := bits.Div64(high, low, share)
	a.find(Note, BudgetFloor, a.retry, fmt.Sprintf("%d retries pass in any %s whatever the load: up to %d calls in that time, all of which fail, the budget refuses nothing", floor, Duration(c.Window), calls),
		lowerFloor(c, floor))
}

// lowerFloor proposes a budget that grants fewer retries whatever the load.
func lowerFloor(c budget.Config, floor uint64) string {
	minimum, window := "1/s", ""
	if floor <= uint64(c.Window/time.Second) {
		minimum = "0/s"
	}
	if c.Window != budget.DefaultWindow {
		window = fmt.Sprintf(", window: %s", Duration(c.Window))
	}
	return fmt.Sprintf("retry: {budget: {ratio: %s, minimum: %s%s}}", c.Ratio, minimum, window)
}

// fewerTokens proposes a bucket of fewer tokens, "" for one that is small.
func fewerTokens(c budget.Config) string {
	if c.Rule != budget.Tokens || c.Tokens <= 50 {
		return ""
	}
	return "retry: {budget: {tokens: 50}}"
}

// tokensText is a token-bucket budget of the same rule that grants some ten calls so many
// retries each, as far as the rule has as many tokens.
func tokensText(c budget.Config, retries uint32) string {
	if c.Rule == budget.Throttle {
		return fmt.Sprintf("retry: {budget: {max_tokens: %d, token_ratio: 0.1}}", min(20*uint64(retries)+1, budget.MaxThrottle))
	}
	return fmt.Sprintf("retry: {budget: {tokens: %d}}", min(10*budget.DefaultRetry*uint64(retries), budget.MaxTokens))
}

// attemptEnds returns the longest that an attempt runs.
func (a *analysis) attemptEnds() time.Duration {
	run := forever
	for i := range a.steps {
		if a.enforced(i, mechanism.Cuts) {
			run = min(run, a.after(i))
		}
	}
	return run
}
