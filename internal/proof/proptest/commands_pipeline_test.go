package proptest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/eval"
	slow "github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
)

// naivePipeline is an oracle of a whole policy: internal/oracle, which plays
// the log from its beginning for every command.
type naivePipeline struct {
	word   uint64
	policy pipeline.Policy
	log    []slow.Event
	lines  int
}

// policyOf draws a policy as the tests of eval do.
func policyOf(w uint64) pipeline.Policy {
	p, _ := generate.Generate(rand.New(rand.NewPCG(w, 1)))
	return p
}

func beginPipeline(w uint64) oracle { return &naivePipeline{word: w, policy: policyOf(w)} }

func (p *naivePipeline) w() uint64 { return p.word }

// event makes an event of a command; now is the mark of the one before, n how
// many there were.
func event(c command, now int64, n int, policy pipeline.Policy) slow.Event {
	unit := unitOf(policy)
	e := slow.Event{At: now + unit*int64(pick(c.number, uint64(0), 0, 0, 1, 1, 2, c.number>>4%8, c.number>>4%64)), Op: c.verb}
	if c.number>>10%16 == 0 {
		e.At += int64(c.number>>14%3) - 1
	}
	id := c.number >> 20 % uint64(max(1, n))
	switch c.verb {
	case "call":
		id = uint64(n)
		e.Cost = pick(c.number>>30, uint32(1), 1, 1, 2, 3, 0)
		e.Key = pick(c.number>>34, "a", "b", "")
		if c.choice%8 == 0 {
			d := unit * int64(c.number>>36%24)
			e.Deadline = &d
		}
	case "done":
		e.Outcome = pick(c.number>>30, "fail", "ok", "fail", "throttle", "ignore")
		if c.choice%8 == 0 {
			d := unit * (int64(c.number>>36%8) - 1)
			e.RetryAfter = &d
		}
	}
	e.ID = fmt.Sprint(id)
	return e
}

// unitOf is half of the shortest time of the policy, so that events occur, but none
// too often.
func unitOf(p pipeline.Policy) int64 {
	shortest := time.Hour
	for _, s := range p.Steps {
		for _, d := range timesOf(s.Config) {
			if d > 0 {
				shortest = min(shortest, d)
			}
		}
	}
	return max(1, int64(shortest)/2)
}

// timesOf returns the times in a configuration.
func timesOf(c mechanism.Config) []time.Duration {
	switch c := c.(type) {
	case limiter.Config:
		return []time.Duration{c.Period, c.Wait}
	case timeout.Config:
		return []time.Duration{c.After}
	case breaker.Config:
		return []time.Duration{c.Open.Base, c.HalfOpenMax, c.Span}
	case retry.Config:
		return []time.Duration{c.Backoff.Base}
	case bulkhead.Config:
		return []time.Duration{c.Wait, c.Lease}
	}
	return nil
}

func (p *naivePipeline) do(c command) (oracle, string) {
	next := *p
	now := int64(0)
	if n := len(p.log); n > 0 {
		now = p.log[n-1].At
	}
	next.log = append(slices.Clone(p.log), event(c, now, len(p.log), p.policy))
	lines, err := slow.Run(p.policy, 0, next.log)
	if err != nil {
		return &next, "error"
	}
	next.lines = len(lines)
	return &next, strings.Join(lines[p.lines:], "\n")
}

// testedPipeline runs the commands through eval.
type testedPipeline struct {
	policy pipeline.Policy
	run    func(p pipeline.Policy) pipeline.Policy
	log    []slow.Event
	lines  int
}

func testPipeline(change func(p pipeline.Policy) pipeline.Policy) func(w uint64) tested {
	return func(w uint64) tested { return &testedPipeline{policy: policyOf(w), run: change} }
}

func (p *testedPipeline) do(c command) string {
	now := int64(0)
	if n := len(p.log); n > 0 {
		now = p.log[n-1].At
	}
	p.log = append(p.log, event(c, now, len(p.log), p.policy))
	var out bytes.Buffer
	if err := eval.Run(p.run(p.policy), eval.Options{}, bytes.NewReader(generate.EventsJSON(p.log)), &out); err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if out.Len() == 0 {
		lines = nil
	}
	before := min(p.lines, len(lines))
	p.lines = len(lines)
	return strings.Join(lines[before:], "\n")
}

func pipelineLine() row {
	s := suite{
		verbs: []string{"call", "call", "call", "call", "done", "done", "done", "cancel", "tick", "renew"},
		begin: beginPipeline,
	}
	return row{"M*", "a policy decides as a second, naive implementation of the reference pages", byDifference,
		[]trial{s.trial("eval", 120, 40, testPipeline(func(p pipeline.Policy) pipeline.Policy { return p }))},
		s.mutant("eval that lets timeouts take a nanosecond longer", testPipeline(func(p pipeline.Policy) pipeline.Policy {
			p.Steps = slices.Clone(p.Steps)
			for i := range p.Steps {
				pipeline.Edit(&p.Steps[i], func(c *timeout.Config) { c.After++ })
			}
			return p
		}))}
}
