package breaker

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// longObey is longer than services ask for that expect to be asked again.
const longObey = time.Hour

// briefOpen is about as short as a restart of a process can be.
const briefOpen = 100 * time.Millisecond

// opens returns the least numbers of outcomes that open the breaker, and for how long.
func opens(config mechanism.Config) mechanism.Opens {
	c := config.(Config)
	o := mechanism.Opens{Failures: c.Minimum, Probes: c.Probes, Refuses: c.Initial != ForcedClosed && c.Initial != MetricsOnly}
	switch c.Window {
	case Consecutive:
		o.Failures, o.FailuresAfterGood = c.Count, c.Count
	case Calls:
		o.FailuresAfterGood = reaches(c.FailureRate, c.Count)
		if c.SlowRate.Positive() {
			o.SlowAfterGood = reaches(c.SlowRate, c.Count)
		}
	}
	o.First, o.Longest = c.Open.Longest()
	return o
}

// reaches returns the least part of the whole that reaches the share.
func reaches(share reducer.Share, whole uint32) uint32 {
	part := (uint64(share.Millionths())*uint64(whole) + uint64(reducer.Whole) - 1) / uint64(reducer.Whole)
	return uint32(max(1, part))
}

// lint finds rules that cannot be met, and a breaker that opens too soon or too briefly.
func lint(config mechanism.Config, p mechanism.Around) {
	if !p.Enforced() {
		return
	}
	c := config.(Config)
	run := p.Run()
	if c.SlowOver > 0 && c.SlowOver >= run {
		p.Warn("slow-beyond-timeout", mechanism.Fill("nothing is slower than %s: a timeout cuts after %s", c.SlowOver, run), slowText(run/2, c.SlowRate, c.SlowConsecutive))
	}
	o := opens(c)
	c.lintOpen(p, &o)
	c.lintMode(p, o.Refuses)
	c.lintSlowRow(p, &o)
	if c.ObeyRetryAfter > longObey {
		p.Warn("retry-after-long", mechanism.Fill("one answer opens %s for up to %s, and only a change by hand ends that sooner", p.Name(), c.ObeyRetryAfter), "breaker: {obey_retry_after: 10m}")
	}
	if run == mechanism.Forever {
		return
	}
	if c.RampOver > 0 && c.RampOver < run {
		p.Note("ramp-brief", mechanism.Fill("the ramp is over after %s, and an attempt lasts up to %s: a dependency that hangs has all calls again before it fails one", c.RampOver, run),
			mechanism.Fill("breaker: {ramp: {over: %s, from: %s}}", mechanism.Times(run, 2), c.RampFrom))
	}
	if c.Forget > 0 && c.Count > 1 && c.Forget <= run {
		p.Note("forget-brief", mechanism.Fill("a failure is forgotten after %s, and an attempt lasts up to %s: of attempts that hang, one after another, each is forgotten before the next one fails", c.Forget, run),
			mechanism.Fill("breaker: {window: {consecutive: %d, forget: %s}}", c.Count, mechanism.Times(run, 2)))
	}
	if c.Window != Time || p.AboveRetry() {
		return
	}
	if most := p.Started(mechanism.Plus(c.Span, run)); most < uint64(c.Minimum) {
		p.Warn("breaker-never-opens", mechanism.Fill("%s never opens: it needs %d outcomes within %s, and the limits let at most %d end in that time", p.Name(), c.Minimum, c.Span, most), mechanism.Fill("breaker: {minimum: %d}", max(1, most)))
	}
}

// slowText is the slow rule of a breaker, as a document has it.
func slowText(over time.Duration, rate reducer.Share, consecutive uint32) string {
	text := "over: " + mechanism.Span(over)
	if rate.Positive() {
		text += ", rate: " + rate.String()
	}
	if consecutive > 0 {
		text += ", consecutive: " + mechanism.Number(consecutive)
	}
	return "breaker: {slow: {" + text + "}}"
}

// lintMode finds a breaker that starts in a mode which it does not leave by itself.
func (c *Config) lintMode(p mechanism.Around, refuses bool) {
	switch {
	case c.Initial == ForcedOpen:
		p.Warn("breaker-forced", mechanism.Fill("%s refuses every call until its state is changed by hand: it starts %s", p.Name(), c.Initial), "breaker: {initial: open}")
	case !refuses:
		p.Note("breaker-forced", mechanism.Fill("%s refuses no call until its state is changed by hand: it starts %s", p.Name(), c.Initial), "breaker: {initial: closed}")
	}
}

// long is the time for which one outcome refuses every call, empty for less than a second.
func long(o *mechanism.Opens) string {
	switch {
	case o.First == mechanism.Forever:
		return "longer than any call"
	case o.First >= time.Second:
		return mechanism.Span(o.First)
	}
	return ""
}

// lintSlowRow checks slow attempts in a row. In a window of calls, as many in a row as the
// minimum and as reach the slow rate of a whole window open the breaker whatever came before:
// of fewer outcomes than the window has they are a greater share.
func (c *Config) lintSlowRow(p mechanism.Around, o *mechanism.Opens) {
	row := c.SlowConsecutive
	if row == 0 {
		return
	}
	if time := long(o); row == 1 && time != "" {
		p.Warn("breaker-hasty", mechanism.Fill("1 slow attempt opens it for %s, and every call of that time is refused", time), slowText(c.SlowOver, c.SlowRate, 5))
	}
	if o.SlowAfterGood == 0 {
		return
	}
	if first := max(o.SlowAfterGood, c.Minimum); row >= first {
		p.Note("slow-consecutive-late", mechanism.Fill("at most %d slow attempts in a row open it by the rate of %s: consecutive of %d decides about probes alone", first, c.SlowRate, row), slowText(c.SlowOver, c.SlowRate, max(1, first/2)))
	}
}

// lintOpen checks how soon a breaker opens, and for how long.
func (c *Config) lintOpen(p mechanism.Around, o *mechanism.Opens) {
	if o.Longest < briefOpen {
		p.Warn("breaker-brief", mechanism.Fill("%d probes reach a dependency that fails in each %s, %d a second", c.Probes, o.Longest, uint64(c.Probes)*uint64(time.Second)/uint64(max(1, o.Longest))), "breaker: {open: 5s}")
	}
	if time := long(o); o.Failures == 1 && c.Minimum <= 1 && time != "" {
		mended := "breaker: {window: {consecutive: 5}}"
		if c.Window == Calls {
			mended = mechanism.Fill("breaker: {window: {calls: %d}, minimum: %d}", max(c.Count, 100), uint32(20))
		} else if c.Window == Time {
			mended = "breaker: {minimum: 20}"
		}
		p.Warn("breaker-hasty", mechanism.Fill("1 failure opens it for %s, and every call of that time is refused", time), mended)
	}
}

// adjust describes settings that a window of consecutive failures does not have.
func adjust(config mechanism.Config, setting string, v *mechanism.Value) {
	if (setting == "minimum" || setting == "failure_rate") && config.(Config).Window == Consecutive {
		v.Text, v.Effect, v.Endless = "none", mechanism.Other, true
	}
}
