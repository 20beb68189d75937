package oracle

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// script is a case by hand: a log and its decisions in a short form, one a line.
type script struct {
	name   string
	steps  []pipeline.Step
	later  [][]pipeline.Step // the policies that `configure` activates, one after another
	seed   uint64
	marked bool // with a fallback
	log    string
	want   string
}

// run compares the decisions of each script.
func run(t *testing.T, scripts []script) {
	t.Helper()
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			policy := pipeline.Policy{Steps: s.steps}
			if s.marked {
				policy.Fallback = &fallback.Config{}
			}
			var log []Event
			later := s.later
			for _, line := range lines(s.log) {
				e := parseShort(t, line)
				if e.Op == "configure" {
					e.Policy = &pipeline.Policy{Steps: later[0], Fallback: policy.Fallback}
					later = later[1:]
				}
				log = append(log, e)
			}
			decided, err := Run(policy, s.seed, log)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range decided {
				got = append(got, short(t, d))
			}
			if g, w := strings.Join(got, "\n"), strings.Join(lines(s.want), "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func lines(text string) []string {
	var all []string
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// parseShort reads "1s call 7 cost=2 key=a x=b deadline=3s", "1s done 7 fail
// after=2s attempt=2", "1s cancel 7", "1s tick", "1s configure".
func parseShort(t *testing.T, line string) Event {
	t.Helper()
	words := strings.Fields(line)
	e := Event{At: nanoseconds(t, words[0]), Op: words[1], Cost: 1}
	if len(words) > 2 {
		e.ID = words[2]
	}
	for _, word := range words[min(3, len(words)):] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "cost":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			e.Cost = uint32(n)
		case "attempt":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			e.Attempt = n
		case "key":
			e.Key = value
		case "x":
			e.Attributes = map[string]string{"header:x": value}
		case "deadline":
			n := nanoseconds(t, value)
			e.Deadline = &n
		case "after":
			n := nanoseconds(t, value)
			e.RetryAfter = &n
		case "used":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			e.Used = &n
		default:
			e.Outcome = word
		}
	}
	return e
}

func nanoseconds(t *testing.T, text string) int64 {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return int64(d)
}

// short prints the values of a decision in their order, shadow and fallback by
// their names.
func short(t *testing.T, line string) string {
	t.Helper()
	decode := json.NewDecoder(strings.NewReader(line))
	decode.UseNumber()
	var words []string
	name := ""
	for {
		token, err := decode.Token()
		if err != nil {
			break
		}
		switch v := token.(type) {
		case json.Delim:
		case bool:
			words = append(words, name)
			name = ""
		default:
			if name == "" {
				name = fmt.Sprint(v)
				continue
			}
			words = append(words, fmt.Sprint(v))
			name = ""
		}
	}
	return strings.Join(words, " ")
}

func breakerStep(cfg breaker.Config) pipeline.Step {
	return pipeline.Step{Config: cfg}
}

func bulkheadStep(cfg bulkhead.Config) pipeline.Step {
	return pipeline.Step{Config: cfg}
}

func retryStep(attempts uint32, wait time.Duration) pipeline.Step {
	return pipeline.Step{Config: retry.Config{Attempts: attempts, Backoff: constant(wait)}}
}

func hedgeStep(cfg hedge.Config) pipeline.Step { return pipeline.Step{Config: cfg} }

func constant(d time.Duration) backoff.Config {
	return backoff.Config{Kind: backoff.Constant, Base: d}
}

// one returns a breaker that opens at its first failure.
func one(open time.Duration, probes uint32) breaker.Config {
	return breaker.Config{Window: breaker.Consecutive, Count: 1, Open: constant(open), Probes: probes}
}

// twoFailures returns a breaker that opens at its second failure in a row.
func twoFailures() breaker.Config {
	c := one(9*second, 1)
	c.Count = 2
	return c
}

// slowOnly returns a breaker that opens at an outcome after more than 3 s.
func slowOnly() breaker.Config {
	return breaker.Config{
		Count: 1, Minimum: 1, FailureRate: reducer.Percent(100), SlowOver: 3 * second, SlowRate: reducer.Percent(100),
		Open: constant(9 * second), Probes: 1,
	}
}

func shadow(s pipeline.Step) pipeline.Step {
	s.Shadow = true
	return s
}

func per(s pipeline.Step, names ...string) pipeline.Step {
	s.Per = names
	return s
}

func named(name string, s pipeline.Step) pipeline.Step {
	s.Name = name
	return s
}

// second is short for the limits of these tests.
const second = time.Second

// rate returns a limit of one permit a second that refuses at once.
func rate(burst uint32) limiter.Config {
	return limiter.Config{Count: 1, Period: second, Burst: burst}
}

// queued returns a limit of one permit a second with a queue.
func queued(burst uint32, wait time.Duration, places uint32, order limiter.Order) limiter.Config {
	return limiter.Config{Count: 1, Period: second, Burst: burst, Wait: wait, Queue: places, Order: order}
}
