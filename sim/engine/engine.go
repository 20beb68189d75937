package engine

import (
	"io"
	"strconv"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/sim/scenario"
)

// DefaultParts is how many parts a timeline has.
const DefaultParts = 240

// Options of a run.
type Options struct {
	// Seed of all random numbers; it is the scenario's where Seeded is not set.
	Seed   uint64
	Seeded bool
	// Client is whose decisions and events are written, empty for the only client that
	// has a policy.
	Client string
	// Log takes the decisions of the client as eval prints them, Events the events of
	// the client as eval reads them. nil for none.
	Log, Events io.Writer
	// Parts is how many parts of the duration the timeline has, 0 for DefaultParts.
	Parts int
	// Sample is how many events of each client's policy Result.Samples has of each
	// part of the timeline, 0 for no samples.
	Sample int
	// Progress is called from time to time with the part of the duration that is over.
	// nil for none.
	Progress func(part float64)
	// Observe is called with everything that happens, in its order. The event is valid
	// during the call. nil for none, which costs nothing.
	Observe func(*Event)
}

// Run simulates a scenario. The error is a LogError, a StillError, an error of
// scenario.Check, or an error of a writer.
func Run(s *scenario.Scenario, o Options) (*Result, error) {
	run, err := Start(s, o)
	if err != nil {
		return nil, err
	}
	const often = 1 << 16
	for !run.Advance(often) {
		if o.Progress != nil {
			o.Progress(run.Part())
		}
	}
	return run.Result()
}

// Simulation is a run that advances a number of events at a time, for callers that show
// its progress between them or end it early. Run is Start, Advance until the end, and
// Result.
type Simulation struct{ sim *simulation }

// Start prepares the simulation of a scenario. The error is a LogError, or an error of
// scenario.Check. Progress of the
// options is not called.
func Start(s *scenario.Scenario, o Options) (*Simulation, error) {
	sim, err := newSimulation(s, o)
	if err != nil {
		return nil, err
	}
	return &Simulation{sim}, nil
}

// Advance simulates at most so many events. It reports whether the scenario is over.
func (s *Simulation) Advance(events int) bool { return s.sim.advance(events) }

// Part is the part of the duration that is over, from 0 to 1.
func (s *Simulation) Part() float64 { return float64(s.sim.now) / float64(s.sim.end) }

// Result returns what the run has shown, once it is over. The error is a StillError, or
// an error of a writer of the options.
func (s *Simulation) Result() (*Result, error) {
	if s.sim.still > maxStill {
		return nil, &StillError{At: s.sim.now}
	}
	if s.sim.log != nil {
		if err := s.sim.log.close(); err != nil {
			return nil, err
		}
	}
	return s.sim.result(), nil
}

// maxStill is the most events at one mark: several for each of MaxUsers.
const maxStill = 5_000_000

// StillError says that a scenario goes on without end at one mark.
type StillError struct{ At clock.Mark }

// Error implements error.
func (e *StillError) Error() string {
	return "found more than " + strconv.Itoa(maxStill) + " events at " + e.At.String() +
		", where time stands still; allowed: users who think, or repeat, after more than 0s, as their calls may be refused or dropped at once"
}

// LogError says that there is no client whose decisions could be written.
type LogError struct {
	// Client that was asked for, empty for the only one.
	Client string
	// Clients that have a policy.
	Clients []string
}

// Error implements error.
func (e *LogError) Error() string {
	allowed := "; allowed: "
	for i, name := range e.Clients {
		if i > 0 {
			allowed += ", "
		}
		allowed += name
	}
	switch {
	case len(e.Clients) == 0:
		return "client: no client of the scenario has a policy, so that there are no decisions"
	case e.Client == "":
		return "client: several clients have a policy" + allowed
	}
	return "client: found " + e.Client + allowed
}

type simulation struct {
	scenario   *scenario.Scenario
	live       *Live // nil for a run of its own
	seed       uint64
	now        clock.Mark
	begin, end clock.Mark // of what is counted
	over       bool
	queue      queue
	samples    []Sample
	clients    []*client
	services   []*service
	visited    map[int][]float64 // of visits, by services
	processes  []*process
	log        *log
	timeline   *Timeline
	part       int // of the timeline
	partEnds   clock.Mark
	still      int // events since time has passed
	observe    func(*Event)
	calls      pool[call]
	jobs       pool[job]
}

// pool keeps memory that is used again.
type pool[T any] struct{ free []*T }

func (p *pool[T]) take() *T {
	if n := len(p.free); n > 0 {
		one := p.free[n-1]
		p.free = p.free[:n-1]
		return one
	}
	return new(T)
}

func (p *pool[T]) give(one *T) { p.free = append(p.free, one) }

func newSimulation(s *scenario.Scenario, o Options) (*simulation, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	sim := prepare(s, o, nil)
	if o.Log != nil || o.Events != nil {
		if err := sim.openLog(o); err != nil {
			return nil, err
		}
	}
	return sim, nil
}

// prepare returns a simulation at its begin. Live is nil where the calls of clients are
// simulated, too.
func prepare(s *scenario.Scenario, o Options, live *Live) *simulation {
	sim := &simulation{
		scenario: s, live: live, seed: s.Seed, begin: clock.Mark(s.Warmup), end: clock.Mark(s.Duration), observe: o.Observe,
		visited: map[int][]float64{},
	}
	if o.Seeded {
		sim.seed = o.Seed
	}
	parts := o.Parts
	if parts <= 0 {
		parts = DefaultParts
	}
	sim.timeline = newTimeline(s, parts)
	sim.partEnds = clock.Mark(sim.timeline.Width)
	for i := range s.Services {
		sim.services = append(sim.services, newService(sim, &s.Services[i], i))
	}
	for i := range s.Clients {
		sim.clients = append(sim.clients, newClient(sim, &s.Clients[i], i))
	}
	// The processes of services come behind the processes of clients: their seeds follow.
	for _, service := range sim.services {
		service.connect()
	}
	for i, c := range sim.clients {
		if o.Sample > 0 && c.process.driver != nil {
			c.process.sampler = &sampler{client: i, most: o.Sample, part: -1}
		}
	}
	return sim
}

func (s *simulation) openLog(o Options) error {
	i, err := PolicyClient(s.scenario, o.Client)
	if err != nil {
		return err
	}
	s.log = newLog(o.Log, o.Events)
	s.clients[i].process.log = s.log
	return nil
}

// PolicyClient returns the index of a client that has a policy: the client of a name, or the
// only one where the name is empty. The error is a LogError.
func PolicyClient(s *scenario.Scenario, name string) (int, error) {
	wrong := &LogError{Client: name}
	found := -1
	for i := range s.Clients {
		c := &s.Clients[i]
		if c.Policy == nil {
			continue
		}
		wrong.Clients = append(wrong.Clients, c.Name)
		if name == c.Name || name == "" && len(wrong.Clients) == 1 {
			found = i
		}
	}
	if found < 0 || name == "" && len(wrong.Clients) > 1 {
		return 0, wrong
	}
	return found, nil
}

// PolicySeed returns the seed of the policy of the client whose decisions the options
// name, with which eval prints the same log; the scenario's where there is none.
func PolicySeed(s *scenario.Scenario, o Options) uint64 {
	seed := s.Seed
	if o.Seeded {
		seed = o.Seed
	}
	i, err := PolicyClient(s, o.Client)
	if err != nil {
		return seed
	}
	return seed + seedStep*uint64(i)
}

// at plans an event.
func (s *simulation) at(e *event, mark clock.Mark, c class) { s.queue.put(e, mark, c) }

// counts reports whether what happens now is counted.
func (s *simulation) counts() bool { return s.now >= s.begin }

// advance simulates at most so many events and reports whether the scenario is over.
func (s *simulation) advance(events int) bool {
	for ; len(s.queue.list) > 0 && s.queue.list[0].at < s.end; events-- {
		if s.still > maxStill {
			s.over = true
			return true
		}
		if events <= 0 {
			return false
		}
		s.step()
	}
	if !s.over {
		s.finish()
	}
	return true
}

// step lets the next event happen.
func (s *simulation) step() {
	first := s.queue.list[0]
	s.still++
	s.pass(first.at)
	s.queue.remove(first.event)
	first.event.fire(first.event)
}

// pass lets time pass until a mark.
func (s *simulation) pass(to clock.Mark) {
	if to > s.now {
		s.still = 0
	}
	s.now = to
	for s.now >= s.partEnds {
		s.turn()
	}
}

// finish lets time pass until the end of the scenario.
func (s *simulation) finish() {
	for s.part < s.timeline.Parts-1 {
		s.turn()
	}
	s.now, s.over = s.end, true
	for _, p := range s.processes {
		p.finish()
	}
	s.measure()
}

// measure ends a part of the timeline.
func (s *simulation) measure() {
	for _, service := range s.services {
		service.sample()
	}
	for _, p := range s.processes {
		p.measure()
	}
}

// turn begins the next part of the timeline.
func (s *simulation) turn() {
	now := s.now
	s.now = s.partEnds
	s.measure()
	s.now = now
	s.part++
	s.partEnds += clock.Mark(s.timeline.Width)
}
