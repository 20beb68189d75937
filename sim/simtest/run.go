package simtest

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

// Option changes how a scenario runs.
type Option func(*settings)

type settings struct {
	seeds   []uint64
	reports string
}

// Seeds runs the scenario once with each of the seeds. The default is the seed of the
// scenario.
func Seeds(seeds ...uint64) Option {
	return func(s *settings) { s.seeds = append(s.seeds, seeds...) }
}

// SeedRange runs the scenario with so many seeds, from the first one on.
func SeedRange(first uint64, count int) Option {
	return func(s *settings) {
		for i := range count {
			s.seeds = append(s.seeds, first+uint64(i))
		}
	}
}

// Reports sets the directory for the files of a failure, which are in one of the test's
// name below it. The default is the directory
// for the artifacts of the test, which go test -artifacts keeps; before Go 1.26 it is
// the test's temporary directory.
func Reports(dir string) Option {
	return func(s *settings) { s.reports = dir }
}

// Runs is a scenario that ran once with each of its seeds. A requirement holds for
// each run, and in it for each client or service; Client and Service select one.
type Runs struct {
	t        testing.TB
	scenario *Scenario
	settings settings
	list     []*run
	execute  executor
	// recorded says that the events of a run are kept, since another run of the same
	// scenario may differ.
	recorded bool
	// client and service that are selected, empty for all.
	client, service string
}

// executor runs a scenario. The observer is not nil.
type executor func(s *sim.Scenario, seed uint64, observe func(*engine.Event)) (*sim.Result, error)

// run is a run of a scenario, or of one that was made from it by shrinking.
type run struct {
	scenario *sim.Scenario
	result   *sim.Result
	// replay calls the observer with the events of the run.
	replay func(observe func(*engine.Event))
	// events is how many there are.
	events int
}

// Run simulates a scenario.
func Run(t testing.TB, s *Scenario, options ...Option) *Runs {
	t.Helper()
	return start(&Runs{t: t, scenario: s, execute: simulate}, options)
}

func start(r *Runs, options []Option) *Runs {
	r.t.Helper()
	for _, o := range options {
		o(&r.settings)
	}
	if len(r.settings.seeds) == 0 {
		r.settings.seeds = []uint64{r.scenario.scenario.Seed}
	}
	for _, seed := range r.settings.seeds {
		one, err := r.once(r.scenario.scenario, seed)
		if err != nil {
			r.t.Fatalf("simtest: %s, seed %d: %v", r.scenario.name, seed, err)
		}
		r.list = append(r.list, one)
	}
	return r
}

// simulate is the executor of Run.
func simulate(s *sim.Scenario, seed uint64, observe func(*engine.Event)) (*sim.Result, error) {
	return sim.Run(s, sim.Options{Seed: seed, Seeded: true, Observe: observe})
}

// once runs a scenario with a seed.
func (r *Runs) once(s *sim.Scenario, seed uint64) (*run, error) {
	one := &run{scenario: s}
	var events []engine.Event
	var err error
	one.result, err = r.execute(s, seed, func(e *engine.Event) {
		one.events++
		if r.recorded {
			events = append(events, copied(e))
		}
	})
	one.replay = func(observe func(*engine.Event)) {
		if !r.recorded {
			_, _ = r.execute(s, seed, observe) // as before: equal seeds, equal runs
		}
		for i := range events {
			observe(&events[i])
		}
	}
	return one, err
}

// copied returns an event that is valid after the call of the observer.
func copied(e *engine.Event) engine.Event {
	one := *e
	if e.Decision != nil {
		d := *e.Decision
		one.Decision = &d
	}
	return one
}

// Results returns the result of each seed, in their order.
func (r *Runs) Results() []*sim.Result {
	list := make([]*sim.Result, len(r.list))
	for i, one := range r.list {
		list[i] = one.result
	}
	return list
}

// Client selects a client: requirements on clients hold for it alone, and those on
// services count its requests alone. An unknown name ends the test.
func (r *Runs) Client(name string) *Runs {
	r.t.Helper()
	var names []string
	for i := range r.scenario.scenario.Clients {
		names = append(names, r.scenario.scenario.Clients[i].Name)
	}
	r.known("client", name, names)
	other := *r
	other.client = name
	return &other
}

// Service selects a service: requirements on services hold for it alone. An unknown
// name ends the test.
func (r *Runs) Service(name string) *Runs {
	r.t.Helper()
	var names []string
	for i := range r.scenario.scenario.Services {
		names = append(names, r.scenario.scenario.Services[i].Name)
	}
	r.known("service", name, names)
	other := *r
	other.service = name
	return &other
}

func (r *Runs) known(what, name string, names []string) {
	r.t.Helper()
	for _, one := range names {
		if one == name {
			return
		}
	}
	r.t.Fatalf("simtest: the scenario has no %s %q; it has %s", what, name, strings.Join(names, ", "))
}
