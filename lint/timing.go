package lint

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/mechanism"
)

// shortest returns the index of the enforced timeout above step i that is
// shortest, the outermost of those, and -1 for none.
func (a *analysis) shortest(i int) int {
	best := -1
	for j := range i {
		if a.enforced(j, mechanism.Cuts) && (best < 0 || a.after(j) < a.after(best)) {
			best = j
		}
	}
	return best
}

// checkTimeouts finds timeouts that can never be the first to cut.
func checkTimeouts(a *analysis) {
	for i := range a.steps {
		j := a.shortest(i)
		if !a.enforced(i, mechanism.Cuts) || j < 0 {
			continue
		}
		inner, outer := a.after(i), a.after(j)
		if inner >= outer {
			a.find(Warning, LateTimeout, i, fmt.Sprintf("%s of %s never cuts: %s above it has cut after %s", a.steps[i].Name, Duration(inner), a.steps[j].Name, Duration(outer)),
				fmt.Sprintf("timeout: {after: %s}", Duration(outer/2)))
		}
	}
}

// checkWaits finds waits that a timeout cuts before they are over.
func checkWaits(a *analysis) {
	for i := range a.steps {
		wait, j := a.wait(i), a.shortest(i)
		if wait == 0 || wait == forever || j < 0 {
			continue
		}
		if after := a.after(j); wait >= after {
			a.find(Warning, LateWait, i, fmt.Sprintf("a wait of %s never runs out: %s above it has cut after %s", Duration(wait), a.steps[j].Name, Duration(after)),
				fmt.Sprintf("%s: {wait: %s}", a.steps[i].Kind(), Duration(after/2)))
		}
	}
}

// checkHeld finds calls that may last for ever. A policy that passes states that nothing
// bounds them.
func checkHeld(a *analysis) {
	if a.policy.Pass {
		return
	}
	for i := range a.steps {
		if a.wait(i) == forever && a.within(forever, i) == forever {
			a.find(Warning, NoTimeout, i, fmt.Sprintf("a call waits at %s for ever: give it a wait, or put a timeout above it", a.steps[i].Name), total(forever))
			return
		}
	}
	if t, _ := a.fold(0, len(a.steps), forever, a.attempts, a.sleeps()); t != forever {
		if a.asksFreely() {
			a.find(Warning, NoTimeout, a.retry, fmt.Sprintf("%d attempts with their waits and backoffs last up to %s, and an answer may ask for any delay between them: a timeout above the retry bounds the call", a.attempts, Duration(t)), total(t))
		}
		return
	}
	severity, message := Note, "nothing bounds how long a call runs: add a timeout"
	for i := range a.steps {
		s := &a.steps[i]
		_, held := a.concurrentAt(i)
		if (held || a.wait(i) > 0 || i == a.retry || i == a.hedge) && !s.Shadow {
			severity, message = Warning, "a call can be held for ever by an attempt that does not end: add a timeout"
		}
	}
	a.find(severity, NoTimeout, -1, message, total(forever))
}

// total is a timeout for the whole call, of 30 s where the call has no longest time.
func total(t time.Duration) string {
	if t == forever {
		t = 30 * time.Second
	}
	return fmt.Sprintf("- timeout: {after: %s, name: total}", Duration(t))
}

// checkRetry checks the retry step alone and with the timeouts above it.
func checkRetry(a *analysis) {
	for i := range a.steps {
		if a.enforced(i, mechanism.Repeats) && a.docs[i].Further(a.steps[i].Config).Attempts == 1 {
			a.find(Warning, RetryNoEffect, i, "1 attempt is no retry: the step has no effect; attempts include the first one", "retry: {attempts: 3}")
		}
	}
	if a.retry < 0 {
		return
	}
	a.checkRefusals()
	_, guarded := a.budget()
	for i := a.retry + 1; i < len(a.steps); i++ {
		guarded = guarded || a.enforced(i, mechanism.Modes) && a.docs[i].Opens(a.steps[i].Config).Refuses
	}
	if !guarded {
		a.find(Warning, Unguarded, a.retry, fmt.Sprintf("nothing stops retries while the dependency is down, when they multiply its load by %d: put a breaker below, or add a budget", a.repeats(-1)), "retry: {budget: 20%}")
	}
	if a.attempts > manyAttempts {
		a.find(Warning, RetryMany, a.retry, fmt.Sprintf("a call that fails puts %d requests on the dependency", a.repeats(-1)), "retry: {attempts: 3}")
	}
	a.checkDelays()
}

// checkRefusals finds a retry that waits for refusals which no step below it makes.
func (a *analysis) checkRefusals() {
	if !a.repeated.WaitsRefused {
		return
	}
	for i := a.retry + 1; i < len(a.steps); i++ {
		if a.enforced(i, mechanism.Quotas) || a.enforced(i, mechanism.Votes) {
			return
		}
	}
	a.find(Warning, LateRefusals, a.retry, "no step below refuses for a time: neither a limit nor a breaker is there", "retry: {refusals: end}")
}

// manyAttempts is more than common clients make: AWS SDKs 3 by default, gRPC 5 at
// most.
const manyAttempts = 10

// shortDelay is less than a restart, a failover or a garbage collection takes.
const shortDelay = 10 * time.Millisecond

// checkDelays checks the backoffs, also against the timeouts above the retry.
func (a *analysis) checkDelays() {
	c := a.backoff()
	least := c.DelaysBy(a.attempts-1, 0)
	slept := time.Duration(0)
	for _, delay := range least {
		slept = mechanism.Plus(slept, delay)
	}
	longest := time.Duration(0)
	for _, delay := range c.DelaysBy(a.attempts-1, math.MaxUint64) {
		longest = max(longest, delay)
	}
	switch {
	case longest == 0:
		a.find(Note, NoBackoff, a.retry, "each retry follows at once: a backoff gives the dependency time to recover", "retry: {backoff: {exponential: 500ms}, jitter: full}")
	case longest < shortDelay:
		a.find(Warning, ShortBackoff, a.retry, fmt.Sprintf("no delay is longer than %s: all %d attempts can be over after %s and the time that they take", Duration(longest), a.attempts, Duration(a.backoffs())),
			"retry: {backoff: {exponential: 500ms}}")
	}
	switch {
	case longest == 0 || c.Jitter != backoff.NoJitter || c.Kind == backoff.Decorrelated:
	case c.Kind == backoff.Constant:
		a.find(Warning, NoJitter, a.retry, fmt.Sprintf("all calls that fail at one time are repeated %s later, up to %s", Duration(c.Base), mechanism.Plural(a.attempts-1, "time")), "retry: {jitter: full}")
	default:
		a.find(Note, NoJitter, a.retry, fmt.Sprintf("all calls that fail at one time are repeated %s later", Duration(least[0])), "retry: {jitter: full}")
	}
	a.checkElapsed(least)
	j := a.shortest(a.retry)
	if j < 0 {
		return
	}
	total, after := time.Duration(0), a.after(j)
	for k, delay := range least {
		if total = mechanism.Plus(total, delay); total >= after {
			a.find(Warning, Unreachable, a.retry, fmt.Sprintf("attempt %d never starts: the backoffs before it last %s at least, and %s cuts after %s", k+2, Duration(total), a.steps[j].Name, Duration(after)), fmt.Sprintf("retry: {attempts: %d}", k+1))
			return
		}
	}
	each := a.between(a.retry+1, len(a.steps), forever)
	if each == forever {
		a.find(Note, MayNotFit, a.retry, fmt.Sprintf("an attempt that hangs uses up the %s of %s and is not retried: a timeout below the retry cuts it", Duration(after), a.steps[j].Name), "")
		return
	}
	if longest := a.rounds(each, a.attempts, a.backoffs()); longest > after {
		a.find(Note, MayNotFit, a.retry, fmt.Sprintf("%d attempts take up to %s with their waits and backoffs; %s cuts after %s", a.attempts, Duration(longest), a.steps[j].Name, Duration(after)), "")
	}
}

// checkElapsed checks max_elapsed against the shortest delays and the timeouts above.
func (a *analysis) checkElapsed(least []time.Duration) {
	most := a.repeated.Elapsed
	if most == 0 {
		return
	}
	total := time.Duration(0)
	for k, delay := range least {
		if total = mechanism.Plus(total, delay); total >= most {
			a.find(Warning, Unreachable, a.retry, fmt.Sprintf("attempt %d never starts: the backoffs before it last %s at least, and none starts after %s", k+2, Duration(total), Duration(most)), fmt.Sprintf("retry: {attempts: %d}", k+1))
			return
		}
	}
	if j := a.shortest(a.retry); j >= 0 && a.after(j) <= most {
		a.find(Warning, LateElapsed, a.retry, fmt.Sprintf("max_elapsed of %s ends no retry: %s above it has cut after %s", Duration(most), a.steps[j].Name, Duration(a.after(j))), fmt.Sprintf("retry: {max_elapsed: %s}", Duration(a.after(j)/2)))
	}
}

// longestRun returns the longest duration that step i measures: an attempt, or all of a
// call from its first attempt on when the step is above a retry.
func (a *analysis) longestRun(i int) time.Duration {
	run := forever
	for j := range a.steps {
		if a.enforced(j, mechanism.Cuts) && (i > a.retry || j < a.retry) && (i > a.hedge || j < a.hedge) {
			run = min(run, a.after(j))
		}
	}
	return run
}
