package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// place is a field of a configuration that has a value, or a part of one.
type place struct {
	path string
	is   reflect.Type
}

// pointer returns the pointer to a field, as one to a basic type.
func (p place) pointer(of, basic string) string {
	if p.is.String() == basic {
		return "&" + of + p.path
	}
	return "(*" + basic + ")(&" + of + p.path + ")"
}

// form is what the code has of a type of settings. The functions that are nil make nothing.
type form struct {
	// name of the constant in package mechanism.
	name string
	// fields of a configuration that a setting of the type names.
	fields int
	// field returns what the draft returns for the setting.
	field func(p []place) string
	// plan returns the statements that code the value, whose name is a Go string.
	plan func(p []place, name string) string
	// zero returns the condition that the value is the zero value.
	zero func(p []place) string
	// literal returns the Go expression of a value as a document has it.
	literal func(text string) (string, error)
	// report is the method of reducer.ConfigErrors for an error about the value, and found the
	// value for it.
	report string
	found  func(p []place) string
	// compared returns the value as a number of a type that all settings of the form have.
	compared func(p []place) string
}

func at(format string) func([]place) string {
	return func(p []place) string {
		var paths []any
		for i := range strings.Count(format, "%s") {
			paths = append(paths, "c."+p[min(i, len(p)-1)].path)
		}
		return fmt.Sprintf(format, paths...)
	}
}

func calls(format string) func([]place, string) string {
	return func(p []place, name string) string {
		var b strings.Builder
		for i, line := range strings.Split(format, "\n") {
			fmt.Fprintf(&b, line+"\n", name, "&c."+p[min(i, len(p)-1)].path)
		}
		return b.String()
	}
}

func pointerTo(basic string) func([]place) string {
	return func(p []place) string { return p[0].pointer("d.c.", basic) }
}

func integer(text string) (string, error) {
	_, err := strconv.ParseUint(text, 10, 32)
	return text, err
}

// share returns a share of a text as in "12.5%", in millionths.
func share(text string) (string, error) {
	whole, parts, _ := strings.Cut(strings.TrimSuffix(strings.Trim(text, `"`), "%"), ".")
	n, err := strconv.ParseUint(whole+parts+strings.Repeat("0", max(0, 4-len(parts))), 10, 32)
	return fmt.Sprintf("reducer.Millionths(%d)", n), err
}

func span(text string) (string, error) {
	d, err := time.ParseDuration(strings.Trim(text, `"`))
	return strconv.FormatInt(int64(d), 10), err
}

// forms of the types.
var forms = map[mechanism.Type]form{
	mechanism.Duration: {
		name: "Duration", fields: 1, field: pointerTo("time.Duration"), plan: calls("v.Duration(%s, %s)"), zero: at("%s == 0"), literal: span,
		report: "Duration", found: at("%s"), compared: at("uint64(%s)"),
	},
	mechanism.Count: {
		name: "Count", fields: 1, field: pointerTo("uint32"), plan: calls("v.Count(%s, %s)"), zero: at("%s == 0"), literal: integer,
		report: "Count", found: at("uint64(%s)"), compared: at("%s"),
	},
	mechanism.Share: {
		name: "Share", fields: 1, field: pointerTo("reducer.Share"), plan: calls("v.Share(%s, %s)"), zero: at("!%s.Positive()"), literal: share,
		report: "Share", found: at("%s"), compared: at("%s.Millionths()"),
	},
	mechanism.Chance: {
		name: "Chance", fields: 1, field: pointerTo("reducer.Share"), plan: calls("v.Share(%s, %s)"), zero: at("!%s.Positive()"), literal: share,
		report: "Share", found: at("%s"), compared: at("%s.Millionths()"),
	},
	mechanism.Bool: {name: "Bool", fields: 1, field: pointerTo("bool"), plan: calls("v.Flag(%s, %s)"), zero: at("!%s")},
	mechanism.Word: {
		name: "Word", fields: 1, field: pointerTo("uint8"),
		plan: func(p []place, name string) string {
			return fmt.Sprintf("v.Word(%s, %s)\n", name, p[0].pointer("c.", "uint8"))
		},
		zero: at("%s == 0"), report: "Count", found: at("uint64(%s)"),
	},
	mechanism.Words: {
		name: "Words", fields: 1,
		field: func(p []place) string { return "mechanism.WordsField{Set: " + p[0].pointer("d.c.", "uint8") + "}" },
		plan: func(p []place, name string) string {
			return fmt.Sprintf("v.Word(%s, %s)\n", name, p[0].pointer("c.", "uint8"))
		},
		zero: at("%s == 0"), report: "Count", found: at("uint64(%s)"),
	},
	mechanism.Rate: {
		name: "Rate", fields: 3, plan: calls("v.Count(%s, %s)\nv.Duration(%s, %s)"),
		field: func(p []place) string {
			return fmt.Sprintf("mechanism.RateField{Count: &d.c.%s, Period: &d.c.%s, Unit: &d.c.%s}", p[0].path, p[1].path, p[2].path)
		},
	},
	mechanism.Delay: {
		name: "Delay", fields: 2, plan: calls("v.Duration(%s, %s)\nv.Share(%s, %s)"), zero: at("%s == 0 && !%s.Positive()"),
		field: func(p []place) string {
			return fmt.Sprintf("mechanism.DelayField{Duration: &d.c.%s, Percentile: &d.c.%s}", p[0].path, p[1].path)
		},
	},
	mechanism.Bound: {
		name: "Bound", fields: 2, plan: calls("v.Duration(%s, %s)\nv.Share(%s, %s)"), zero: at("%s == 0 && !%s.Positive()"),
		field: func(p []place) string {
			return fmt.Sprintf("mechanism.BoundField{Duration: &d.c.%s, Share: &d.c.%s}", p[0].path, p[1].path)
		},
		literal: share, report: "Duration", found: at("%s"),
	},
	mechanism.Backoff:   {name: "Backoff", fields: 1, field: pointerTo("backoff.Config"), plan: backoffPlan("backoff.Plan(&c.%[1]s, v, %[2]s)")},
	mechanism.OpenTime:  {name: "OpenTime", fields: 1, field: pointerTo("backoff.Config"), plan: backoffPlan("backoff.Plan(&c.%[1]s, v, %[2]s)\nbackoff.PlanJitter(&c.%[1]s, v, %[2]s)")},
	mechanism.BlockTime: {name: "BlockTime", fields: 1, field: pointerTo("backoff.Config"), plan: backoffPlan("backoff.Plan(&c.%[1]s, v, %[2]s)"), zero: at("%s.Kind == backoff.None")},
	mechanism.Jitter:    {name: "Jitter", fields: 1, field: pointerTo("backoff.Config"), plan: backoffPlan("backoff.PlanJitter(&c.%[1]s, v, %[2]s)")},
	mechanism.Budget: {
		name: "Budget", fields: 3,
		field: func(p []place) string {
			text := fmt.Sprintf("budget.Field{Config: &d.c.%s, Given: &d.c.%s", p[0].path, p[1].path)
			if len(p) > 2 {
				text += ", None: &d.c." + p[2].path
			}
			return text + "}"
		},
		plan: func(p []place, _ string) string {
			if len(p) < 3 {
				return fmt.Sprintf("var none bool\nbudget.Plan(&c.%s, v, &c.%s, &none)\n", p[0].path, p[1].path)
			}
			return fmt.Sprintf("budget.Plan(&c.%s, v, &c.%s, &c.%s)\n", p[0].path, p[1].path, p[2].path)
		},
	},
	mechanism.Cost: {
		name: "Cost", fields: 1,
		field: func(p []place) string {
			return fmt.Sprintf("mechanism.CostField{Attribute: &d.c.%[1]s.Attribute, Permits: &d.c.%[1]s.Permits}", p[0].path)
		},
		plan: func(p []place, name string) string {
			return fmt.Sprintf("v.Text(%[2]s, &c.%[1]s.Attribute)\nv.Count(%[2]s, &c.%[1]s.Permits)\n", p[0].path, name)
		},
		literal: integer, report: "Count", found: at("uint64(%s.Permits)"), compared: at("%s.Permits"),
	},
	mechanism.Zone: {
		name: "Zone", fields: 1,
		field: func(p []place) string { return "mechanism.ZoneField{Zone: &d.c." + p[0].path + ".Zone}" },
		plan: func(p []place, name string) string {
			return fmt.Sprintf("calendar.Plan(&c.%s, v, \"rate\", %s)\n", p[0].path, name)
		},
	},
	mechanism.OneOf:     {name: "OneOf", fields: 1, field: pointerTo("uint8"), zero: at("%s == 0")},
	mechanism.Map:       {name: "Map"},
	mechanism.Methods:   {name: "Methods"},
	mechanism.Attribute: {name: "Attribute"},
	mechanism.Rates:     {name: "Rates"},
}

func backoffPlan(format string) func([]place, string) string {
	return func(p []place, name string) string { return fmt.Sprintf(format+"\n", p[0].path, name) }
}
