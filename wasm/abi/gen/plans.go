package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/planbytes"
)

// plansPath is the page about plan bytes.
const plansPath = "wasm/PLAN.md"

// coded are the bytes of a value by its type.
var coded = map[mechanism.Type]string{
	mechanism.Duration:  "duration",
	mechanism.Count:     "number",
	mechanism.Share:     "share",
	mechanism.Chance:    "share",
	mechanism.Bool:      "byte, 0 or 1",
	mechanism.Rate:      "number, duration",
	mechanism.Delay:     "duration, share: one of them is 0",
	mechanism.Bound:     "duration, share of the time that an attempt has: one of them is 0",
	mechanism.Backoff:   "backoff",
	mechanism.OpenTime:  "backoff, jitter",
	mechanism.BlockTime: "backoff",
	mechanism.Jitter:    "jitter",
	mechanism.Budget:    "budget",
	mechanism.Words:     "byte: a bit for each word in its order, 0 for all of them",
	mechanism.Cost:      "text: an attribute, empty for none; number: the permits without it, 0 without an attribute for what the call names, at a bulkhead and an adaptive limit for one place",
}

// planTables returns a table for each mechanism with the values of its settings.
func planTables() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The version is %d.\n", planbytes.Version)
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		row := mechanisms.Row(k)
		if row == nil {
			continue
		}
		fmt.Fprintf(&b, "\n### %d: %s\n\n| setting | bytes |\n|---|---|\n", k, k)
		writeValues(&b, row.Settings, "")
	}
	return b.String()
}

func writeValues(b *strings.Builder, settings []mechanism.Setting, prefix string) {
	words := "" // the setting whose byte has the bits of maps
	for i := range settings {
		s := &settings[i]
		name := prefix + s.Name
		if s.Type == mechanism.Words {
			words = name
			if slices.ContainsFunc(settings, func(s mechanism.Setting) bool { return s.Bit != 0 }) {
				fmt.Fprintf(b, "| `%s` | %s; with the bit %d a second byte, which has a bit for each of the maps behind it that are there |\n", name, coded[s.Type], mechanism.MoreBit)
				continue
			}
		}
		switch s.Type {
		case mechanism.Methods, mechanism.Attribute, mechanism.Rates:
		case mechanism.Map:
			var parts strings.Builder
			writeValues(&parts, s.Parts, name+".")
			text := parts.String()
			if s.Bit != 0 {
				text = strings.ReplaceAll(text, " |\n", fmt.Sprintf("; only where the second byte of `%s` has the bit %d |\n", words, s.Bit))
			}
			b.WriteString(text)
		case mechanism.Zone:
			fmt.Fprintf(b, "| `%s` | byte: %s; number: the offset of the zone in seconds and %d, number: that of its summer time; for the change to the summer time and the one from it each, number: month x 64 + week x 8 + day, 0 for none, number: its time in seconds and %d; duration: the wall time of mark 0 since 1970; only where the second byte of `%s` has the bit %d |\n",
				name, numbered(append([]string{"none"}, strings.Fields(calendar.Units)...)), calendar.Bias, calendar.Bias, words, s.Bit)
		case mechanism.OneOf:
			fmt.Fprintf(b, "| `%s` | byte: %s; then what belongs to it |\n", name, numbered(variants(s.Parts)))
			writeVariants(b, s.Parts, name+".")
		case mechanism.Word:
			fmt.Fprintf(b, "| `%s` | byte: %s |\n", name, numbered(strings.Fields(s.Words)))
		default:
			fmt.Fprintf(b, "| `%s` | %s |\n", name, coded[s.Type])
		}
	}
}

// writeVariants writes the parts of a OneOf, each with its variant.
func writeVariants(b *strings.Builder, parts []mechanism.Setting, prefix string) {
	variant := ""
	for i := range parts {
		p := &parts[i]
		if p.Variant {
			variant = p.Name
		}
		fmt.Fprintf(b, "| `%s%s` | %s, for %s alone |\n", prefix, p.Name, coded[p.Type], variant)
	}
}

func variants(parts []mechanism.Setting) (names []string) {
	for i := range parts {
		if parts[i].Variant {
			names = append(names, parts[i].Name)
		}
	}
	return names
}

// numbered returns words with their numbers.
func numbered(words []string) string {
	for i := range words {
		words[i] = fmt.Sprint(i, " ", words[i])
	}
	return strings.Join(words, ", ")
}
