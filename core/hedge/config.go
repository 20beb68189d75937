package hedge

import (
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Limits and defaults of a configuration.
const (
	MaxHedges      = 10
	MaxSamples     = 10_000
	DefaultSamples = 100
	DefaultMinimum = 20
)

// Config is the configuration of a hedge. Exactly one of After, Percentile and
// Parallel is set.
type Config struct {
	// After is the delay between the admission of an attempt and the next
	// attempt of the round, more than 0. A longer delay starts fewer hedges.
	After time.Duration
	// Percentile takes the delay from the durations of past first attempts of rounds,
	// those that lost to their hedge included: the nearest rank of this share, more than 0 and at most the whole. A
	// greater share starts fewer hedges.
	Percentile reducer.Share
	// Parallel starts all attempts of a round at once.
	Parallel bool
	// Max is how many hedges a round starts at most, 1 to MaxHedges. 0 means
	// DefaultMax.
	Max uint32
	// Samples is how many durations Percentile looks at: the last ones, 1 to
	// MaxSamples. 0 means DefaultSamples. With more of them the delay follows a
	// change of the dependency later; with fewer it varies more by chance. 0 without
	// Percentile.
	Samples uint32
	// Minimum is how many durations there must be before a hedge starts, 1 to
	// Samples. 0 means DefaultMinimum, or Samples where that is less. 0 without
	// Percentile.
	Minimum uint32
	// Budgeted says that Budget holds.
	Budgeted bool
	// Budget bounds the hedges of all calls of the step together.
	Budget budget.Config
	// Unbudgeted says that no budget bounds the hedges. Without it and without
	// Budgeted the budget of the policy's retry does, if there is one.
	Unbudgeted bool
}

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values. After has no default.
func (c Config) WithDefaults() Config {
	c = c.filled()
	if c.Percentile.Positive() {
		if c.Samples == 0 {
			c.Samples = DefaultSamples
		}
		if c.Minimum == 0 {
			c.Minimum = min(DefaultMinimum, c.Samples)
		}
	}
	if c.Budgeted {
		c.Budget = c.Budget.WithDefaults()
	}
	return c
}

// validate returns every error of the configuration.
func (c *Config) validate() error {
	var e reducer.ConfigErrors
	percentile := c.Percentile.Positive()
	switch {
	case c.After < 0:
		e.Duration(true, "after", c.After, "more than 0, a percentile, or parallel")
	case c.Percentile.Millionths() > reducer.Whole:
		e.Share(true, "after", c.Percentile, "a percentile of at most 100%")
	case c.After > 0 && percentile:
		e.Duration(true, "after", c.After, "a duration or a percentile, not both")
	case c.Parallel && (c.After > 0 || percentile):
		e.Duration(true, "after", c.After, "nothing beside parallel")
	default:
		e.Duration(!c.Parallel && c.After == 0 && !percentile, "after", c.After, "more than 0, a percentile, or parallel")
	}
	e.Share(c.Budgeted && c.Unbudgeted, "budget", c.Budget.Ratio, "nothing beside Unbudgeted")
	c.check(&e)
	e.Count(!percentile && c.Samples != 0, "samples", uint64(c.Samples), "nothing without a percentile in after")
	e.Count(!percentile && c.Minimum != 0, "minimum", uint64(c.Minimum), "nothing without a percentile in after")
	if c.Budgeted && !c.Unbudgeted {
		_, err := budget.New(c.Budget)
		e.Add(err)
	}
	return e.Err()
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	return []mechanism.Doc{
		{
			Name: "after", Is: mechanism.Setting{Type: mechanism.Delay}, Field: "After,Percentile",
			Effect: mechanism.Tighter, Default: "required unless `parallel`", Example: "after: p95",
			Meaning: "the delay from the `admit` of the latest attempt to the start of the next",
			Larger:  "fewer additional attempts, less gain",
			Smaller: "lower latency, more load",
		},
		{
			Name: "max", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxHedges}, Field: "Max", With: "max",
			Effect: mechanism.Looser, Value: `1`, Example: "max: 2",
			Meaning: "the most additional attempts of a round",
			Larger:  "lower latency of the slowest calls, more load",
			Smaller: "less load",
		},
		{
			Name: "parallel", Is: mechanism.Setting{Type: mechanism.Bool}, Field: "Parallel",
			Effect: mechanism.Looser, Note: "not beside `after`", Value: `false`, Example: "parallel: true",
			Meaning: "starts all attempts of a round at once",
		},
		{
			Name: "samples", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxSamples}, Field: "Samples", Depends: true,
			Note: "beside a percentile alone", Value: `100`, Example: "samples: 1000",
			Meaning: "the first attempts of the last rounds from whose durations the percentile is taken",
			Larger:  "a steadier delay that follows a change later",
			Smaller: "a delay that follows a change sooner and varies by chance",
		},
		{
			Name: "minimum", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxSamples}, Field: "Minimum",
			Note: "beside a percentile alone", Range: "1 to `samples`", Default: "the lesser of 20 and `samples`", Example: "minimum: 50",
			Meaning: "durations that must be known before a hedge starts",
			Larger:  "hedges begin later after a start",
			Smaller: "hedges begin on few durations",
		},
		{
			Name: "budget", Is: mechanism.Setting{Type: mechanism.Budget}, Field: "Budget,Budgeted,Unbudgeted",
			Effect: mechanism.Looser, Type: "as of a retry", Range: "see [budget](#budget)", Default: "the retry's budget, if there is one, else `none`", Example: "budget: 10%",
			Meaning: "how many additional attempts all calls of the step may have together",
		},
		{
			Name: "methods", Is: mechanism.Setting{Type: mechanism.Methods},
			Effect: mechanism.Looser, Type: "as of a retry", Range: "as of a retry", Value: `["GET","HEAD","PUT","DELETE","OPTIONS","TRACE"]`, Default: "as of a retry", Example: "methods: [GET]",
			Meaning: "the methods for which HTTP runtimes start additional attempts",
		},
	}
}

// relations between the settings.
func relations() []mechanism.Relation {
	return []mechanism.Relation{
		{Setting: "minimum", Op: mechanism.AtMost, Than: "samples", Says: "at most the samples, #"},
	}
}
