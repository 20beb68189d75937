package timeout

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Bounds everything below it. Outside a retry that is the whole call, waits included; inside, each attempt.",
		Examples: []string{`"10s"`, `{"after":"10s","soft":"5s"}`},
		Settings: []mechanism.Doc{
			{
				Name: "after", Effect: mechanism.Looser, Example: "after: 10s",
				Meaning: "bounds everything below the step, waits and retries included",
				Larger:  "slow calls succeed, and hold their places longer",
				Smaller: "callers learn of a failure sooner; slow calls that would succeed are cut",
			},
			{
				Name: "soft", Range: "less than `after`", Example: "soft: 5s",
				Meaning: "reports a warning and cuts nothing",
				Larger:  "warnings come later",
				Smaller: "warnings come earlier and more often",
			},
		},
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Cut:      func(c mechanism.Config) time.Duration { return c.(Config).After },
	}
}
