package lint

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// value is a setting of a step.
type value struct {
	name string
	mechanism.Value
}

// valuesOf returns the settings of a step in the order of its row.
func valuesOf(p *document.Policy, i int) []value {
	a := newAnalysis(p)
	row, docs := a.rows[i], a.docs[i]
	draft := docs.Draft(a.steps[i].Config)
	var values []value
	var visit func(settings []mechanism.Setting, prefix string)
	visit = func(settings []mechanism.Setting, prefix string) {
		for k := range settings {
			s := &settings[k]
			v := value{prefix + s.Name, mechanism.Value{Effect: docs.Setting(prefix + s.Name).Effect}}
			switch s.Type {
			case mechanism.Map:
				visit(s.Parts, v.name+".")
				continue
			case mechanism.OneOf:
				v.Text = oneOfText(s, draft, docs.Variant(a.steps[i].Config), v.name+".")
			case mechanism.Jitter:
				continue // a part of the backoff's text
			case mechanism.Methods:
				methods := p.Methods
				if row.Traits.Has(mechanism.Hedges) {
					methods = p.HedgeMethods
				}
				v.Field, v.Text = methods, strings.Join(methods, ", ")
			case mechanism.Attribute, mechanism.Rates:
				continue // a step for each class has them
			default:
				v.Field = draft.Field(v.name)
				v.read(s)
			}
			if docs.Adjust != nil {
				docs.Adjust(a.steps[i].Config, v.name, &v.Value)
			}
			values = append(values, v)
		}
	}
	visit(row.Settings, "")
	return values
}

// oneOfText writes the part that a setting has, and what belongs to it.
func oneOfText(s *mechanism.Setting, draft mechanism.Draft, variant, prefix string) string {
	var parts []string
	there := false
	for k := range s.Parts {
		part := &s.Parts[k]
		if part.Variant {
			there = part.Name == variant
		}
		if !there {
			continue
		}
		v := value{Value: mechanism.Value{Field: draft.Field(prefix + part.Name)}}
		if v.read(part); !v.Endless {
			parts = append(parts, part.Name+": "+v.Text)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// read makes the text of a field.
func (v *value) read(s *mechanism.Setting) {
	switch field := v.Field.(type) {
	case *time.Duration:
		v.Text = Duration(*field).String()
		v.none(*field == 0 && s.Least > 0)
	case *uint32:
		v.Text = mechanism.Number(*field)
	case *reducer.Share:
		v.Text = field.String()
		v.none(!field.Positive())
	case *bool:
		v.Text = strconv.FormatBool(*field)
	case *uint8:
		v.Text = strings.Fields(s.Words)[*field]
	case mechanism.RateField:
		v.Text = mechanism.CalendarText(*field.Count, *field.Period, *field.Unit)
	case mechanism.ZoneField:
		v.Text = field.Zone.String()
	case mechanism.WordsField:
		v.Text = strings.Join(limiter.Outcomes(*field.Set).Names(), ", ")
	case mechanism.CostField:
		v.Text = costText(field)
	case mechanism.DelayField:
		v.Text = Duration(*field.Duration).String()
		if field.Percentile.Positive() {
			v.Text = "p" + strings.TrimSuffix(field.Percentile.String(), "%")
		}
	case mechanism.BoundField:
		v.Text = boundText(field)
	case *backoff.Config:
		v.Text = field.Describe()
	case budget.Field:
		v.Text = field.Describe()
		v.none(field.Window == 0 && field.Tokens == 0)
	}
}

// boundText describes a bound of a time as a document does.
func boundText(b mechanism.BoundField) string {
	if b.Share.Positive() {
		return b.Share.String()
	}
	return Duration(*b.Duration).String()
}

// costText describes a cost as a document does.
func costText(c mechanism.CostField) string {
	switch {
	case *c.Attribute != "":
		return "{attribute: " + *c.Attribute + ", default: " + mechanism.Number(*c.Permits) + "}"
	case *c.Permits > 0:
		return mechanism.Number(*c.Permits)
	}
	return "that of the call"
}

// none makes a value that means no bound larger than all others.
func (v *value) none(there bool) {
	if there {
		v.Text, v.Endless = "none", true
	}
}

// effectOf returns the effect of replacing a value by another one.
func (v *value) effectOf(before *value) Effect {
	if v.Effect == Other || before.Effect == Other {
		return Other
	}
	order, ok := 0, true
	switch {
	case v.Endless != before.Endless && v.Endless:
		order = 1
	case v.Endless != before.Endless:
		order = -1
	default:
		order, ok = compareFields(v.Field, before.Field)
	}
	switch {
	case !ok || order == 0:
		return Other
	case order < 0:
		return v.Effect.Inverse()
	}
	return v.Effect
}

// compareFields compares two values of one setting, and returns false where
// neither is larger.
func compareFields(a, b any) (int, bool) {
	switch a := a.(type) {
	case *time.Duration:
		return cmp.Compare(*a, *b.(*time.Duration)), true
	case *uint32:
		return cmp.Compare(*a, *b.(*uint32)), true
	case *reducer.Share:
		return a.Compare(*b.(*reducer.Share)), true
	case *bool:
		if *a == *b.(*bool) {
			return 0, true
		} else if *a {
			return 1, true
		}
		return -1, true
	case mechanism.RateField:
		other := b.(mechanism.RateField)
		return compareRates(uint64(*a.Count), *a.Period, uint64(*other.Count), *other.Period), *a.Unit == *other.Unit
	case mechanism.ZoneField:
		return 0, *a.Zone == *b.(mechanism.ZoneField).Zone
	case mechanism.WordsField:
		return 0, *a.Set == *b.(mechanism.WordsField).Set
	case mechanism.CostField:
		other := b.(mechanism.CostField)
		if *a.Attribute != *other.Attribute || (*a.Permits == 0) != (*other.Permits == 0) && *a.Attribute == "" {
			return 0, false // the calls decide
		}
		return cmp.Compare(*a.Permits, *other.Permits), true
	case mechanism.DelayField:
		other := b.(mechanism.DelayField)
		if a.Percentile.Positive() != other.Percentile.Positive() {
			return 0, false
		}
		return cmp.Or(a.Percentile.Compare(*other.Percentile), cmp.Compare(*a.Duration, *other.Duration)), true
	case mechanism.BoundField:
		other := b.(mechanism.BoundField)
		if a.Share.Positive() != other.Share.Positive() {
			return 0, false // the timeouts decide
		}
		return cmp.Or(a.Share.Compare(*other.Share), cmp.Compare(*a.Duration, *other.Duration)), true
	case *backoff.Config:
		return compareBackoffs(*a, *b.(*backoff.Config))
	case budget.Field:
		return compareBudgets(*a.Config, *b.(budget.Field).Config)
	case []string:
		other := b.([]string)
		return both(contains(a, other), contains(other, a))
	}
	return 0, false
}

// compareRates compares two rates of counts for periods.
func compareRates(count uint64, period time.Duration, other uint64, otherPeriod time.Duration) int {
	high, low := bits.Mul64(count, uint64(otherPeriod))
	otherHigh, otherLow := bits.Mul64(other, uint64(period))
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}

// compareBackoffs compares backoffs that differ only in their times.
func compareBackoffs(a, b backoff.Config) (int, bool) {
	if a.Kind == backoff.None || b.Kind == backoff.None {
		return cmp.Compare(min(a.Kind, 1), min(b.Kind, 1)), true
	}
	longest := func(c backoff.Config) time.Duration {
		if c.Max == 0 {
			return forever
		}
		return c.Max
	}
	same := a
	same.Base, same.Max, same.Delays = b.Base, b.Max, b.Delays
	if same != b {
		return 0, false
	}
	if a.Kind == backoff.Listed {
		return compareLists(a.Delays, b.Delays)
	}
	return both(a.Base >= b.Base && longest(a) >= longest(b), a.Base <= b.Base && longest(a) <= longest(b))
}

// compareLists compares the delays after each attempt.
func compareLists(a, b backoff.List) (int, bool) {
	least, most := true, true
	for i := range max(a.Len(), b.Len()) {
		order := cmp.Compare(a.At(min(i, a.Len()-1)), b.At(min(i, b.Len()-1)))
		least, most = least && order >= 0, most && order <= 0
	}
	return both(least, most)
}

// compareBudgets compares budgets of one rule, and of one window.
func compareBudgets(a, b budget.Config) (int, bool) {
	switch {
	case a.Rule != b.Rule || a.Window != b.Window:
		return 0, false
	case a.Rule == budget.Adaptive:
		one, two := a.OneAbove.Compare(b.OneAbove), a.TwoAbove.Compare(b.TwoAbove)
		return both(one >= 0 && two >= 0 && a.Wait >= b.Wait, one <= 0 && two <= 0 && a.Wait <= b.Wait)
	case a.Rule != budget.Windowed:
		ratio := a.TokenRatio.Compare(b.TokenRatio)
		return both(a.Tokens >= b.Tokens && a.Refund >= b.Refund && a.Retry <= b.Retry && a.Timeout <= b.Timeout && ratio >= 0,
			a.Tokens <= b.Tokens && a.Refund <= b.Refund && a.Retry >= b.Retry && a.Timeout >= b.Timeout && ratio <= 0)
	}
	ratio, minimum := a.Ratio.Compare(b.Ratio), cmp.Compare(always(a), always(b))
	return both(ratio >= 0 && minimum >= 0, ratio <= 0 && minimum <= 0)
}

// both combines "at least" and "at most" to an order.
func both(least, most bool) (int, bool) {
	switch {
	case least && most:
		return 0, true
	case least:
		return 1, true
	case most:
		return -1, true
	}
	return 0, false
}

// contains reports whether a list has all of another one.
func contains(list, other []string) bool {
	return !slices.ContainsFunc(other, func(one string) bool { return !slices.Contains(list, one) })
}
