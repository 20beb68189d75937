package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/policy/document"
)

// settings says in one line what a step does, defaults included.
func (a *analysis) settings(i int) string {
	s := &a.steps[i]
	text := ""
	switch s.Kind() {
	case pipeline.Timeout:
		text = a.timeoutText(i)
	case pipeline.Retry:
		text = retryText(pipeline.ConfigOf[retry.Config](*s), a.policy.Methods)
	case pipeline.Breaker:
		text = breakerText(pipeline.ConfigOf[breaker.Config](*s))
	case pipeline.Limit:
		text = limitText(pipeline.ConfigOf[limiter.Config](*s))
	case pipeline.Bulkhead:
		text = bulkheadText(pipeline.ConfigOf[bulkhead.Config](*s))
	case pipeline.Hedge:
		text = hedgeText(pipeline.ConfigOf[hedge.Config](*s), a.policy.HedgeMethods)
	}
	if len(s.Per) > 0 {
		text += ", per " + strings.Join(s.Per, " and ")
	}
	if s.Shadow {
		text += ", in shadow mode"
	}
	return text
}

func (a *analysis) timeoutText(i int) string {
	c := pipeline.ConfigOf[timeout.Config](a.steps[i])
	text := Duration(c.After).String() + " for the call"
	switch {
	case a.each(i):
		text = Duration(c.After).String() + " for each attempt"
	case i == 0:
		text = Duration(c.After).String() + " for the whole call"
	}
	if c.Soft > 0 {
		text += ", warns after " + Duration(c.Soft).String()
	}
	return text
}

func retryText(c retry.Config, methods []string) string {
	text := plural(uint64(c.Attempts), "attempt") + ", backoff " + backoffText(c.Backoff)
	if c.Budgeted {
		text += ", " + budgetText(c.Budget)
	} else {
		text += ", no budget"
	}
	return text + methodsText(methods)
}

func budgetText(b budget.Config) string {
	return fmt.Sprintf("budget %s, %s at least, over %s", b.Ratio, perTime(b.MinimumCount, b.MinimumPeriod), Duration(b.Window))
}

// methodsText says what methods are repeated where that is not the default.
func methodsText(methods []string) string {
	if len(methods) == 0 || slices.Equal(methods, document.DefaultMethods()) {
		return ""
	}
	return ", methods " + strings.Join(methods, " ")
}

func hedgeText(c hedge.Config, methods []string) string {
	text := plural(uint64(c.Max), "further attempt")
	switch {
	case c.Parallel:
		text += " at once"
	case c.Percentile > 0:
		text += fmt.Sprintf(", each after p%s of the last %s, from %d on", strings.TrimSuffix(c.Percentile.String(), "%"), plural(uint64(c.Samples), "duration"), c.Minimum)
	default:
		text += ", each after " + Duration(c.After).String()
	}
	switch {
	case c.Budgeted:
		text += ", " + budgetText(c.Budget)
	case c.Unbudgeted:
		text += ", no budget"
	}
	return text + methodsText(methods)
}

func backoffText(c backoff.Config) string {
	if c.Kind == backoff.None {
		return "none"
	}
	text := c.Kind.String() + " " + Duration(c.Base).String()
	if c.Kind == backoff.Exponential {
		text += " factor " + factor(c.Factor)
	}
	if c.Max > 0 {
		text += " max " + Duration(c.Max).String()
	}
	switch {
	case c.Jitter == backoff.Full:
		text += " with full jitter"
	case c.Jitter == backoff.Equal:
		text += " with equal jitter"
	case c.Jitter == backoff.Fraction:
		text += " with jitter " + c.Share.String()
	case c.Kind != backoff.Decorrelated:
		text += " without jitter"
	}
	return text
}

// factor writes millionths as a number.
func factor(f backoff.Factor) string {
	text := strconv.FormatUint(uint64(f/backoff.FactorOne), 10)
	if rest := f % backoff.FactorOne; rest > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", rest), "0")
	}
	return text
}

func breakerText(c breaker.Config) string {
	text := ""
	switch c.Window {
	case breaker.Consecutive:
		text = "opens at " + plural(uint64(c.Count), "failure") + " in a row"
	case breaker.Time:
		text = fmt.Sprintf("opens at %s of the last %s in %s", judged(c), Duration(c.Span), plural(uint64(c.Count), "bucket"))
	default:
		text = fmt.Sprintf("opens at %s of the last %s", judged(c), plural(uint64(c.Count), "call"))
	}
	if c.Window != breaker.Consecutive {
		text += fmt.Sprintf(", from %d on", c.Minimum)
	}
	if c.Open.Kind == backoff.Constant && c.Open.Jitter == backoff.NoJitter {
		text += ", for " + Duration(c.Open.Base).String()
	} else {
		text += ", for " + backoffText(c.Open)
	}
	text += ", then " + plural(uint64(c.Probes), "probe")
	if c.HalfOpenMax > 0 {
		text += " within " + Duration(c.HalfOpenMax).String()
	}
	return text
}

func judged(c breaker.Config) string {
	text := c.FailureRate.String() + " failed"
	if c.SlowOver > 0 {
		text += fmt.Sprintf(" or %s slower than %s", c.SlowRate, Duration(c.SlowOver))
	}
	return text
}

var algorithms = [...]string{
	limiter.TokenBucket: "token-bucket", limiter.FixedWindow: "fixed-window", limiter.SlidingCounter: "sliding-counter",
	limiter.SlidingLog: "sliding-log", limiter.LeakyBucket: "leaky-bucket",
}

func limitText(c limiter.Config) string {
	text := rate(c) + " " + algorithms[c.Algorithm]
	switch c.Algorithm {
	case limiter.TokenBucket:
		text += fmt.Sprintf(", burst %d, one each %s", burst(c), Duration(interval(c)))
	case limiter.LeakyBucket:
		text += fmt.Sprintf(", one each %s", Duration(interval(c)))
	}
	if c.Wait == 0 {
		return text + ", refuses at once"
	}
	return text + ", " + queueText(c.Queue, c.Wait, c.Order)
}

func bulkheadText(c bulkhead.Config) string {
	text := strconv.FormatUint(uint64(c.Concurrent), 10) + " at once"
	if c.Queue == 0 {
		text += ", refuses at once"
	} else {
		text += ", " + queueText(c.Queue, c.Wait, c.Order)
	}
	if c.Lease > 0 {
		text += ", lease " + Duration(c.Lease).String()
	}
	return text
}

func queueText(queue uint32, wait time.Duration, order limiter.Order) string {
	text := fmt.Sprintf("queue %d, waits as long as the caller does", queue)
	if wait > 0 {
		text = fmt.Sprintf("queue %d, waits up to %s", queue, Duration(wait))
	}
	if order == limiter.Newest {
		text += ", newest first"
	}
	return text
}

// rate writes a rate as the document does.
func rate(c limiter.Config) string { return perTime(c.Count, c.Period) }

func perTime(count uint32, period time.Duration) string {
	return fmt.Sprintf("%d/%s", count, Duration(period))
}

// unit names a period in a sentence: the worst minute, the worst 5m.
func unit(period time.Duration) string {
	switch period {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	}
	return Duration(period).String()
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatUint(n, 10) + " " + what + "s"
}
