package lint

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// value is a setting of a step.
type value struct {
	name, text string
	field      any    // as of mechanism.Draft, or a list of methods
	effect     Effect // of a larger value
	endless    bool   // no bound: larger than any other value
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
			v := value{name: prefix + s.Name, effect: docs.Setting(prefix + s.Name).Effect}
			switch s.Type {
			case mechanism.Map:
				visit(s.Parts, v.name+".")
				continue
			case mechanism.OneOf:
				v.text = windowText(a.steps[i].Config)
			case mechanism.Jitter:
				continue // a part of the backoff's text
			case mechanism.Methods:
				methods := p.Methods
				if row.Traits.Has(mechanism.Hedges) {
					methods = p.HedgeMethods
				}
				v.field, v.text = methods, strings.Join(methods, ", ")
			case mechanism.Attribute, mechanism.Rates:
				continue // a step for each class has them
			default:
				v.field = draft.Field(v.name)
				v.read(s)
			}
			v.adjust(a.steps[i].Config)
			values = append(values, v)
		}
	}
	visit(row.Settings, "")
	return values
}

// windowText describes the window of a breaker.
func windowText(config mechanism.Config) string {
	c, _ := config.(breaker.Config)
	switch c.Window {
	case breaker.Time:
		return "{time: " + Duration(c.Span).String() + ", buckets: " + mechanism.Number(c.Count) + "}"
	case breaker.Consecutive:
		text := "{consecutive: " + mechanism.Number(c.Count)
		if c.Forget > 0 {
			text += ", forget: " + Duration(c.Forget).String()
		}
		return text + "}"
	}
	return "{calls: " + mechanism.Number(c.Count) + "}"
}

// read makes the text of a field.
func (v *value) read(s *mechanism.Setting) {
	switch field := v.field.(type) {
	case *time.Duration:
		v.text = Duration(*field).String()
		v.none(*field == 0 && s.Least > 0)
	case *uint32:
		v.text = mechanism.Number(*field)
	case *reducer.Share:
		v.text = field.String()
		v.none(!field.Positive())
	case *bool:
		v.text = strconv.FormatBool(*field)
	case *uint8:
		v.text = strings.Fields(s.Words)[*field]
	case mechanism.RateField:
		v.text = mechanism.CalendarText(*field.Count, *field.Period, *field.Unit)
	case mechanism.ZoneField:
		v.text = field.Zone.String()
	case mechanism.WordsField:
		v.text = strings.Join(limiter.Outcomes(*field.Set).Names(), ", ")
	case mechanism.CostField:
		v.text = costText(field)
	case mechanism.DelayField:
		v.text = Duration(*field.Duration).String()
		if field.Percentile.Positive() {
			v.text = "p" + strings.TrimSuffix(field.Percentile.String(), "%")
		}
	case mechanism.BoundField:
		v.text = boundText(field)
	case *backoff.Config:
		v.text = field.Describe()
	case budget.Field:
		v.text = field.Describe()
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
		v.text, v.endless = "none", true
	}
}

// onePlace fills in the cost of a step that holds places and has none.
func (v *value) onePlace(c limiter.Cost) {
	if v.name == "cost" && c == (limiter.Cost{}) {
		c.Permits = 1
		v.field, v.text = mechanism.CostField{Attribute: &c.Attribute, Permits: &c.Permits}, "1"
	}
}

// adjust fills in the meaning of a zero, which depends on other settings.
func (v *value) adjust(config mechanism.Config) {
	switch c := config.(type) {
	case limiter.Config:
		if v.name == "burst" {
			n := c.AtOnce()
			v.field, v.text = &n, mechanism.Number(n)
			if c.Algorithm != limiter.TokenBucket {
				v.text, v.effect = "none", Other
			}
		}
	case bulkhead.Config:
		if v.name == "wait" && c.Wait == 0 && c.Queue > 0 {
			v.text, v.endless = "as long as the caller does", true
		}
		v.onePlace(c.Cost)
	case adaptive.Config:
		v.onePlace(c.Cost)
	case breaker.Config:
		if v.name == "minimum" || v.name == "failure_rate" {
			// Of another kind of window they are not there.
			v.endless = v.endless || c.Window == breaker.Consecutive
			if c.Window == breaker.Consecutive {
				v.text, v.effect = "none", Other
			}
		}
	}
}

// effectOf returns the effect of replacing a value by another one.
func (v *value) effectOf(before *value) Effect {
	if v.effect == Other || before.effect == Other {
		return Other
	}
	order, ok := 0, true
	switch {
	case v.endless != before.endless && v.endless:
		order = 1
	case v.endless != before.endless:
		order = -1
	default:
		order, ok = compareFields(v.field, before.field)
	}
	switch {
	case !ok || order == 0:
		return Other
	case order < 0:
		return v.effect.Inverse()
	}
	return v.effect
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

// compareBudgets compares those of one rule, and of one window.
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
