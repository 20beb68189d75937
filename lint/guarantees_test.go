package lint_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// TestGuarantees drives random policies, in nanoseconds, with greedy callers, and
// compares the decisions with the guarantees of lint.
func TestGuarantees(t *testing.T) {
	policies := 500
	var reached tally
	seed, policies := testenv.Seed(), testenv.Cases(policies)
	for i := range uint64(policies) {
		r := rand.New(rand.NewPCG(seed, i))
		p := randomPolicy(r)
		plan, err := pipeline.Compile(p.Policy)
		if err != nil {
			t.Fatalf("SLUICE_SEED=%d, case %d: %v", seed, i, err)
		}
		w := newWorld(r, drive.New(plan, i))
		for range 250 {
			w.act()
		}
		if wrong := w.check(p, &reached); wrong != "" {
			t.Fatalf("SLUICE_SEED=%d, case %d: %s\n%s", seed, i, wrong, show(p))
		}
	}
	reached.check(t)
}

// randomPolicy makes a policy of 1 to 5 steps in any order.
func randomPolicy(r *rand.Rand) *document.Policy {
	p := &document.Policy{Policy: pipeline.Policy{Name: "random"}}
	retries := 0
	for range 1 + r.IntN(5) {
		kind := mechanism.Timeout + pipeline.Kind(r.IntN(5))
		s := pipeline.Step{Shadow: r.IntN(8) == 0}
		switch kind {
		case mechanism.Timeout:
			s.Config = timeout.Config{After: nanos(r, 1, 30)}
		case mechanism.Retry:
			if retries++; retries > 1 {
				continue
			}
			c := retry.Config{Attempts: 1 + r.Uint32N(4), Backoff: randomBackoff(r)}
			if r.IntN(2) == 0 {
				c.Budgeted, c.Budget = true, randomBudget(r)
				if r.IntN(2) == 0 {
					// A budget often grants every retry of few attempts.
					p.Steps = append(p.Steps,
						pipeline.Step{Name: "brief", Config: timeout.Config{After: nanos(r, 1, 9)}},
						pipeline.Step{Name: "few", Config: limiter.Config{Count: 1, Period: nanos(r, 4, 12)}})
				}
			}
			if r.IntN(4) == 0 {
				c.MaxElapsed = nanos(r, 1, 20)
			}
			if r.IntN(4) == 0 {
				c.Refusals = retry.WaitRefused
			}
			s.Config = c
		case mechanism.Breaker:
			s.Config = breaker.Config{
				Window: breaker.Calls, Count: 4, Minimum: 3, FailureRate: reducer.Percent(100), Probes: 1,
				Open: backoff.Config{Kind: backoff.Constant, Base: nanos(r, 1, 9)},
			}
		case mechanism.Limit:
			s.Config, s.Per = randomLimit(r), randomPer(r)
		case mechanism.Bulkhead:
			c := bulkhead.Config{Concurrent: 1 + r.Uint32N(4)}
			s.Per = randomPer(r)
			if r.IntN(2) == 0 {
				c.Queue, c.Wait = 1+r.Uint32N(4), nanos(r, 0, 12)
				c.Order = limiter.Order(r.IntN(2))
			}
			s.Config = c
		}
		s.Name = fmt.Sprintf("%s-%d", s.Kind(), len(p.Steps))
		p.Steps = append(p.Steps, s)
		if kind == mechanism.Limit && r.IntN(3) == 0 {
			looser := pipeline.Step{Config: randomLooser(r, s.Config.(limiter.Config)), Per: randomPer(r), Name: fmt.Sprintf("limit-%d", len(p.Steps))}
			p.Steps = append(p.Steps, looser)
		}
	}
	if len(p.Steps) == 0 {
		return randomPolicy(r)
	}
	p.Extras = make([]document.Extra, len(p.Steps))
	return p
}

func randomBackoff(r *rand.Rand) backoff.Config {
	c := backoff.Config{Kind: backoff.Kind(r.IntN(7)), Base: nanos(r, 1, 4)}
	c.Max = c.Base + nanos(r, 1, 9)
	switch c.Kind {
	case backoff.None:
		return backoff.Config{}
	case backoff.Decorrelated:
		return c
	case backoff.Listed:
		c.Base, c.Max, c.Delays = 0, 0, backoff.Delays(nanos(r, 0, 4), nanos(r, 0, 4), nanos(r, 0, 4))
	case backoff.Exponential:
		c.Factor = backoff.FactorOne * backoff.Factor(1+r.IntN(3))
	}
	if c.Jitter = backoff.JitterKind(r.IntN(4)); c.Jitter == backoff.Fraction {
		c.Share = reducer.Percent(50)
	}
	return c
}

func randomLimit(r *rand.Rand) limiter.Config {
	c := limiter.Config{Algorithm: limiter.Algorithm(r.IntN(3)), Count: 1 + r.Uint32N(4), Period: nanos(r, 4, 12)}
	if c.Algorithm == limiter.TokenBucket {
		c.Burst = r.Uint32N(4)
	}
	if r.IntN(2) == 0 {
		c.Wait, c.Queue, c.Order = nanos(r, 1, 12), 1+r.Uint32N(5), limiter.Order(r.IntN(2))
	}
	return c
}

// randomLooser makes a limit that often lets more pass than another one.
func randomLooser(r *rand.Rand, c limiter.Config) limiter.Config {
	other := randomLimit(r)
	other.Algorithm = limiter.Algorithm(r.IntN(5))
	other.Count, other.Period, other.Burst = min(c.Count*(1+r.Uint32N(4)), 20), c.Period, 0
	if other.Period < time.Duration(other.Count) {
		other.Period = time.Duration(other.Count)
	}
	return other
}

func randomBudget(r *rand.Rand) budget.Config {
	switch r.IntN(4) {
	case 0:
		return budget.Config{Rule: budget.Tokens, Tokens: 4 + r.Uint32N(9), Retry: 1 + r.Uint32N(4), Timeout: 1 + r.Uint32N(4), Refund: 1}
	case 1:
		return budget.Config{Rule: budget.Throttle, Tokens: 1 + r.Uint32N(9), TokenRatio: reducer.Percent(10)}
	}
	return budget.Config{
		Ratio: reducer.Percent(10 * r.Uint32N(40)), MinimumCount: r.Uint32N(60), MinimumPeriod: nanos(r, 1, 9), Window: nanos(r, 10, 30),
	}
}

func randomPer(r *rand.Rand) []string {
	return [][]string{nil, nil, {"key"}, {"key", "ip"}}[r.IntN(4)]
}

func nanos(r *rand.Rand, least, most int) time.Duration {
	return time.Duration(least + r.IntN(most-least+1))
}
