package retry

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Retry.
func (Config) Kind() mechanism.Kind { return mechanism.Retry }

// Traits are those of the mechanism.
const Traits = mechanism.Repeats | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:   mechanism.Retry,
		Traits: Traits,
		Short:  "attempts",
		Form:   "a number of attempts as in 3, or a map of settings",
		Settings: []mechanism.Setting{
			{Name: "attempts", Type: mechanism.Count, Least: 1, Most: MaxAttempts},
			{Name: "backoff", Type: mechanism.Backoff},
			{Name: "jitter", Type: mechanism.Jitter},
			{Name: "max_elapsed", Type: mechanism.Duration, Least: 1},
			{Name: "refusals", Type: mechanism.Word, Words: "end wait"},
			{Name: "budget", Type: mechanism.Budget},
			{Name: "methods", Type: mechanism.Methods},
		},
		New: func() mechanism.Draft { return &draft{Default()} },
		Stateless: func(c mechanism.Config) string {
			if c.(Config).Budgeted {
				return ""
			}
			return "on a retry without a budget, which keeps no state"
		},
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Envoy: "retry_policy of an Envoy route repeats requests",
	}
}

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "attempts":
		return &d.c.Attempts
	case "max_elapsed":
		return &d.c.MaxElapsed
	case "refusals":
		return (*uint8)(&d.c.Refusals)
	case "budget":
		return &d.c.Budget
	}
	return &d.c.Backoff
}

func (d *draft) Check(g mechanism.Given) {
	d.c.Budgeted = g.Has("budget") && !g.None("budget")
}

func (d *draft) Config() mechanism.Config { return d.c }
