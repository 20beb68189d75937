package chaos

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Config is the configuration of a chaos step. Fail, Throttle and Ignore are together
// at most the whole, because an attempt gets at most one of these results. The zero
// value injects nothing.
type Config struct {
	// Fail is the share of attempts that end with outcome fail. 0 for none.
	Fail reducer.Share
	// Throttle is the share of attempts that end with outcome throttle, as by a limit
	// of the dependency. 0 for none.
	Throttle reducer.Share
	// RetryAfter is the delay that a throttle asks for before the next attempt. 0 for
	// none.
	RetryAfter time.Duration
	// Ignore is the share of attempts that end with outcome ignore, as by a mistake of
	// the caller. 0 for none.
	Ignore reducer.Share
	// Slow is the share of attempts with latency. It does not depend on the result: a
	// slow attempt that gets a result gets it after the latency. 0 for none.
	Slow reducer.Share
	// By is the latency, or the least one with To. More than 0 beside Slow.
	By time.Duration
	// To is the greatest latency, at least By. 0 means By: the latency is constant.
	To time.Duration
}

// Injects reports whether a share is above 0%.
func (c Config) Injects() bool {
	return c.Fail.Positive() || c.Throttle.Positive() || c.Ignore.Positive() || c.Slow.Positive()
}

// check returns what is wrong with the configuration.
func (c *Config) check() error {
	const together = "at most 100% with fail, throttle and ignore together"
	var e reducer.ConfigErrors
	results, fits := uint64(0), true
	for _, s := range [...]struct {
		field string
		share reducer.Share
	}{{"fail", c.Fail}, {"throttle.rate", c.Throttle}, {"ignore", c.Ignore}} {
		results += uint64(s.share.Millionths())
		e.Share(fits && results > reducer.Whole, s.field, s.share, together)
		fits = results <= reducer.Whole
	}
	by := c.By > 0 || c.By == 0 && !c.Slow.Positive()
	e.Duration(c.RetryAfter < 0, "throttle.retry_after", c.RetryAfter, "0 or more")
	e.Share(c.Slow.Millionths() > reducer.Whole, "slow.rate", c.Slow, "at most 100%")
	e.Duration(!by, "slow.by", c.By, "more than 0")
	e.Duration(by && c.To != 0 && c.To < c.By, "slow.to", c.To, "at least by")
	return e.Err()
}
