package breaker

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:     "Stops calling what fails. {} takes every default.",
		Examples:  []string{`{"window":{"calls":100},"minimum":20,"failure_rate":"50%","open":"30s","probes":10}`},
		Settings:  declared(),
		Relations: relations(),
		Schema: `{
	"if": {"required": ["window"], "properties": {"window": {"type": "object", "required": ["consecutive"]}}},
	"then": {"properties": {"minimum": false, "failure_rate": false, "slow": {"properties": {"rate": false}}}}
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     2,
		Opens:    opens,
		Variant:  func(c mechanism.Config) string { return [...]string{"calls", "time", "consecutive"}[c.(Config).Window] },
		Adjust:   adjust,
		Lint:     lint,
	}
}
