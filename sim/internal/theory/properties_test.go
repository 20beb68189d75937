package theory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/randomscenario"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/random"
	"github.com/sluice-go/sluice/sim/report/lanes"
	"github.com/sluice-go/sluice/sim/scenario"
)

// played is a run with all its outputs; log and events are of a client with a policy,
// where there is one.
type played struct {
	scenario    *sim.Scenario
	result      *sim.Result
	client      int // -1 without a policy
	log, events []byte
}

func play(s *sim.Scenario, client int, seed uint64) (*played, error) {
	p := &played{scenario: s, client: client}
	o := sim.Options{Seed: seed, Seeded: true}
	var log, events bytes.Buffer
	if client >= 0 {
		o.Client, o.Log, o.Events = s.Clients[client].Name, &log, &events
	}
	var err error
	p.result, err = sim.Run(s, o)
	p.log, p.events = log.Bytes(), events.Bytes()
	return p, err
}

// first returns the first client from i on that has a policy, -1 for none.
func first(s *sim.Scenario, i int) int {
	for ; i < len(s.Clients); i++ {
		if s.Clients[i].Policy != nil {
			return i
		}
	}
	return -1
}

// outputs are the bytes of a run.
func (p *played) outputs() []byte {
	return slices.Concat(p.result.AppendJSON(nil), lanes.DataOf(p.result).AppendJSON(nil), p.log, p.events)
}

// property returns what is wrong with a scenario, nil for nothing, and errSkipped for a
// scenario to which it does not apply.
type property func(s *sim.Scenario) error

var errSkipped = errors.New("nothing to check")

// holds checks a property on random scenarios, of which it must apply to a quarter. A
// scenario on which it fails is shrunk and printed.
func holds(t *testing.T, cases int, p property) {
	t.Helper()
	seed := testenv.Seed()
	r := rand.New(rand.NewPCG(seed, 27))
	applied := 0
	cases = testenv.Cases(cases)
	for range cases {
		src := randomscenario.JSON(r, valid)
		switch err := p(parse(t, src)); {
		case err == nil:
			applied++
		case !errors.Is(err, errSkipped):
			small := shrunk(src, p)
			t.Fatalf("SLUICE_SEED=%d: %v\non %s", seed, p(parse(t, small)), small)
		}
	}
	assert.GreaterOrEqual(t, 4*applied, cases, "SLUICE_SEED=%d: the property applies to %d of %d scenarios", seed, applied, cases)
}

func valid(steps string) bool {
	_, err := policy.Parse("policy.json", []byte(`{"version":1,"policies":{"p":{"steps":`+steps+`}}}`))
	return err == nil
}

// shrunk removes settings and items of a scenario as long as the property fails on what
// is left.
func shrunk(src string, p property) string {
	fails := func(src string) bool {
		s, err := scenario.ParseJSON("small.json", []byte(src), nil)
		if err != nil {
			return false
		}
		err = p(s)
		return err != nil && !errors.Is(err, errSkipped)
	}
	for again := true; again; {
		again = false
		var root any
		if err := json.Unmarshal([]byte(src), &root); err != nil {
			return src
		}
		for _, without := range smaller(root) {
			text, err := json.Marshal(without)
			if err == nil && len(text) < len(src) && fails(string(text)) {
				src, again = string(text), true
				break
			}
		}
	}
	return src
}

// smaller returns a document without each of its entries and items, the outer ones
// first.
func smaller(node any) (all []any) {
	switch node := node.(type) {
	case map[string]any:
		for _, key := range keys(node) {
			rest := copied(node)
			delete(rest, key)
			all = append(all, rest)
		}
		for _, key := range keys(node) {
			for _, value := range smaller(node[key]) {
				rest := copied(node)
				rest[key] = value
				all = append(all, rest)
			}
		}
	case []any:
		for i := range node {
			all = append(all, slices.Delete(slices.Clone(node), i, i+1))
		}
		for i := range node {
			for _, value := range smaller(node[i]) {
				rest := slices.Clone(node)
				rest[i] = value
				all = append(all, rest)
			}
		}
	}
	return all
}

func keys(m map[string]any) []string {
	list := make([]string, 0, len(m))
	for key := range m {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

func copied(m map[string]any) map[string]any {
	rest := make(map[string]any, len(m))
	for key, value := range m {
		rest[key] = value
	}
	return rest
}

// caught checks that a property does not hold for some random scenario: its check finds
// the mutant in it.
func caught(t *testing.T, cases int, p property) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 27))
	for range cases {
		if err := p(parse(t, randomscenario.JSON(r, valid))); err != nil && !errors.Is(err, errSkipped) {
			return
		}
	}
	t.Errorf("the mutant passes in %d scenarios", cases)
}

// Equal seeds give equal bytes of every output, and another seed gives other ones.
func TestEqualSeedsGiveEqualBytes(t *testing.T) {
	equal := func(second uint64) property {
		return func(s *sim.Scenario) error {
			a, err := play(s, first(s, 0), 5)
			if err != nil {
				return err
			}
			b, err := play(s, first(s, 0), second)
			if err != nil {
				return err
			}
			a.result.Seed, b.result.Seed = 0, 0
			if !bytes.Equal(a.outputs(), b.outputs()) {
				return errors.New("the outputs differ")
			}
			return nil
		}
	}
	holds(t, 100, equal(5))
	r := rand.New(rand.NewPCG(testenv.Seed(), 28))
	different := 0
	for range 50 {
		if equal(6)(parse(t, randomscenario.JSON(r, valid))) != nil {
			different++
		}
	}
	assert.Greater(t, different, 40, "SLUICE_SEED=%d: scenarios of 50 that another seed changes", testenv.Seed())
}

// eval decides the events of each client as the run did.
func TestEvalDecidesAsTheRun(t *testing.T) {
	decides := func(wrong uint64) property {
		return func(s *sim.Scenario) error {
			checked := errSkipped
			for i := first(s, 0); i >= 0; i = first(s, i+1) {
				p, err := play(s, i, 9)
				if err != nil {
					return err
				}
				checked = nil
				seed := sim.PolicySeed(s, sim.Options{Seed: 9, Seeded: true, Client: s.Clients[i].Name}) + wrong
				var decided bytes.Buffer
				if err := eval.Run(s.Clients[i].Policy.Policy, eval.Options{Seed: seed}, bytes.NewReader(p.events), &decided); err != nil {
					return err
				}
				if !bytes.Equal(p.log, decided.Bytes()) {
					return fmt.Errorf("client %s: %s", s.Clients[i].Name, difference(p.log, decided.Bytes()))
				}
			}
			return checked
		}
	}
	holds(t, 150, decides(0))
	caught(t, 100, decides(1))
}

// difference names the first line in which two logs differ.
func difference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %s, eval: %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, eval: %d", len(x), len(y))
}

// Every call has one end: what the result counts is what the decisions say, counted
// again. A call of a policy without a line that ends it is unfinished.
func TestCallsAreConserved(t *testing.T) {
	conserved := func(mutate func(*sim.ClientResult)) property {
		return func(s *sim.Scenario) error {
			s.Warmup = 0
			i := first(s, 0)
			p, err := play(s, i, 3)
			if err != nil {
				return err
			}
			for k := range p.result.Clients {
				c := &p.result.Clients[k]
				mutate(c)
				refusals := uint64(0)
				for _, one := range c.Refusals {
					refusals += one.Calls
				}
				if c.Calls != c.OK+c.Failed+c.Refused+c.Unfinished || c.Unfinished > c.Calls || refusals != c.Refused || c.Repeats > c.Calls {
					return fmt.Errorf("client %s: %+v", c.Name, c)
				}
			}
			if i < 0 {
				return errSkipped
			}
			c, counted := p.result.Clients[i], count(p)
			if got := (counts{c.Calls, c.OK, c.Failed, c.Refused, c.Attempts}); got != counted {
				return fmt.Errorf("client %s: %+v, its log: %+v", c.Name, got, counted)
			}
			return nil
		}
	}
	holds(t, 150, conserved(func(*sim.ClientResult) {}))
	caught(t, 50, conserved(func(c *sim.ClientResult) { c.Unfinished++ }))
	caught(t, 50, conserved(func(c *sim.ClientResult) { c.Attempts++ }))
	caught(t, 50, conserved(func(c *sim.ClientResult) { c.OK, c.Failed = c.Failed, c.OK }))
}

type counts struct{ calls, ok, failed, refused, attempts uint64 }

// count counts the decisions of a log.
func count(p *played) (n counts) {
	n.calls = uint64(bytes.Count(p.events, []byte(`"op":"call"`)))
	for line := range bytes.Lines(p.log) {
		var d struct {
			Decision, Outcome string
			Shadow            bool
		}
		if err := json.Unmarshal(line, &d); err != nil || d.Shadow {
			continue
		}
		switch {
		case d.Decision == "admit":
			n.attempts++
		case d.Decision == "reject", d.Decision == "expire":
			n.refused++
		case d.Decision == "end" && d.Outcome == "ok":
			n.ok++
		case d.Decision == "end":
			n.failed++
		}
	}
	return n
}

// drained lets the arrivals of a scenario end, and its time go on, so that the services
// have nothing left to do, and removes what lets a service do other work than the work of
// its own queue.
func drained(s *sim.Scenario) error {
	s.Warmup, s.Duration = 0, 400*time.Second
	for i := range s.Clients {
		a := &s.Clients[i].Arrivals
		if a.Users > 0 {
			return errSkipped
		}
		for k := range a.Phases {
			a.Phases[k].For = min(a.Phases[k].For, 5*time.Second)
		}
	}
	for i := range s.Services {
		one := &s.Services[i]
		one.Policy, one.Abandon = nil, false
		for k := range one.Calls {
			one.Calls[k].Policy = nil
		}
	}
	return nil
}

// A service loses no request: in the end each has been served or dropped. And Little's
// law holds exactly: the sum over time of the requests there is the sum over the
// requests of the time that they were there.
//
// Source: Little, A proof for the queuing formula L = lambda W, 1961.
func TestLittlesLaw(t *testing.T) {
	law := func(mutate func(*sim.ServiceResult)) property {
		return func(s *sim.Scenario) error {
			if err := drained(s); err != nil {
				return err
			}
			r, err := sim.Run(s, sim.Options{})
			if err != nil {
				return err
			}
			for i := range r.Services {
				one, line := &r.Services[i], &r.Timeline.Services[i]
				mutate(one)
				if line.InSystem[len(line.InSystem)-1] > 0 {
					return errSkipped
				}
				if one.Arrived != one.Served+one.Dropped {
					return fmt.Errorf("service %s: %d arrived, %d served, %d dropped", one.Name, one.Arrived, one.Served, one.Dropped)
				}
				busy := 0.0
				for _, b := range line.Busy {
					busy += b * float64(r.Timeline.Width)
				}
				over, sum := one.InSystem*float64(r.Counted), float64(one.Served)*one.Wait.Mean+busy
				if math.Abs(over-sum) > 1e-6*sum+1e3 {
					return fmt.Errorf("service %s: %v ns over time, %v over requests", one.Name, over, sum)
				}
			}
			return nil
		}
	}
	holds(t, 150, law(func(*sim.ServiceResult) {}))
	caught(t, 50, law(func(s *sim.ServiceResult) { s.Served++ }))
	caught(t, 50, law(func(s *sim.ServiceResult) { s.InSystem *= 1.01 }))
}

// A client and a service that have nothing to do with the others change nothing for
// them: every random stream has its own name.
func TestUnrelatedClientChangesNothing(t *testing.T) {
	unrelated := func(to func(services int) int) property {
		return func(s *sim.Scenario) error {
			// The seeds of the policies of services follow the number of clients.
			for i := range s.Services {
				s.Services[i].Policy = nil
				for k := range s.Services[i].Calls {
					s.Services[i].Calls[k].Policy = nil
				}
			}
			before, err := play(s, first(s, 0), 4)
			if err != nil {
				return err
			}
			more := *s
			more.Services = append(slices.Clone(s.Services), scenario.Service{
				Name: "unrelated", Servers: 3, Queue: -1, Time: scenario.Dist{Kind: scenario.Exponential, A: 1e7},
			})
			more.Clients = append(slices.Clone(s.Clients), scenario.Client{
				Name: "unrelated", To: to(len(s.Services)), Cost: scenario.ConstantOf(1), Deadline: -1, Policy: anyPolicy(s),
				Key: scenario.Values{Count: 3, Table: random.NewTable([]float64{1, 2, 3})},
				Arrivals: scenario.Arrivals{Phases: []scenario.Phase{{
					For: s.Duration, Kind: scenario.Poisson, Count: 100, Period: time.Second,
				}}},
			})
			after, err := play(&more, first(s, 0), 4)
			if err != nil {
				return err
			}
			for i := range before.result.Clients {
				if a, b := fmt.Sprint(before.result.Clients[i]), fmt.Sprint(after.result.Clients[i]); a != b {
					return fmt.Errorf("client: %s, with another one %s", a, b)
				}
			}
			for i := range before.result.Services {
				if a, b := fmt.Sprint(before.result.Services[i]), fmt.Sprint(after.result.Services[i]); a != b {
					return fmt.Errorf("service: %s, with another client %s", a, b)
				}
			}
			if !bytes.Equal(before.log, after.log) || !bytes.Equal(before.events, after.events) {
				return errors.New("the log differs")
			}
			return nil
		}
	}
	holds(t, 100, unrelated(func(services int) int { return services }))
	caught(t, 20, unrelated(func(int) int { return 0 }))
}

func anyPolicy(s *sim.Scenario) *document.Policy { return &s.Policies[0] }

// A property that fails for one setting shrinks to a scenario with little else.
func TestShrinking(t *testing.T) {
	patient := func(s *sim.Scenario) error {
		for i := range s.Clients {
			if s.Clients[i].Patience.Kind != scenario.None {
				return errors.New("a client has patience")
			}
		}
		return nil
	}
	r := rand.New(rand.NewPCG(1, 29))
	for {
		src := randomscenario.JSON(r, valid)
		if patient(parse(t, src)) == nil {
			continue
		}
		small := shrunk(src, patient)
		assert.Less(t, len(small), 350, small)
		assert.Equal(t, 1, strings.Count(small, `"patience"`))
		assert.Equal(t, 1, strings.Count(small, `"arrivals"`))
		require.Error(t, patient(parse(t, small)))
		return
	}
}
