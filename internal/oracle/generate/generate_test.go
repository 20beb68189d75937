package generate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/oracle"
)

// cases is how many cases the tests draw.
const cases = 4000

func generated(seed uint64) (pipeline.Policy, []oracle.Event) {
	return GenerateFor(rand.New(rand.NewPCG(seed, 0)), seed)
}

// kindOf returns the decision, its reason and whether it is a shadow's.
func kindOf(line string) string {
	var l struct {
		Decision, Reason string
		Shadow           bool
	}
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		panic(line)
	}
	kind := l.Decision
	if l.Reason != "" {
		kind += " " + l.Reason
	}
	if l.Shadow {
		kind += " shadow"
	}
	return kind
}

// TestGenerateShowsAll checks that the cases between them show every decision
// with every reason that there is.
func TestGenerateShowsAll(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(cases) {
		p, events := generated(seed)
		lines, err := oracle.Run(p, seed, events)
		if err != nil {
			t.Fatal(seed, err)
		}
		for _, l := range lines {
			seen[kindOf(l)]++
		}
	}
	all := `admit,wait,wait shadow,lapse,lapse shadow,stale,configured,timeout,timeout shadow,
		reject rate,reject capacity,reject open,reject probes,reject full,reject wait,
		reject rate shadow,reject capacity shadow,reject open shadow,reject probes shadow,reject full shadow,reject wait shadow,
		expire wait,expire full,expire capacity,expire wait shadow,expire full shadow,expire capacity shadow,
		retry fail,retry throttle,retry timeout,retry fail shadow,retry throttle shadow,retry timeout shadow,
		end,end attempts,end pushback,end deadline,end open,end budget`
	for _, kind := range strings.Split(all, ",") {
		if kind = strings.TrimSpace(kind); seen[kind] == 0 {
			t.Errorf("%q was seen %d times", kind, seen[kind])
		}
	}
	t.Log(seen)
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
		names := map[string]bool{}
		for _, s := range p.Steps {
			l, b, h := pipeline.ConfigOf[limiter.Config](s), pipeline.ConfigOf[breaker.Config](s), pipeline.ConfigOf[bulkhead.Config](s)
			wrong := s.Name != "" && names[s.Name]
			switch s.Kind() {
			case pipeline.Timeout:
				wrong = wrong || pipeline.ConfigOf[timeout.Config](s).After <= 0
			case pipeline.Limit:
				wrong = wrong || (l.Wait == 0) != (l.Queue == 0) || l.Period < time.Duration(l.Count) ||
					l.Wait == 0 && l.Order != limiter.Oldest || (l.Burst == 0) == (l.Algorithm == limiter.TokenBucket)
			case pipeline.Breaker:
				rates := b.Window != breaker.Consecutive
				wrong = wrong || (b.Minimum > 0) != rates || (b.FailureRate > 0) != rates ||
					b.Window == breaker.Time && b.Span < time.Duration(b.Count) ||
					b.Window == breaker.Calls && b.Minimum > b.Count || b.Open.Base <= 0 || b.HalfOpenMax < 0
			case pipeline.Bulkhead:
				wrong = wrong || h.Queue == 0 && (h.Wait > 0 || h.Order != limiter.Oldest) || h.Lease < 0
			case pipeline.Retry:
				wrong = wrong || pipeline.ConfigOf[retry.Config](s).Budgeted && pipeline.ConfigOf[retry.Config](s).Budget.Window < 10
			}
			if names[s.Name] = true; wrong {
				t.Errorf("seed %d: %+v", seed, s)
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

// TestJSON checks what is printed of a small case.
func TestJSON(t *testing.T) {
	p := pipeline.Policy{Steps: []pipeline.Step{
		{Name: "x", Shadow: true, Per: []string{"key"}, Config: limiter.Config{
			Algorithm: limiter.FixedWindow, Count: 3, Period: 2 * time.Second,
		}},
	}}
	want := `{"policies":{"p":{"steps":[{"limit":{"algorithm":"fixed-window","name":"x","per":"key","rate":"3/2s","shadow":true}}]}},"version":1}`
	if got := string(PolicyJSON(p)); got != want {
		t.Errorf("got %s", got)
	}
	events := []oracle.Event{
		{At: 5, Op: "call", ID: `"a"`, Cost: 0, Deadline: pointer(7)},
		{At: 1_500_000_000, Op: "done", ID: "2", Outcome: "ok", RetryAfter: pointer(-1)},
	}
	want = `{"at":"5ns","cost":0,"deadline":"7ns","id":"a","op":"call"}` + "\n" +
		`{"at":"1.5s","id":2,"op":"done","outcome":"ok","retry_after":"-1ns"}` + "\n"
	if got := string(EventsJSON(events)); got != want {
		t.Errorf("got %s", got)
	}
	for n, text := range map[int64]string{1: "0.0001", 500_000: "50", 333_333: "33.3333", 1_000_000: "100"} {
		if got := decimal(n, 4); got != text {
			t.Errorf("%d: got %s", n, got)
		}
	}
}

// TestShrink shrinks cases that show a decision to few events and steps.
func TestShrink(t *testing.T) {
	for kind, most := range map[string][2]int{"reject full": {1, 3}, "end budget": {1, 6}, "retry fail": {1, 2}} {
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
