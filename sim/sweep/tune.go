package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/edit"
	"github.com/sluice-go/sluice/sim/goal"
	"github.com/sluice-go/sluice/sim/random"
)

// Tuning is a search for the values of some settings that meet goals.
type Tuning struct {
	Scenario Scenario
	// Axes are the settings, with the values that may be tried.
	Axes  []Axis
	Goals []goal.Goal
	// Best is a figure that is to be as large as possible where several meet all goals,
	// or as small as possible with Least. Empty for none.
	Best  string
	Least bool
	// Seed is the first seed of the runs and the seed of the search, Seeds how many runs are
	// made for each try.
	Seed  uint64
	Seeds int
	// Tries is the most combinations that are tried.
	Tries int
	// Progress is called after each try. nil for none.
	Progress func(done, all int)
}

// Try is a combination of values that was tried.
type Try struct {
	Settings []edit.Setting
	// Missed is by how much the goals are missed on average, as a part of their values,
	// 0 where each run meets all.
	Missed float64
	// Met says, for each goal, how many of the runs met it.
	Met []int
	// Figure is the mean of Best, NaN without one.
	Figure   float64
	Verdicts map[sim.Verdict]int
	// Bad is why the scenario does not accept the values, nil where it does.
	Bad error
}

// Outcome is what a search has found.
type Outcome struct {
	// Tries, the best first.
	Tries []Try
	// All says that every combination was tried.
	All bool
	// Runs is how many simulations were made.
	Runs int
}

// Found reports whether some values meet all goals.
func (o *Outcome) Found() bool {
	return len(o.Tries) > 0 && o.Tries[0].Bad == nil && o.Tries[0].Missed == 0
}

// Run searches. Where there are no more combinations than tries, all are tried.
// Otherwise a quarter of the tries is drawn at random, and the others are neighbours of
// the best ones so far: one setting has the next value or one that is twice as far.
func (t *Tuning) Run() (*Outcome, error) {
	if len(t.Axes) == 0 {
		return nil, fmt.Errorf("found no setting to vary; allowed: one or more")
	}
	if len(t.Goals) == 0 && t.Best == "" {
		return nil, fmt.Errorf("found no goal; allowed: a goal, or a figure that is to be large or small")
	}
	s := search{Tuning: t, draws: random.New(t.Seed, "tune"), seen: map[string]bool{}}
	whole := 1
	for _, axis := range t.Axes {
		whole = min(whole*len(axis.Values), math.MaxInt32)
	}
	s.outcome.All = whole <= t.Tries
	s.tries = min(whole, t.Tries)
	var err error
	if s.outcome.All {
		err = s.all(nil)
	} else {
		err = s.climb()
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.outcome.Tries, t.compare)
	return &s.outcome, nil
}

// compare puts the better try first.
func (t *Tuning) compare(a, b Try) int {
	switch {
	case (a.Bad == nil) != (b.Bad == nil):
		if a.Bad == nil {
			return -1
		}
		return 1
	case a.Missed != b.Missed:
		if a.Missed < b.Missed {
			return -1
		}
		return 1
	case t.Best == "" || a.Figure == b.Figure || math.IsNaN(a.Figure) || math.IsNaN(b.Figure):
		return 0
	case a.Figure < b.Figure == t.Least:
		return -1
	}
	return 1
}

// search is the state of a search.
type search struct {
	*Tuning
	draws   *random.Stream
	seen    map[string]bool
	at      [][]int // of each try
	tries   int
	outcome Outcome
}

// all tries every combination.
func (s *search) all(before []int) error {
	if len(before) == len(s.Axes) {
		return s.try(before)
	}
	for i := range s.Axes[len(before)].Values {
		if err := s.all(append(before, i)); err != nil {
			return err
		}
	}
	return nil
}

// climb tries some at random, then neighbours of the best.
func (s *search) climb() error {
	for len(s.outcome.Tries) < max(s.tries/4, 1) {
		if err := s.tryRandom(); err != nil {
			return err
		}
	}
	for len(s.outcome.Tries) < s.tries {
		near := s.neighbour()
		if near == nil {
			if err := s.tryRandom(); err != nil {
				return err
			}
			continue
		}
		if err := s.try(near); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) tryRandom() error {
	at := make([]int, len(s.Axes))
	for {
		for i := range at {
			at[i] = int(s.draws.Below(uint64(len(s.Axes[i].Values))))
		}
		if !s.seen[fmt.Sprint(at)] {
			return s.try(at)
		}
	}
}

// neighbour returns a combination near the best one that has an untried neighbour, nil
// where the best ones have none.
func (s *search) neighbour() []int {
	order := make([]int, len(s.outcome.Tries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.compare(s.outcome.Tries[a], s.outcome.Tries[b]) })
	const best = 8
	for _, i := range order[:min(best, len(order))] {
		for _, step := range []int{1, 2} {
			for axis := range s.Axes {
				for _, by := range []int{step, -step} {
					at := slices.Clone(s.at[i])
					at[axis] += by
					if at[axis] >= 0 && at[axis] < len(s.Axes[axis].Values) && !s.seen[fmt.Sprint(at)] {
						return at
					}
				}
			}
		}
	}
	return nil
}

// try runs one combination.
func (s *search) try(at []int) error {
	at = slices.Clone(at)
	s.seen[fmt.Sprint(at)] = true
	one := Try{Met: make([]int, len(s.Goals)), Figure: math.NaN(), Verdicts: map[sim.Verdict]int{}}
	for i, axis := range s.Axes {
		one.Settings = append(one.Settings, edit.Setting{Path: axis.Path, Value: axis.Values[at[i]]})
	}
	scenario, err := s.Scenario(one.Settings)
	if err != nil {
		one.Bad = err
	} else if err := s.simulate(scenario, &one); err != nil {
		return err
	}
	s.at = append(s.at, at)
	s.outcome.Tries = append(s.outcome.Tries, one)
	if s.Progress != nil {
		s.Progress(len(s.outcome.Tries), s.tries)
	}
	return nil
}

func (s *search) simulate(scenario *sim.Scenario, one *Try) error {
	results, err := runs([]*sim.Scenario{scenario}, s.Seed, s.Seeds, nil)
	if err != nil {
		return err
	}
	s.outcome.Runs += s.Seeds
	var figures []float64
	for _, r := range results[0] {
		one.Verdicts[r.verdict]++
		for i, g := range s.Goals {
			missed, err := g.Distance(r.figures)
			if err != nil {
				return err
			}
			one.Missed += missed / float64(s.Seeds)
			if missed == 0 {
				one.Met[i]++
			}
		}
		if s.Best == "" {
			continue
		}
		path, err := r.figures.Resolve(s.Best)
		if err != nil {
			return err
		}
		if x, ok := r.figures.Number(path); ok {
			figures = append(figures, x)
		}
	}
	one.Figure = estimate(figures).Mean
	return nil
}
