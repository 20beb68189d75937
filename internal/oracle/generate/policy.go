package generate

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// maker draws policies and logs.
type maker struct {
	*rand.Rand
	unit time.Duration
	grid grid
	// named says that the steps of this case have names of their own.
	named bool
	names int
	// keyed says that many steps of this case have a cell for each key.
	keyed bool
	// passes says that policies may have no steps.
	passes bool
	// priced says that many steps of this case that can have a cost of their own have one.
	priced bool
	// chosen says that many steps of this case apply to some calls alone, or enforce for a
	// share of them.
	chosen bool
	// only are the mechanisms of a case, all where it is empty.
	only []pipeline.Kind
	// all says that cases have every setting, also those that the first edition of the
	// vectors does not have.
	all bool
}

// grid says which durations and marks a case has.
type grid int

const (
	// mixed has multiples of the unit, so that marks coincide often, and now
	// and then other durations.
	mixed grid = iota
	// onGrid has multiples of the unit alone: all that can coincide does.
	onGrid
	// offGrid has durations without a common measure.
	offGrid
)

// chance is true in the given percentage of cases.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// upTo draws from 1 to n.
func (m *maker) upTo(n int) int { return 1 + m.IntN(n) }

// units draws a duration of 1 to n units, on the grid or off it.
func (m *maker) units(n int) time.Duration {
	d := time.Duration(m.upTo(n)) * m.unit
	switch m.grid {
	case onGrid:
		return d
	case offGrid:
		return max(1, d-time.Duration(m.Int64N(int64(m.unit))))
	}
	switch m.IntN(25) {
	case 0:
		d++
	case 1:
		d -= m.unit / 2
	case 2:
		d = d*2/3 + 1
	}
	return d
}

// parts draws a duration of 1 to n units for each of so many parts.
func (m *maker) parts(count uint32, n int) time.Duration {
	if m.grid == onGrid {
		return time.Duration(count) * m.units(max(1, n/int(count)))
	}
	return max(m.units(n), time.Duration(count))
}

// of draws one of the values.
func of[T any](m *maker, values ...T) T { return values[m.IntN(len(values))] }

func (m *maker) policy() pipeline.Policy {
	p := pipeline.Policy{Name: "p"}
	kinds := m.among(drawn)
	if m.chance(40) {
		// Few mechanisms, several of each.
		kinds = []pipeline.Kind{of(m, kinds...), of(m, kinds...)}
	}
	if m.chance(25) {
		kinds = m.among(append(kinds, mechanism.Hedge))
		p.Steps = m.added(p.Steps, mechanism.Hedge)
	}
	for n := m.upTo(of(m, 1, 2, 3, 5, 7)); n > 0; n-- {
		p.Steps = m.added(p.Steps, of(m, kinds...))
	}
	if m.chance(20) {
		p.Fallback = &fallback.Config{Status: 503, Body: "later"}
	}
	if m.chance(12) {
		p.Steps = m.added(p.Steps, mechanism.Chaos)
	}
	p.Steps = arranged(p.Steps)
	if m.chosen && m.chance(30) {
		p.Allow = m.condition()
	}
	if m.chosen && m.chance(30) {
		p.Deny = m.condition()
	}
	if m.passes && m.chance(60) {
		p.Steps, p.Pass = nil, true
	}
	return p
}

// has reports whether the case may have a mechanism.
func (m *maker) has(kind pipeline.Kind) bool {
	return len(m.only) == 0 || slices.Contains(m.only, kind)
}

// among returns the entries of a list that the case may have.
func (m *maker) among(kinds []pipeline.Kind) []pipeline.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k pipeline.Kind) bool { return !m.has(k) })
}

// added returns the steps with one more of the kind at a random place, and
// without it where that would be a second retry or hedge, or one that the case may not have.
func (m *maker) added(steps []pipeline.Step, kind pipeline.Kind) []pipeline.Step {
	if !m.has(kind) || (kind == mechanism.Retry || kind == mechanism.Hedge) && index(steps, kind) >= 0 {
		return steps
	}
	s := pipeline.Step{Shadow: m.chance(15), Config: m.settings(kind)}
	if m.named {
		m.names++
		s.Name = "s" + strconv.Itoa(m.names)
	}
	if m.chance(20) || m.keyed && m.chance(60) {
		s.Per = of(m, []string{"key"}, []string{"key"}, []string{"header:x"}, []string{"key", "header:x"}, []string{"ip"})
		m.keys(&s)
	}
	m.choose(&s)
	return slices.Insert(slices.Clone(steps), m.IntN(len(steps)+1), plain(s))
}

// choose draws for which calls the step is.
func (m *maker) choose(s *pipeline.Step) {
	s.When, s.Enforce = nil, condition.Share{}
	if !m.chosen {
		return
	}
	if m.chance(40) {
		s.When = m.condition()
	}
	if !s.Shadow && m.chance(30) {
		s.Enforce = condition.Share{Of: of(m, reducer.Percent(50), reducer.Percent(50), reducer.Percent(10), reducer.Percent(100), reducer.Millionths(1)), By: of(m, "", "key", "header:x", "ip")}
	}
}

// condition draws a condition that some calls of a log match.
func (m *maker) condition() (c condition.Condition) {
	for n := of(m, 1, 1, 2); n > 0; n-- {
		var one condition.Case
		for k := of(m, 1, 1, 2); k > 0; k-- {
			entry := of(m, condition.Entry{Attribute: "key", Values: of(m, []string{"a"}, []string{"a", "b"}, []string{"", "c"})},
				condition.Entry{Attribute: "header:x", Values: of(m, []string{"b"}, []string{"a", "b"}, []string{""})},
				condition.Entry{Attribute: "ip", Values: of(m, []string{"10.0.0.0/8"}, []string{"192.0.2.0/25", "2001:db8::/32"}, []string{"2001:db8::5", "fe80::1"}, []string{"2001:db8::4/127"}, []string{"", "::ffff:10.1.0.0/112"})})
			if list := of(m, &one.All, &one.All, &one.None); !slices.ContainsFunc(*list, func(e condition.Entry) bool { return e.Attribute == entry.Attribute }) {
				*list = append(*list, entry)
			}
		}
		c = append(c, one)
	}
	return c
}

// keys draws what the step does with many keys and with none.
func (m *maker) keys(s *pipeline.Step) {
	s.Keys, s.WhenFull, s.Missing = 0, pipeline.FullEvict, pipeline.MissingShare
	if m.chance(60) {
		s.Keys = uint32(m.upTo(5))
	}
	if m.chance(30) {
		s.WhenFull = pipeline.FullShare
	}
	if m.chance(30) {
		s.Missing = of(m, pipeline.MissingDeny, pipeline.MissingSkip)
	}
}

// index returns the place of the first step of the kind, or -1.
func index(steps []pipeline.Step, kind pipeline.Kind) int {
	return slices.IndexFunc(steps, func(s pipeline.Step) bool { return s.Kind() == kind })
}

// arranged returns the steps with the hedge below the retry and the chaos below all
// others.
func arranged(steps []pipeline.Step) []pipeline.Step {
	r, h := index(steps, mechanism.Retry), index(steps, mechanism.Hedge)
	if h >= 0 && h < r {
		steps = slices.Clone(steps)
		steps[r], steps[h] = steps[h], steps[r]
	}
	if i := index(steps, mechanism.Chaos); i >= 0 {
		last := steps[i]
		steps = append(slices.Delete(slices.Clone(steps), i, i+1), last)
	}
	return steps
}

// plain returns the step without what it cannot have: `per` where there are no
// cells, what concerns keys without `per`, and a cost that is never admitted.
func plain(s pipeline.Step) pipeline.Step {
	row := mechanisms.Row(s.Kind())
	cells := row.Stateless == nil || row.Stateless(s.Config) == ""
	switch c := s.Config.(type) {
	case limiter.Config:
		c.Cost.Permits = min(c.Cost.Permits, greatest(c))
		s.Config = c
	case bulkhead.Config:
		c.Cost.Permits = min(c.Cost.Permits, c.Concurrent)
		s.Config = c
	case adaptive.Config:
		c.Cost.Permits = min(c.Cost.Permits, c.Maximum)
		s.Config = c
	}
	if !cells {
		s.Per = nil
	}
	if s.Shadow {
		s.Enforce = condition.Share{}
	}
	if len(s.Per) == 0 {
		s.Keys, s.WhenFull, s.Missing = 0, pipeline.FullEvict, pipeline.MissingShare
	}
	return s
}

// greatest returns the greatest cost that a limiter admits.
func greatest(c limiter.Config) uint32 {
	if c.Algorithm == limiter.TokenBucket {
		return c.AtOnce()
	}
	return c.Count
}
