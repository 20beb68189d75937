package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

// randomLimit draws a limit on a grid of 10 ns.
func randomLimit(r *rand.Rand) limiter.Config {
	c := limiter.Config{
		Algorithm: limiter.Algorithm(r.IntN(5)),
		Count:     uint32(1 + r.IntN(5)), Period: time.Duration(5+r.IntN(40)) * 3,
	}
	if c.Algorithm == limiter.TokenBucket {
		c.Burst = uint32(1 + r.IntN(5))
	}
	if r.IntN(3) > 0 {
		c.Wait, c.Queue = time.Duration(1+r.IntN(150)), uint32(1+r.IntN(3))
		c.Order = limiter.Order(r.IntN(2))
	}
	return c
}

// randomCalls draws calls, some of which have a deadline and some of which are
// cancelled.
func randomCalls(r *rand.Rand, n int) []Event {
	var log []Event
	at := int64(0)
	for i := range n {
		at += int64(r.IntN(3) * r.IntN(30))
		e := Event{At: at, Op: "call", ID: fmt.Sprint(i), Cost: uint32(r.IntN(4))}
		if r.IntN(4) == 0 {
			left := int64(r.IntN(150))
			e.Deadline = &left
		}
		log = append(log, e)
		if r.IntN(5) == 0 {
			log = append(log, Event{At: at, Op: "cancel", ID: fmt.Sprint(r.IntN(i + 1))})
		}
	}
	return log
}

// decision is what these tests read of a line.
type decision struct {
	At         string
	ID         int
	Decision   string
	Reason     string
	RetryAfter *string `json:"retry_after"`
}

func decide(t *testing.T, cfg limiter.Config, log []Event) []decision {
	t.Helper()
	lines, err := Run(pipeline.Policy{Steps: []pipeline.Step{limitStep(cfg)}}, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	var all []decision
	for _, line := range lines {
		var d decision
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// TestRetryAfterIsTheLeast repeats every refused call after its retry delay, where it
// is not refused, and a nanosecond earlier, where it is refused.
func TestRetryAfterIsTheLeast(t *testing.T) {
	told := map[string]int{}
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfg := randomLimit(r)
		log := randomCalls(r, 12)
		for n, e := range log {
			if e.Op != "call" {
				continue
			}
			all := decide(t, cfg, log[:n+1])
			d := all[len(all)-1]
			if d.Decision != "reject" || d.RetryAfter == nil {
				continue
			}
			wait := nanoseconds(t, *d.RetryAfter)
			for early := int64(0); early <= 1; early++ {
				again := Event{At: e.At + wait - early, Op: "call", ID: "99", Cost: e.Cost, Deadline: e.Deadline}
				refused := false
				for _, d := range decide(t, cfg, append(log[:n+1:n+1], again)) {
					refused = refused || d.ID == 99 && d.Decision == "reject"
				}
				if refused != (early == 1) {
					t.Fatalf("seed %d: %+v: %+v has the retry delay %d", seed, cfg, e, wait)
				}
			}
			told[d.Reason]++
		}
	}
	for _, reason := range []string{"rate", "full", "wait", "deadline"} {
		if told[reason] < 50 {
			t.Errorf("only %d retry delays for %q", told[reason], reason)
		}
	}
}

// TestBounds checks that no window admits more than its bound: any for a token
// bucket, those from an admission for a fixed window, and by the formula, with
// windows that are cut again here, for a sliding counter without refunds; that
// none of a sliding log's does that ends at an admission, and that a leaky
// bucket's departures keep their distance.
func TestBounds(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		cfg := randomLimit(r)
		log := randomCalls(r, 20)
		log = append(log, Event{At: log[len(log)-1].At + 10_000, Op: "tick"})
		costs := map[int]int64{}
		for i, e := range log {
			if e.Op == "call" {
				var id int
				fmt.Sscan(e.ID, &id)
				costs[id] = int64(log[i].Cost)
			}
		}
		var marks, taken []int64
		for _, d := range decide(t, cfg, log) {
			if d.Decision == "admit" && costs[d.ID] > 0 {
				marks = append(marks, nanoseconds(t, d.At))
				taken = append(taken, costs[d.ID])
			}
		}
		ok := true
		switch cfg.Algorithm {
		case limiter.TokenBucket:
			ok = boundedBucket(cfg, marks, taken)
		case limiter.FixedWindow:
			ok = boundedWindow(cfg, marks, taken)
		case limiter.SlidingCounter:
			ok = boundedCounter(cfg, marks, taken)
		case limiter.SlidingLog:
			ok = boundedLog(cfg, marks, taken)
		case limiter.LeakyBucket:
			ok = spaced(cfg, marks, taken)
		default:
			t.Fatalf("algorithm %d", cfg.Algorithm)
		}
		if !ok {
			t.Fatalf("seed %d: %+v: %v %v", seed, cfg, marks, taken)
		}
	}
}

// boundedBucket: at most burst + W / interval in any window of length W.
func boundedBucket(cfg limiter.Config, marks, taken []int64) bool {
	for i := range marks {
		sum := int64(0)
		for j := i; j < len(marks); j++ {
			if sum += taken[j]; sum > capacity(cfg)+(marks[j]-marks[i])/interval(cfg) {
				return false
			}
		}
	}
	return true
}

// boundedWindow: at most count in each window.
func boundedWindow(cfg limiter.Config, marks, taken []int64) bool {
	sum, end := int64(0), int64(-1)
	for i, at := range marks {
		if at >= end {
			sum, end = 0, at+int64(cfg.Period)
		}
		if sum += taken[i]; sum > int64(cfg.Count) {
			return false
		}
	}
	return true
}

// boundedLog: at most count in (t - D, t] for the mark t of any admission.
func boundedLog(cfg limiter.Config, marks, taken []int64) bool {
	for i, t := range marks {
		sum := int64(0)
		for j := 0; j <= i; j++ {
			if marks[j] > t-int64(cfg.Period) {
				sum += taken[j]
			}
		}
		if sum > int64(cfg.Count) {
			return false
		}
	}
	return true
}

// spaced: an interval for each permit of the departure before.
func spaced(cfg limiter.Config, marks, taken []int64) bool {
	for i := 1; i < len(marks); i++ {
		if marks[i]-marks[i-1] < taken[i-1]*interval(cfg) {
			return false
		}
	}
	return true
}

// boundedCounter recounts with windows from the first admission on.
func boundedCounter(cfg limiter.Config, marks, taken []int64) bool {
	d, count := int64(cfg.Period), int64(cfg.Count)
	for i, origin := 0, int64(0); i < len(marks); i++ {
		if i == 0 || (marks[i]-origin)/d-(marks[i-1]-origin)/d > 2 {
			origin = marks[i]
		}
		n := (marks[i] - origin) / d
		previous, current := int64(0), int64(0)
		for j := range i + 1 {
			switch {
			case marks[j] < origin:
			case (marks[j]-origin)/d == n-1:
				previous += taken[j]
			case (marks[j]-origin)/d == n:
				current += taken[j]
			}
		}
		if previous*(d-(marks[i]-origin-n*d))+current*d > count*d {
			return false
		}
	}
	return true
}
