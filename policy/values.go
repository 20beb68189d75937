package policy

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/reducer"
)

// printer prints the settings of a configuration.
type printer struct {
	docs  *mechanism.Docs
	draft mechanism.Draft
}

// configObject prints the settings of a mechanism, by the types that its row gives them. It
// returns no settings for a configuration that is of none.
func configObject(c mechanism.Config) object {
	if c == nil || mechanisms.Row(c.Kind()) == nil {
		return object{}
	}
	docs := mechanisms.Docs(c.Kind())
	p := printer{docs, docs.Draft(c)}
	o, _ := p.settings(mechanisms.Row(c.Kind()).Settings, "")
	return o
}

// settings prints the settings that are written out, and reports whether one of them has
// another value than zero.
func (p printer) settings(list []mechanism.Setting, prefix string) (o object, given bool) {
	o = object{}
	for i := range list {
		s := &list[i]
		value, zero := p.value(s, prefix+s.Name)
		if value == nil {
			continue
		}
		given = given || !zero
		if doc := p.docs.Setting(prefix + s.Name); !zero || doc.Needed || s.Required && s.Or == "" || p.beside(doc.With, doc.Name, prefix) {
			o[s.Name] = value
		}
	}
	return o, given
}

// beside reports whether a setting is written beside the one of a name, which may be itself.
func (p printer) beside(name, own, prefix string) bool {
	if name == "" || name == own {
		return name != ""
	}
	_, zero := p.value(mechanisms.Row(p.draft.Config().Kind()).Setting(name), name)
	return !zero
}

// value prints the value of a setting, and reports whether it is zero. A setting that the
// document or its other steps keep has no value.
func (p printer) value(s *mechanism.Setting, name string) (value any, zero bool) {
	switch s.Type {
	case mechanism.Map:
		o, given := p.settings(s.Parts, name+".")
		return o, !given
	case mechanism.OneOf:
		o, _ := p.settings(variant(s.Parts, int(*p.draft.Field(name).(*uint8))), name+".")
		return o, false
	case mechanism.Methods, mechanism.Attribute, mechanism.Rates:
		return nil, true
	}
	switch f := p.draft.Field(name).(type) {
	case *time.Duration:
		return spanText(*f), *f == 0
	case *uint32:
		return *f, *f == 0
	case *reducer.Share:
		return shareText(*f), !f.Positive()
	case *bool:
		return *f, !*f
	case *uint8:
		return nth(s.Words, int(*f)), *f == 0
	case mechanism.WordsField:
		return among(s.Words, *f.Set), *f.Set == 0
	case mechanism.RateField:
		return rateValue(f), false
	case mechanism.ZoneField:
		return f.Zone.String(), *f.Zone == calendar.Zone{}
	case mechanism.CostField:
		return costValue(f)
	case mechanism.DelayField:
		if f.Percentile.Positive() {
			return "p" + decimal(int64(f.Percentile.Millionths()), 4), false
		}
		return spanText(*f.Duration), *f.Duration == 0
	case mechanism.BoundField:
		if f.Share.Positive() {
			return shareText(*f.Share), false
		}
		return spanText(*f.Duration), *f.Duration == 0
	case budget.Field:
		if *f.Given {
			return budgetObject(*f.Config), false
		}
		return noneText, f.Absent()
	case *backoff.Config:
		return backoffValue(s.Type, *f)
	}
	return nil, true
}

// variant returns the parts of a OneOf that belong to the variant of an index.
func variant(parts []mechanism.Setting, index int) []mechanism.Setting {
	start, end := len(parts), len(parts)
	for i := range parts {
		if !parts[i].Variant {
			continue
		}
		if index == 0 {
			start = i
		}
		if index == -1 {
			end = i
		}
		index--
	}
	return parts[start:end]
}

// noneText is a budget or a backoff that is none.
const noneText = "none"

// nth returns one of some words, "" for an index that none has.
func nth(words string, index int) string {
	if list := strings.Fields(words); index < len(list) {
		return list[index]
	}
	return ""
}

// among returns the words of a set.
func among(words string, set uint8) []string {
	var list []string
	for i, word := range strings.Fields(words) {
		if set&(1<<i) != 0 {
			list = append(list, word)
		}
	}
	return list
}

func rateValue(f mechanism.RateField) string {
	if *f.Unit != calendar.NoUnit {
		return mechanism.CalendarText(*f.Count, *f.Period, *f.Unit)
	}
	return rateText(*f.Count, *f.Period)
}

func costValue(f mechanism.CostField) (value any, zero bool) {
	if *f.Attribute != "" {
		return object{"attribute": *f.Attribute, "default": *f.Permits}, false
	}
	return *f.Permits, *f.Permits == 0
}

// backoffValue prints a backoff as a setting of a type has it.
func backoffValue(of mechanism.Type, c backoff.Config) (value any, zero bool) {
	switch of {
	case mechanism.Jitter:
		return jitterText(c), c.Kind == backoff.None || c.Kind == backoff.Decorrelated
	case mechanism.OpenTime:
		if c.Kind == backoff.Constant && c.Jitter == backoff.NoJitter {
			return spanText(c.Base), false
		}
		o := backoffObject(c)
		if c.Jitter != backoff.NoJitter {
			o["jitter"] = jitterText(c)
		}
		return o, false
	case mechanism.BlockTime:
		if c.Kind == backoff.Constant {
			return spanText(c.Base), false
		}
		return backoffObject(c), c.Kind == backoff.None
	}
	if c.Kind == backoff.None {
		return noneText, false
	}
	return backoffObject(c), false
}

func budgetObject(c budget.Config) object {
	switch c.Rule {
	case budget.Tokens:
		return object{"tokens": c.Tokens, "retry": c.Retry, "timeout": c.Timeout, "refund": c.Refund}
	case budget.Adaptive:
		return object{"adaptive": spanText(c.Window), "one_above": shareText(c.OneAbove), "two_above": shareText(c.TwoAbove), "wait": spanText(c.Wait)}
	case budget.Throttle:
		return object{"max_tokens": c.Tokens, "token_ratio": json.Number(decimal(int64(c.TokenRatio.Millionths()), 6))}
	}
	return object{
		"ratio":   shareText(c.Ratio),
		"minimum": rateText(c.MinimumCount, c.MinimumPeriod),
		"window":  spanText(c.Window),
	}
}

// backoffObject prints a backoff without its jitter.
func backoffObject(c backoff.Config) object {
	if c.Kind == backoff.Listed {
		delays := make([]string, c.Delays.Len())
		for i := range delays {
			delays[i] = spanText(c.Delays.At(i))
		}
		return object{c.Kind.String(): delays}
	}
	o := object{c.Kind.String(): spanText(c.Base)}
	if c.Kind == backoff.Exponential {
		o["factor"] = json.Number(decimal(int64(c.Factor), 6))
	}
	if c.Max > 0 {
		o["max"] = spanText(c.Max)
	}
	return o
}

func jitterText(c backoff.Config) string {
	switch c.Jitter {
	case backoff.Full:
		return "full"
	case backoff.Equal:
		return "equal"
	case backoff.Fraction:
		return shareText(c.Share)
	}
	return "none"
}

func spanText(d time.Duration) string { return d.String() }

func rateText(count uint32, period time.Duration) string {
	return strconv.FormatUint(uint64(count), 10) + "/" + spanText(period)
}

func shareText(s reducer.Share) string { return decimal(int64(s.Millionths()), 4) + "%" }

// decimal prints n with the last digits after the point, without needless zeros.
func decimal(n int64, digits int) string {
	text := strconv.FormatInt(n, 10)
	for len(text) <= digits {
		text = "0" + text
	}
	cut := len(text) - digits
	return strings.TrimRight(strings.TrimRight(text[:cut]+"."+text[cut:], "0"), ".")
}
