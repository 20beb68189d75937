package lint

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
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
		held := a.docs[i].Concurrent != nil
		if held {
			_, held = a.docs[i].Concurrent(s.Config)
		}
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
		if a.enforced(i, mechanism.Repeats) && pipeline.ConfigOf[retry.Config](a.steps[i]).Attempts == 1 {
			a.find(Warning, RetryNoEffect, i, "1 attempt is no retry: the step has no effect; attempts include the first one", "retry: {attempts: 3}")
		}
	}
	if a.retry < 0 {
		return
	}
	a.checkRefusals()
	guarded := pipeline.ConfigOf[retry.Config](a.steps[a.retry]).Budgeted
	for i := a.retry + 1; i < len(a.steps); i++ {
		guarded = guarded || a.enforced(i, mechanism.Votes) && refuses(pipeline.ConfigOf[breaker.Config](a.steps[i]).Initial)
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
	if !a.waitsForRefusals() {
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
	least := delays(pipeline.ConfigOf[retry.Config](a.steps[a.retry]).Backoff, a.attempts-1, 0)
	slept := time.Duration(0)
	for _, delay := range least {
		slept = plus(slept, delay)
	}
	c := pipeline.ConfigOf[retry.Config](a.steps[a.retry]).Backoff
	longest := time.Duration(0)
	for _, delay := range delays(c, a.attempts-1, math.MaxUint64) {
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
		if total = plus(total, delay); total >= after {
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
	most := a.maxElapsed()
	if most == 0 {
		return
	}
	total := time.Duration(0)
	for k, delay := range least {
		if total = plus(total, delay); total >= most {
			a.find(Warning, Unreachable, a.retry, fmt.Sprintf("attempt %d never starts: the backoffs before it last %s at least, and none starts after %s", k+2, Duration(total), Duration(most)), fmt.Sprintf("retry: {attempts: %d}", k+1))
			return
		}
	}
	if j := a.shortest(a.retry); j >= 0 && a.after(j) <= most {
		a.find(Warning, LateElapsed, a.retry, fmt.Sprintf("max_elapsed of %s ends no retry: %s above it has cut after %s", Duration(most), a.steps[j].Name, Duration(a.after(j))), fmt.Sprintf("retry: {max_elapsed: %s}", Duration(a.after(j)/2)))
	}
}

// checkBreakers finds breakers whose rules cannot be met.
func checkBreakers(a *analysis) {
	for i := range a.steps {
		if !a.enforced(i, mechanism.Votes) {
			continue
		}
		s := &a.steps[i]
		c := pipeline.ConfigOf[breaker.Config](*s)
		run := a.longestRun(i)
		if c.SlowOver > 0 && c.SlowOver >= run {
			a.find(Warning, LateSlow, i, fmt.Sprintf("nothing is slower than %s: a timeout cuts after %s", Duration(c.SlowOver), Duration(run)), slowText(run/2, c.SlowRate, c.SlowConsecutive))
		}
		a.checkOpen(i, c)
		a.checkMode(i, c)
		a.checkSlowRow(i, c)
		if c.ObeyRetryAfter > longObey {
			a.find(Warning, LongObey, i, fmt.Sprintf("one answer opens %s for up to %s, and only a change by hand ends that sooner", s.Name, Duration(c.ObeyRetryAfter)), "breaker: {obey_retry_after: 10m}")
		}
		if c.RampOver > 0 && run != forever && c.RampOver < run {
			a.find(Note, BriefRamp, i, fmt.Sprintf("the ramp is over after %s, and an attempt lasts up to %s: a dependency that hangs has all calls again before it fails one", Duration(c.RampOver), Duration(run)),
				fmt.Sprintf("breaker: {ramp: {over: %s, from: %s}}", Duration(times(run, 2)), c.RampFrom))
		}
		if c.Forget > 0 && c.Count > 1 && run != forever && c.Forget <= run {
			a.find(Note, BriefForget, i, fmt.Sprintf("a failure is forgotten after %s, and an attempt lasts up to %s: of attempts that hang, one after another, each is forgotten before the next one fails", Duration(c.Forget), Duration(run)),
				fmt.Sprintf("breaker: {window: {consecutive: %d, forget: %s}}", c.Count, Duration(times(run, 2))))
		}
		if c.Window != breaker.Time || i < a.retry || run == forever {
			continue
		}
		if most := a.started(scope(s.Per), plus(c.Span, run)); most < uint64(c.Minimum) {
			a.find(Warning, NeverOpens, i, fmt.Sprintf("%s never opens: it needs %d outcomes within %s, and the limits let at most %d end in that time", s.Name, c.Minimum, Duration(c.Span), most), fmt.Sprintf("breaker: {minimum: %d}", max(1, most)))
		}
	}
}

// longObey is longer than services ask for that expect to be asked again.
const longObey = time.Hour

// slowText is the slow rule of a breaker, as a document has it.
func slowText(over time.Duration, rate reducer.Share, consecutive uint32) string {
	text := "over: " + Duration(over).String()
	if rate.Positive() {
		text += ", rate: " + rate.String()
	}
	if consecutive > 0 {
		text += ", consecutive: " + mechanism.Number(consecutive)
	}
	return "breaker: {slow: {" + text + "}}"
}

// refuses reports whether a breaker that starts in a mode ever refuses a call without a
// change by hand.
func refuses(mode breaker.Mode) bool {
	return mode != breaker.ForcedClosed && mode != breaker.MetricsOnly
}

// checkMode finds breakers that start in a mode which they do not leave by themselves.
func (a *analysis) checkMode(i int, c breaker.Config) {
	switch s := &a.steps[i]; {
	case c.Initial == breaker.ForcedOpen:
		a.find(Warning, ForcedBreaker, i, fmt.Sprintf("%s refuses every call until its state is changed by hand: it starts %s", s.Name, c.Initial), "breaker: {initial: open}")
	case !refuses(c.Initial):
		a.find(Note, ForcedBreaker, i, fmt.Sprintf("%s refuses no call until its state is changed by hand: it starts %s", s.Name, c.Initial), "breaker: {initial: closed}")
	}
}

// checkSlowRow checks slow attempts in a row. In a window of calls, as many in a row as the
// minimum and as reach the slow rate of a whole window open the breaker whatever came
// before: of fewer outcomes than the window has they are a greater share.
func (a *analysis) checkSlowRow(i int, c breaker.Config) {
	row := c.SlowConsecutive
	if row == 0 {
		return
	}
	if b := breakerOf(&a.steps[i]); row == 1 && (b.Open == nil || time.Duration(*b.Open) >= time.Second) {
		long := "longer than any call"
		if b.Open != nil {
			long = b.Open.String()
		}
		a.find(Warning, HastyBreaker, i, fmt.Sprintf("1 slow attempt opens it for %s, and every call of that time is refused", long), slowText(c.SlowOver, c.SlowRate, 5))
	}
	if c.Window != breaker.Calls || !c.SlowRate.Positive() {
		return
	}
	if first := max(reaches(c.SlowRate, c.Count), c.Minimum); row >= first {
		a.find(Note, LateSlowRow, i, fmt.Sprintf("at most %d slow attempts in a row open it by the rate of %s: consecutive of %d decides about probes alone", first, c.SlowRate, row), slowText(c.SlowOver, c.SlowRate, max(1, first/2)))
	}
}

// briefOpen is about as short as a restart of a process can be.
const briefOpen = 100 * time.Millisecond

// checkOpen checks how soon a breaker opens, and for how long.
func (a *analysis) checkOpen(i int, c breaker.Config) {
	b := breakerOf(&a.steps[i])
	if b.OpenLongest != nil && time.Duration(*b.OpenLongest) < briefOpen {
		a.find(Warning, BriefBreaker, i, fmt.Sprintf("%d probes reach a dependency that fails in each %s, %d a second", c.Probes, b.OpenLongest, uint64(c.Probes)*uint64(time.Second)/uint64(max(1, *b.OpenLongest))), "breaker: {open: 5s}")
	}
	if b.Failures == 1 && c.Minimum <= 1 && (b.Open == nil || time.Duration(*b.Open) >= time.Second) {
		long := "longer than any call"
		if b.Open != nil {
			long = b.Open.String()
		}
		mended := "breaker: {window: {consecutive: 5}}"
		if c.Window == breaker.Calls {
			mended = fmt.Sprintf("breaker: {window: {calls: %d}, minimum: %d}", max(c.Count, 100), 20)
		} else if c.Window == breaker.Time {
			mended = "breaker: {minimum: 20}"
		}
		a.find(Warning, HastyBreaker, i, fmt.Sprintf("1 failure opens it for %s, and every call of that time is refused", long), mended)
	}
}

// longestRun returns the longest duration that breaker i measures: an attempt, or all
// of a call from its first attempt on when the breaker is above a retry.
func (a *analysis) longestRun(i int) time.Duration {
	run := forever
	for j := range a.steps {
		if a.enforced(j, mechanism.Cuts) && (i > a.retry || j < a.retry) && (i > a.hedge || j < a.hedge) {
			run = min(run, a.after(j))
		}
	}
	return run
}
