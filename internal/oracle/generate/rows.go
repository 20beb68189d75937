package generate

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// chosen are the settings whose values the functions of the mechanisms draw, because they
// belong together or lie on a grid. All others are drawn by the types of their rows.
var chosen = map[mechanism.Kind]string{
	mechanism.Timeout:  "after soft",
	mechanism.Retry:    "attempts backoff jitter max_elapsed refusals budget",
	mechanism.Breaker:  "window minimum failure_rate slow open probes successes half_open_max initial obey_retry_after ramp",
	mechanism.Limit:    "algorithm rate burst wait queue order cost charge settle_max counts block warm_up zone",
	mechanism.Bulkhead: "concurrent queue wait order lease cost",
	mechanism.Hedge:    "after max parallel samples minimum budget",
	mechanism.Adaptive: "initial minimum maximum increase decrease tolerance over lease cost",
	mechanism.Chaos:    "fail throttle ignore slow",
}

// others draws the settings that are not among the chosen ones, each by its type and its range.
// A value that the mechanism refuses beside the others stays as it was.
func (m *maker) others(c mechanism.Config, chosen string) mechanism.Config {
	row := mechanisms.Row(c.Kind())
	for i := range row.Settings {
		s := &row.Settings[i]
		if s.Type.Fieldless() || slices.Contains(strings.Fields(chosen), s.Name) || !m.chance(40) {
			continue
		}
		draft := mechanisms.Docs(c.Kind()).Draft(c)
		for _, part := range leaves(s, "") {
			m.value(part.Setting, draft.Field(part.name))
		}
		if _, err := mechanisms.Compile(draft.Config()); err == nil {
			c = draft.Config()
		}
	}
	return c
}

// leaf is a setting without parts, with its whole name.
type leaf struct {
	*mechanism.Setting
	name string
}

// leaves returns the settings that a setting consists of.
func leaves(s *mechanism.Setting, prefix string) (list []leaf) {
	if s.Type != mechanism.Map {
		return []leaf{{s, prefix + s.Name}}
	}
	for i := range s.Parts {
		list = append(list, leaves(&s.Parts[i], prefix+s.Name+".")...)
	}
	return list
}

// value draws a value of a simple type, small ones, so that logs of some events reach it.
func (m *maker) value(s *mechanism.Setting, field any) {
	switch f := field.(type) {
	case *time.Duration:
		*f = m.units(6)
	case *uint32:
		*f = min(s.Least+uint32(m.IntN(5)), s.Most)
	case *reducer.Share:
		*f = reducer.Millionths(of(m, uint32(500_000), 333_333, 250_000, 100_000, 1_000_000, 1))
	case *bool:
		*f = m.chance(50)
	case *uint8:
		*f = uint8(m.IntN(max(1, len(strings.Fields(s.Words)))))
	}
}

// plainerBy returns the ways to make the settings of a mechanism plainer that its row gives: a
// setting that need not be there is left out, and a number, whose zero value may stand for another
// number, is the least one.
func plainerBy(kind mechanism.Kind) (ways []func(*pipeline.Step)) {
	docs := mechanisms.Docs(kind)
	for i := range mechanisms.Row(kind).Settings {
		s := &mechanisms.Row(kind).Settings[i]
		if s.Type.Fieldless() || s.Type == mechanism.OneOf {
			continue
		}
		set := func(to func(leaf, reflect.Value)) {
			ways = append(ways, func(step *pipeline.Step) {
				if step.Kind() != kind {
					return
				}
				draft := docs.Draft(step.Config)
				for _, part := range leaves(s, "") {
					if field := reflect.ValueOf(draft.Field(part.name)); field.Kind() == reflect.Pointer {
						to(part, field.Elem())
					}
				}
				if _, err := mechanisms.Compile(draft.Config()); err == nil {
					step.Config = draft.Config()
				}
			})
		}
		if s.Type != mechanism.Count && !s.Required && !docs.Setting(s.Name).Needed {
			set(func(_ leaf, field reflect.Value) { field.SetZero() })
		}
		if s.Type == mechanism.Count {
			set(func(part leaf, field reflect.Value) {
				field.SetUint(min(field.Uint(), uint64(max(1, part.Least))))
			})
		}
	}
	return ways
}
