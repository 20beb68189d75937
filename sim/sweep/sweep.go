package sweep

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/edit"
	"github.com/sluice-go/sluice/sim/goal"
)

// Scenario returns the scenario with some settings changed.
type Scenario func(settings []edit.Setting) (*sim.Scenario, error)

// Sweep is a scenario, and how it is varied.
type Sweep struct {
	Scenario Scenario
	// Axes are one or two settings.
	Axes []Axis
	// Seed is the first seed, Seeds how many there are, from 1.
	Seed  uint64
	Seeds int
	// Figures of the result, by their paths.
	Figures []string
	// Progress is called after each run, by one goroutine at a time. nil for none.
	Progress func(done, all int)
}

// Table is the result of a sweep.
type Table struct {
	Axes    []Axis
	Figures []string
	// Points are in the order of the axes' values, values of the last axis first.
	Points []Point
}

// Point is one combination of values.
type Point struct {
	Values []string
	// Figures in the order of the table's.
	Figures []Estimate
	// Verdicts counts the runs by their verdicts.
	Verdicts map[sim.Verdict]int
}

// Estimate is what many seeds say of a figure.
type Estimate struct {
	// Mean of N runs, NaN without any: a time may not be there.
	Mean float64
	N    int
	// Half is half of the 95 % confidence interval of the mean, by Student's
	// distribution; 0 for one run.
	Half float64
}

// Run makes all runs. The error comes from the scenario, for the first combination of
// values that cannot be read, or names a figure that there is not.
func (s *Sweep) Run() (*Table, error) {
	if len(s.Axes) == 0 || len(s.Axes) > 2 {
		return nil, fmt.Errorf("found %d settings to vary; allowed: one or two", len(s.Axes))
	}
	table := &Table{Axes: s.Axes}
	var sets [][]edit.Setting
	combine(s.Axes, nil, func(set []edit.Setting) { sets = append(sets, set) })
	scenarios := make([]*sim.Scenario, len(sets))
	for i, set := range sets {
		var err error
		if scenarios[i], err = s.Scenario(set); err != nil {
			return nil, err
		}
	}
	results, err := runs(scenarios, s.Seed, s.Seeds, s.Progress)
	if err != nil {
		return nil, err
	}
	if table.Figures, err = resolve(s.Figures, results[0][0]); err != nil {
		return nil, err
	}
	for i, set := range sets {
		table.Points = append(table.Points, pointOf(set, results[i], table.Figures))
	}
	return table, nil
}

// combine calls yield with every combination of the axes' values.
func combine(axes []Axis, before []edit.Setting, yield func([]edit.Setting)) {
	if len(axes) == 0 {
		yield(append([]edit.Setting(nil), before...))
		return
	}
	for _, value := range axes[0].Values {
		combine(axes[1:], append(before, edit.Setting{Path: axes[0].Path, Value: value}), yield)
	}
}

// Pair compares two scenarios that are run with the same seeds.
type Pair struct {
	Figures []string
	Sides   [2]Point
	// Difference is the difference of the second scenario and the first, seed by seed, which varies
	// less than the figures where both have the same arrivals.
	Difference []Estimate
}

// Compare runs two scenarios with the same seeds. Progress is called after each run; nil
// is for none. The error comes from a run, or names a figure that there is not.
func Compare(before, after *sim.Scenario, seed uint64, seeds int, figures []string, progress func(done, all int)) (*Pair, error) {
	results, err := runs([]*sim.Scenario{before, after}, seed, seeds, progress)
	if err != nil {
		return nil, err
	}
	p := &Pair{}
	if p.Figures, err = resolve(figures, results[0][0]); err != nil {
		return nil, err
	}
	for i := range p.Sides {
		p.Sides[i] = pointOf(nil, results[i], p.Figures)
	}
	for _, path := range p.Figures {
		var differences []float64
		for i := range results[0] {
			x, ok := results[0][i].figures.Number(path)
			y, also := results[1][i].figures.Number(path)
			if ok && also {
				differences = append(differences, y-x)
			}
		}
		p.Difference = append(p.Difference, estimate(differences))
	}
	return p, nil
}

// run is what one run has shown.
type run struct {
	figures *goal.Figures
	verdict sim.Verdict
}

// runs simulates each scenario with each seed.
func runs(scenarios []*sim.Scenario, seed uint64, seeds int, progress func(done, all int)) ([][]run, error) {
	all := len(scenarios) * seeds
	results := make([][]run, len(scenarios))
	for i := range results {
		results[i] = make([]run, seeds)
	}
	jobs := make(chan int)
	var wait sync.WaitGroup
	var lock sync.Mutex
	var errs []error
	done := 0
	for range min(runtime.GOMAXPROCS(0), all) {
		wait.Go(func() {
			for job := range jobs {
				i, k := job/seeds, job%seeds
				r, err := sim.Run(scenarios[i], sim.Options{Seed: seed + uint64(k), Seeded: true})
				if err == nil {
					results[i][k] = run{figures: goal.Of(r), verdict: r.Verdict}
				}
				lock.Lock()
				errs = append(errs, err)
				done++
				if progress != nil {
					progress(done, all)
				}
				lock.Unlock()
			}
		})
	}
	for job := range all {
		jobs <- job
	}
	close(jobs)
	wait.Wait()
	return results, errors.Join(errs...)
}

// resolve returns the whole paths of figures.
func resolve(figures []string, r run) (paths []string, err error) {
	for _, one := range figures {
		path, err := r.figures.Resolve(one)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func pointOf(set []edit.Setting, results []run, figures []string) Point {
	p := Point{Verdicts: map[sim.Verdict]int{}}
	for _, one := range set {
		p.Values = append(p.Values, one.Value)
	}
	for _, path := range figures {
		var values []float64
		for _, r := range results {
			if x, ok := r.figures.Number(path); ok {
				values = append(values, x)
			}
		}
		p.Figures = append(p.Figures, estimate(values))
	}
	for _, r := range results {
		p.Verdicts[r.verdict]++
	}
	return p
}

// estimate returns the mean of some values and its confidence interval.
func estimate(values []float64) Estimate {
	n := float64(len(values))
	e := Estimate{Mean: math.NaN(), N: len(values)}
	if n == 0 {
		return e
	}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	e.Mean = sum / n
	if n == 1 {
		return e
	}
	squares := 0.0
	for _, x := range values {
		squares += float64((x - e.Mean) * (x - e.Mean))
	}
	e.Half = student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
	return e
}

// student returns the 97.5 % quantile of Student's distribution for so many degrees of
// freedom.
func student(degrees int) float64 {
	quantiles := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	if degrees <= len(quantiles) {
		return quantiles[degrees-1]
	}
	// The expansion in 1/degrees of the normal quantile is exact to three places here.
	return 1.95996 + 2.3722/float64(degrees) + 2.8225/float64(degrees*degrees)
}
