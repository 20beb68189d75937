package timeout

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:     "Bounds everything below it. Outside a retry that is the whole call, waits included; inside, each attempt.",
		Examples:  []string{`"10s"`, `{"after":"10s","soft":"5s"}`},
		Settings:  declared(),
		Relations: relations(),
		Draft:     func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe:  describe,
		Cut:       func(c mechanism.Config) time.Duration { return c.(Config).After },
	}
}
