package adaptive

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:     "Admits no more at once than a limit that rises while answers come in time and falls when many come late or not at all.",
		Examples:  []string{`{}`, `{"maximum":50,"over":"500ms"}`},
		Settings:  declared(),
		Relations: relations(),
		Schema: `{
	"properties": {"tolerance": {"pattern": "^0*(50(\\.0*)?|[0-4]?[0-9](\\.[0-9]*)?)%$"}}
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     4,
		Adjust: func(_ mechanism.Config, setting string, v *mechanism.Value) {
			if setting == "cost" {
				v.OnePlace()
			}
		},
		Lint: lint,
		Concurrent: func(c mechanism.Config) (uint64, bool) {
			a := c.(Config)
			return uint64(a.Maximum), a.Lease == 0
		},
	}
}

// describe says how many calls may run, and what changes the limit.
func describe(config mechanism.Config, _ mechanism.Step) string {
	c := config.(Config)
	over := c.OverShare.String() + " of the time that an attempt has"
	if !c.OverShare.Positive() {
		over = mechanism.Span(c.Over)
	}
	lease := ""
	if c.Lease > 0 {
		lease = ", places free again after " + mechanism.Span(c.Lease)
	}
	return mechanism.Number(c.Initial) + " at once, from " + mechanism.Number(c.Minimum) + " to " + mechanism.Number(c.Maximum) +
		": " + c.Cost.Text() + mechanism.Number(c.Increase) + " more by a good round, " + c.Decrease.String() +
		" less by one with more than " + c.Tolerance.String() + " timeouts and answers over " + over + lease
}
