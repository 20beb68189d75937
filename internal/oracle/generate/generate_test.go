package generate

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/reducer"
)

// cases is how many cases the tests draw.
const cases = 4000

func generated(seed uint64) (pipeline.Policy, []oracle.Event) {
	return GenerateFor(rand.New(rand.NewPCG(seed, 0)), seed)
}

// decided is what these tests read of a decision.
type decided struct {
	ID                        json.RawMessage
	Decision, Reason, Outcome string
	Step                      string
	Attempt, Won              int
	Shadow                    bool
}

func read(line string) decided {
	var l decided
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		panic(line)
	}
	return l
}

// kindOf returns the decision, its reason, and whether a later attempt than the
// first won or the decision is a shadow's.
func kindOf(line string) string {
	l := read(line)
	kind := l.Decision
	if l.Reason != "" {
		kind += " " + l.Reason
	}
	if l.Won > 1 {
		kind += " won"
	}
	if l.Shadow {
		kind += " shadow"
	}
	return kind
}

// TestGenerateShowsAll checks that the cases between them show every decision
// with every reason that there is.
func TestGenerateShowsAll(t *testing.T) {
	var missing []string
	for _, kind := range strings.Split(`admit,wait,wait shadow,lapse,lapse shadow,stale,configured,timeout,timeout shadow,
		reject rate,reject capacity,reject open,reject probes,reject full,reject wait,reject deadline,reject missing,
		reject rate shadow,reject capacity shadow,reject open shadow,reject probes shadow,reject full shadow,
		reject wait shadow,reject deadline shadow,reject missing shadow,
		expire wait,expire full,expire capacity,expire wait shadow,expire full shadow,expire capacity shadow,
		hedge,hedge shadow,failed fail,failed throttle,failed timeout,cancel,
		drop rate,drop capacity,drop open,drop probes,drop full,drop wait,drop deadline,
		retry rate,retry wait,retry full,retry deadline,retry open,retry probes,
		retry fail,retry throttle,retry timeout,retry fail shadow,retry throttle shadow,retry timeout shadow,
		end,end attempts,end pushback,end deadline,end elapsed,end open,end budget,end won`, ",") {
		missing = append(missing, strings.TrimSpace(kind))
	}
	// Some are as rare as one in several thousand cases.
	for seed := uint64(0); len(missing) > 0 && seed < 10*cases; seed++ {
		p, events := generated(seed)
		lines, err := oracle.Run(p, seed, events)
		if err != nil {
			t.Fatal(seed, err)
		}
		for _, l := range lines {
			kind := kindOf(l)
			missing = slices.DeleteFunc(missing, func(one string) bool { return one == kind })
		}
	}
	if len(missing) > 0 {
		t.Errorf("never seen: %q", missing)
	}
}

// TestGenerateRepeats checks that equal seeds give equal cases.
func TestGenerateRepeats(t *testing.T) {
	for seed := range uint64(50) {
		p, events := generated(seed)
		q, again := generated(seed)
		if !same(p, q) || string(EventsJSON(events)) != string(EventsJSON(again)) {
			t.Fatal(seed)
		}
	}
}

// TestGenerateIsValid checks the bounds that the constructors of the core have.
func TestGenerateIsValid(t *testing.T) {
	check := func(seed uint64, p pipeline.Policy) {
		names, hedges := map[string]bool{}, 0
		for i, s := range p.Steps {
			keyed := s.Keys > 0 || s.WhenFull != pipeline.FullEvict || s.Missing != pipeline.MissingShare
			if s.Name != "" && names[s.Name] || wrong(s.Config) || keyed && len(s.Per) == 0 {
				t.Errorf("seed %d: %+v", seed, s)
			}
			names[s.Name] = true
			if s.Kind() == mechanism.Hedge {
				hedges++
			}
			if s.Kind() == mechanism.Retry && hedges > 0 || hedges > 1 || i >= pipeline.MaxSteps {
				t.Errorf("seed %d: %s", seed, PolicyJSON(p))
			}
		}
	}
	for seed := range uint64(cases) {
		p, events := generated(seed)
		check(seed, p)
		for _, e := range events {
			if e.Policy != nil {
				check(seed, *e.Policy)
			}
		}
	}
}

// wrong reports whether the settings are beyond the bounds.
func wrong(config mechanism.Config) bool {
	switch c := config.(type) {
	case timeout.Config:
		return c.After <= 0
	case limiter.Config:
		return (c.Wait == 0) != (c.Queue == 0) || c.Period < time.Duration(c.Count) || c.Count < 1 ||
			c.Wait == 0 && c.Order != limiter.Oldest || (c.Algorithm == limiter.TokenBucket && c.WarmUp.Over == 0) && c.Burst == 0 || c.Algorithm != limiter.TokenBucket && c.Burst > 0
	case breaker.Config:
		rates := c.Window != breaker.Consecutive
		return (c.Minimum > 0) != rates || (c.FailureRate.Positive()) != rates ||
			c.Window == breaker.Time && c.Span < time.Duration(c.Count) ||
			c.Window == breaker.Calls && c.Minimum > c.Count || wrongDelay(c.Open) || c.HalfOpenMax < 0
	case bulkhead.Config:
		return c.Queue == 0 && (c.Wait > 0 || c.Order != limiter.Oldest) || c.Lease < 0
	case retry.Config:
		return c.Budgeted && wrongBudget(c.Budget) || c.Backoff.Kind != backoff.None && wrongDelay(c.Backoff)
	case hedge.Config:
		set := 0
		for _, one := range []bool{c.After > 0, c.Percentile.Positive(), c.Parallel} {
			if one {
				set++
			}
		}
		return set != 1 || c.Max < 1 || c.Max > hedge.MaxHedges || c.Budgeted && wrongBudget(c.Budget) ||
			c.Percentile.Millionths() > reducer.Whole || (c.Percentile.Positive()) != (c.Samples > 0) ||
			(c.Percentile.Positive()) != (c.Minimum > 0) || c.Minimum > c.Samples
	}
	_, err := mechanisms.Compile(config)
	return err != nil
}

// wrongBudget reports whether a bucket has no time, or a nanosecond two retries.
func wrongBudget(c budget.Config) bool {
	if c.Rule != budget.Windowed {
		_, err := budget.New(c)
		return err != nil
	}
	return c.Window < 10 || c.MinimumPeriod < time.Duration(c.MinimumCount)
}

// wrongDelay reports whether there is no delay, or one above its maximum.
func wrongDelay(c backoff.Config) bool {
	if c.Kind == backoff.Listed {
		return c.Delays.Len() == 0 || c.Base != 0 || c.Max != 0
	}
	return c.Base <= 0 || c.Max != 0 && c.Max < c.Base
}

// TestGrids checks that a case in three or so has every duration and mark on its
// grid, and some have few.
func TestGrids(t *testing.T) {
	on, off := 0, 0
	for seed := range uint64(cases) {
		_, events := generated(seed)
		least, marks := int64(0), map[bool]int{}
		for _, e := range events {
			least = gcd(least, e.At)
		}
		for _, e := range events {
			marks[e.At%int64(10*time.Nanosecond) == 0]++
		}
		if least >= int64(10*time.Nanosecond) {
			on++
		}
		if marks[false] > 2*marks[true] {
			off++
		}
	}
	if on < cases/4 || off < cases/20 {
		t.Errorf("%d on a grid, %d off it", on, off)
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// TestJSON checks what is printed of a small case.
func TestJSON(t *testing.T) {
	p := pipeline.Policy{Steps: []pipeline.Step{
		{Name: "x", Shadow: true, Per: []string{"key"}, Missing: pipeline.MissingSkip, Config: limiter.Config{
			Algorithm: limiter.FixedWindow, Count: 3, Period: 2 * time.Second,
		}},
	}}
	want := `{"policies":{"p":{"steps":[{"limit":{"algorithm":"fixed-window","missing":"skip","name":"x","per":"key","rate":"3/2s","shadow":true,"when_full":"evict"}}]}},"version":1}`
	if got := string(PolicyJSON(p)); got != want {
		t.Errorf("got %s", got)
	}
	p = pipeline.Policy{Steps: []pipeline.Step{
		{Config: limiter.Config{Algorithm: limiter.LeakyBucket, Count: 3, Period: 2 * time.Second}},
		{Keys: 7, WhenFull: pipeline.FullShare, Per: []string{"key", "header:x"}, Config: hedge.Config{
			Percentile: reducer.Millionths(999_000), Max: 2, Samples: 5, Minimum: 4, Budgeted: true,
			Budget: budget.Config{Ratio: reducer.Percent(50), MinimumCount: 1, MinimumPeriod: time.Second, Window: time.Minute},
		}},
	}}
	want = `{"policies":{"p":{"steps":[{"limit":{"algorithm":"leaky-bucket","rate":"3/2s"}},{"hedge":{"after":"p99.9",` +
		`"budget":{"minimum":"1/1s","ratio":"50%","window":"1m0s"},"keys":7,"max":2,"minimum":4,"missing":"share",` +
		`"per":["key","header:x"],"samples":5,"when_full":"share"}}]}},"version":1}`
	if got := string(PolicyJSON(p)); got != want {
		t.Errorf("got %s", got)
	}
	events := []oracle.Event{
		{At: 5, Op: "call", ID: `"a"`, Cost: 0, Deadline: pointer(7)},
		{At: 1_500_000_000, Op: "done", ID: "2", Attempt: 3, Outcome: "ok", RetryAfter: pointer(-1)},
	}
	want = `{"at":"5ns","cost":0,"deadline":"7ns","id":"a","op":"call"}` + "\n" +
		`{"at":"1.5s","attempt":3,"id":2,"op":"done","outcome":"ok","retry_after":"-1ns"}` + "\n"
	if got := string(EventsJSON(events)); got != want {
		t.Errorf("got %s", got)
	}
}

// TestReadEvents checks that the log that is read is the one that was printed.
func TestReadEvents(t *testing.T) {
	for seed := range uint64(200) {
		_, events := generated(seed)
		var policies []*pipeline.Policy
		for i, e := range events {
			if e.Policy != nil {
				policies = append(policies, events[i].Policy)
			}
			if e.Op != "call" {
				events[i].Cost = 1 // which no line says
			}
		}
		again, err := ReadEvents(EventsJSON(events), func([]byte) (pipeline.Policy, error) {
			p := *policies[0]
			policies = policies[1:]
			return p, nil
		})
		if err != nil || !reflect.DeepEqual(events, again) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, EventsJSON(events), EventsJSON(again))
		}
	}
	for _, line := range []string{`{`, `{"at":"1"}`, `{"at":"1s","deadline":"1"}`, `{"at":"1s","retry_after":"1"}`} {
		if _, err := ReadEvents([]byte(line), nil); err == nil {
			t.Errorf("%s was read", line)
		}
	}
}

// TestShrink shrinks cases that show a decision to few events and steps.
func TestShrink(t *testing.T) {
	for kind, most := range map[string][2]int{
		"reject full": {1, 3}, "end budget": {2, 6}, "retry fail": {1, 2}, "drop full": {2, 3}, "reject missing": {1, 1}, "end won": {2, 3},
	} {
		t.Run(kind, func(t *testing.T) {
			shows := func(p pipeline.Policy, events []oracle.Event) bool {
				lines, _ := oracle.Run(p, 0, events)
				return slices.ContainsFunc(lines, func(l string) bool { return kindOf(l) == kind })
			}
			for seed := uint64(0); ; seed++ {
				p, events := Generate(rand.New(rand.NewPCG(seed, 0)))
				if !shows(p, events) {
					continue
				}
				p, events = Shrink(0, p, events, shows)
				if !shows(p, events) || len(p.Steps) > most[0] || len(events) > most[1] {
					t.Errorf("%s\n%s", PolicyJSON(p), EventsJSON(events))
				}
				break
			}
		})
	}
}
