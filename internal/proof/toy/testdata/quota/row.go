package quota

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Kind returns mechanism.Quota.
func (Config) Kind() mechanism.Kind { return mechanism.Quota }

// Traits are the traits of the mechanism.
const Traits = mechanism.Asks | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:     mechanism.Quota,
		Traits:   Traits,
		Short:    "calls",
		Form:     "a number of calls as in 5, or a map of settings",
		Settings: []mechanism.Setting{{Name: "calls", Type: mechanism.Count, Least: 1, Most: 1000, Required: true, Says: "how many calls"}},
		New:      func() mechanism.Draft { return &draft{} },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{Reasons: []reducer.Reason{reducer.ReasonCapacity}}
}

type draft struct{ c Config }

func (d *draft) Field(string) any         { return &d.c.Calls }
func (d *draft) Check(mechanism.Given)    {}
func (d *draft) Config() mechanism.Config { return d.c }

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Admits a number of calls.",
		Examples: []string{`5`},
		Settings: []mechanism.Doc{{
			Name: "calls", Example: "calls: 5",
			Meaning: "how many calls pass in all",
			Larger:  "more calls pass",
			Smaller: "fewer calls pass",
			Effect:  mechanism.Looser,
		}},
		Draft:  func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Admits: func(c mechanism.Config, _ time.Duration) uint64 { return uint64(c.(Config).Calls) },
		AtOnce: func(c mechanism.Config) uint64 { return uint64(c.(Config).Calls) },
		Lint: func(c mechanism.Config, p mechanism.Around) {
			if p.Enforced() && !p.Keyed() && c.(Config).Calls == 1 {
				p.Warn("limit-never-binds", p.Name()+" admits one call in all", "quota: 2")
			}
		},
		Describe: func(c mechanism.Config, _ mechanism.Step) string {
			return mechanism.Plural(c.(Config).Calls, "call") + " in all"
		},
	}
}
