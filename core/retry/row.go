package retry

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Retry.
func (Config) Kind() mechanism.Kind { return mechanism.Retry }

// Traits are those of the mechanism.
const Traits = mechanism.Repeats | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:     mechanism.Retry,
		Traits:   Traits,
		Short:    "attempts",
		Form:     "a number of attempts as in 3, or a map of settings",
		Settings: settings(),
		New:      func() mechanism.Draft { return &draft{Default()} },
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

// Check implements mechanism.Draft.
func (d *draft) Check(mechanism.Given) {}
