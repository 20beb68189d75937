package limiter

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:     "Admits no more than a rate.",
		Examples:  []string{`"50/1m"`, `{"rate":"50/1m","burst":10,"wait":"3s","per":"header:x-tenant"}`},
		Settings:  declared(),
		Relations: relations(),
		Schema: `{
	"dependentRequired": {"class": ["rates"], "rates": ["class"], "queue": ["wait"], "order": ["wait"]},
	"allOf": [
		{
			"if": {"required": ["wait"], "properties": {"wait": {"type": "string", "pattern": "^[^1-9]*$"}}},
			"then": {"properties": {"queue": false, "order": false}}
		},
		{
			"if": {"required": ["algorithm"], "properties": {"algorithm": {"not": {"const": "token-bucket"}}}},
			"then": {"properties": {"burst": false, "warm_up": false}}
		},
		{
			"if": {"required": ["wait"], "properties": {"wait": {"type": "string", "pattern": "[1-9]"}}},
			"then": {"properties": {"block": false, "spread": false}}
		},
		{
			"if": {"required": ["algorithm"], "properties": {"algorithm": {"const": "sliding-log"}}},
			"then": {"properties": {"rate": {"pattern": "^([1-9][0-9]{0,3}|10000)/"}}}
		},
		{
			"if": {"required": ["charge"], "properties": {"charge": {"enum": ["settle", "end"]}}},
			"else": {"properties": {"settle_max": false}}
		},
		{
			"if": {"required": ["rate"], "properties": {"rate": {"pattern": "/(day|week|month)$"}}},
			"then": {"properties": {"algorithm": {"const": "fixed-window"}, "burst": false, "warm_up": false}},
			"else": {"properties": {"zone": false}}
		},
		{
			"if": {
				"anyOf": [
					{"required": ["algorithm"], "properties": {"algorithm": {"const": "fixed-window"}}},
					{"required": ["rate"], "properties": {"rate": {"pattern": "/(day|week|month)$"}}}
				]
			},
			"else": {"properties": {"spread": false}}
		}
	]
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     3,
		Admits:   func(c mechanism.Config, window time.Duration) uint64 { return c.(Config).Calls(window) },
		AtOnce:   func(c mechanism.Config) uint64 { return c.(Config).Admits(0) },
		Late:     func(c mechanism.Config) bool { return c.(Config).Charge == ChargeEnd },
		Covers:   covers,
		Waits:    waits,
		Adjust:   adjust,
		Lint:     lint,
	}
}
