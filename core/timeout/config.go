package timeout

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Config is the configuration of a timeout.
type Config struct {
	// After is the time after which the steps below are cut. More than 0.
	After time.Duration
	// Soft warns without cutting; less than After. 0 for no warning.
	Soft time.Duration
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	return []mechanism.Doc{
		{
			Name: "after", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1, Required: true}, Field: "After",
			Effect: mechanism.Looser, Example: "after: 10s",
			Meaning: "bounds everything below the step, waits and retries included",
			Larger:  "slow calls succeed, and hold their places longer",
			Smaller: "callers learn of a failure sooner; slow calls that would succeed are cut",
		},
		{
			Name: "soft", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "Soft",
			Range: "less than `after`", Example: "soft: 5s",
			Meaning: "reports a warning and cuts nothing",
			Larger:  "warnings come later",
			Smaller: "warnings come earlier and more often",
		},
	}
}

// relations between the settings.
func relations() []mechanism.Relation {
	return []mechanism.Relation{
		{Setting: "soft", Op: mechanism.Below, Than: "after", Says: "a duration less than after"},
	}
}
