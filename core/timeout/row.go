package timeout

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Timeout.
func (Config) Kind() mechanism.Kind { return mechanism.Timeout }

// Traits are those of the mechanism.
const Traits = mechanism.Cuts

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:      mechanism.Timeout,
		Traits:    Traits,
		Short:     "after",
		Form:      "a duration as in 10s, or a map of after and soft",
		Settings:  settings(),
		New:       func() mechanism.Draft { return &draft{} },
		Stateless: func(mechanism.Config) string { return "on a timeout, which keeps no state" },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Envoy: "timeout of an Envoy route bounds requests, per_try_timeout of its retry_policy each attempt",
	}
}

func (d *draft) Check(g mechanism.Given) {
	d.compare(g)
}
