package chaos

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
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

// validate returns what is wrong with the configuration.
func (c *Config) validate() error {
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
	c.check(&e)
	e.Duration(c.By == 0 && c.Slow.Positive(), "slow.by", 0, "more than 0")
	return e.Err()
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	const rate = "a share as in 10%, 0% for none"
	return []mechanism.Doc{
		{
			Name: "fail", Is: mechanism.Setting{Type: mechanism.Chance}, Field: "Fail", ByHand: true, With: "fail",
			Range: "0% to 100%; at most 100% with `throttle` and `ignore` together", Example: "fail: 5%",
			Meaning: "the attempts that end as `fail` without the dependency",
			Larger:  "more attempts fail",
			Smaller: "fewer attempts fail; none at 0%",
		},
		{
			Name: "throttle", Is: mechanism.Setting{Type: mechanism.Map, Says: "a map of rate and retry_after"}, With: "throttle",
			Type: "map of `rate` (share, required) and `retry_after` (duration)", Range: "`rate` 0% to 100%", Example: "throttle: {rate: 1%, retry_after: 2s}",
			Meaning: "the attempts that end as `throttle` without the dependency, and the `retry_after` that they have",
			Larger:  "more attempts are throttled",
			Smaller: "fewer attempts are throttled; none at 0%",
		},
		{
			Name: "throttle.rate", Is: mechanism.Setting{Type: mechanism.Chance, Required: true, Says: rate}, Field: "Throttle", ByHand: true,
			Example: "rate: 1%",
			Meaning: "the attempts that end as `throttle`",
		},
		{
			Name: "throttle.retry_after", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "RetryAfter",
			Example: "retry_after: 2s",
			Meaning: "what the result says about the next attempt",
		},
		{
			Name: "ignore", Is: mechanism.Setting{Type: mechanism.Chance}, Field: "Ignore", ByHand: true, With: "ignore",
			Range: "0% to 100%", Example: "ignore: 1%",
			Meaning: "the attempts that end as `ignore` without the dependency",
			Larger:  "more attempts are ignored",
			Smaller: "fewer attempts are ignored; none at 0%",
		},
		{
			Name: "slow", Is: mechanism.Setting{Type: mechanism.Map, Says: "a map of rate, by and to"},
			Type: "map of `rate` (share) and `by` (duration), both required, and `to` (duration)", Range: "`rate` 0% to 100%; `to` at least `by`, default `by`", Example: "slow: {rate: 10%, by: 100ms, to: 500ms}",
			Meaning: "the attempts that begin later, by `by` or by a time from `by` to `to`",
			Larger:  "more attempts are slow",
			Smaller: "fewer attempts are slow; none at 0%",
		},
		{
			Name: "slow.rate", Is: mechanism.Setting{Type: mechanism.Chance, Required: true, Says: rate}, Field: "Slow",
			Example: "rate: 10%",
			Meaning: "the attempts that begin later",
		},
		{
			Name: "slow.by", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1, Required: true}, Field: "By",
			Example: "by: 100ms",
			Meaning: "by how much, at least where there is a `to`",
		},
		{
			Name: "slow.to", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "To",
			Default: "`by`", Example: "to: 500ms",
			Meaning: "by how much at most; all times from `by` on are equally likely",
		},
	}
}

// relations between the settings.
func relations() []mechanism.Relation {
	return []mechanism.Relation{
		{Setting: "slow.to", Op: mechanism.AtLeast, Than: "slow.by", Says: "a duration of at least by"},
	}
}
