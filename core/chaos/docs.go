package chaos

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:     "Injects failures and latency into a share of the attempts, for tests and game days. At most one a policy, the last step.",
		Examples:  []string{`{"fail":"5%","slow":{"rate":"10%","by":"200ms"}}`, `{"throttle":{"rate":"1%","retry_after":"2s"},"shadow":true}`},
		Settings:  declared(),
		Relations: relations(),
		Schema: `{
	"anyOf": [
		{"required": ["fail"]}, {"required": ["throttle"]}, {"required": ["ignore"]}, {"required": ["slow"]}
	]
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Lint: func(c mechanism.Config, p mechanism.Around) {
			if c.(Config).Injects() && p.Enforced() {
				p.Warn("chaos", p.Name()+" "+p.Settings()+": real requests fail or are slow", "chaos: {shadow: true}")
			}
		},
	}
}
