package proptest

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// naiveRetry is an oracle of a retry with its budget: one call after another.
type naiveRetry struct {
	word     uint64
	config   retry.Config
	now      int64
	running  bool
	call     uint64
	attempt  int64
	before   *big.Int // the delay before, nil for none
	deadline int64
	began    int64   // of the call
	firsts   []int64 // marks of first attempts
	retries  []int64 // marks of granted retries
	origin   int64   // of the budget's buckets, -1 before it began
}

func retryOf(w uint64) retry.Config {
	c := retry.Config{Attempts: 1 + uint32(w%4), Backoff: drawBackoff(w >> 2), Budgeted: true, Budget: drawBudget(history{w >> 30}).budget}
	c.MaxElapsed = pick(w>>9, 0, time.Duration(30), 200)
	// Delays of the size of the commands' times.
	switch c.Backoff.Kind {
	case backoff.None:
	case backoff.Listed:
		c.Backoff.Delays = backoff.Delays(pick(w>>5, time.Duration(1), 3, 10), pick(w>>7, time.Duration(0), 12), 40)
	default:
		c.Backoff.Base = pick(w>>5, time.Duration(1), 3, 10)
		c.Backoff.Max = pick(w>>7, 0, 4*c.Backoff.Base, 100)
	}
	return c
}

func beginRetry(w uint64) oracle { return &naiveRetry{word: w, config: retryOf(w), origin: -1} }

func (r *naiveRetry) w() uint64 { return r.word }

// word64 is the first output of SplitMix64, in whole numbers modulo 2^64.
func word64(seed uint64) *big.Int {
	modulus := new(big.Int).Lsh(big.NewInt(1), 64)
	z := new(big.Int).SetUint64(seed)
	z.Add(z, new(big.Int).SetUint64(0x9e3779b97f4a7c15)).Mod(z, modulus)
	for _, step := range [...]struct {
		shift  uint
		factor uint64
	}{{30, 0xbf58476d1ce4e5b9}, {27, 0x94d049bb133111eb}} {
		z.Xor(z, new(big.Int).Rsh(z, step.shift))
		z.Mul(z, new(big.Int).SetUint64(step.factor)).Mod(z, modulus)
	}
	return z.Xor(z, new(big.Int).Rsh(z, 31))
}

// drawn is floor(u x (n+1) / 2^64).
func drawn(u, n *big.Int) *big.Int {
	product := new(big.Int).Mul(u, new(big.Int).Add(n, big.NewInt(1)))
	return product.Rsh(product, 64)
}

// delay computes the delay of policy/REFERENCE.md#delays, in whole numbers of any size.
func (r *naiveRetry) delay() *big.Int {
	c := r.config.Backoff
	base := big.NewInt(int64(c.Base))
	k := r.attempt
	u := word64(r.call<<32 + uint64(k))
	cut := func(d *big.Int) *big.Int {
		if c.Max > 0 && d.Cmp(big.NewInt(int64(c.Max))) > 0 {
			return big.NewInt(int64(c.Max))
		}
		return d
	}
	d := new(big.Int)
	switch c.Kind {
	case backoff.Constant:
		d.Set(base)
	case backoff.Linear:
		d.Mul(base, big.NewInt(k))
	case backoff.Exponential:
		power := new(big.Rat).SetInt(base)
		for range k - 1 {
			power.Mul(power, big.NewRat(int64(c.Factor), int64(backoff.FactorOne)))
		}
		d.Quo(power.Num(), power.Denom())
	case backoff.Fibonacci:
		a, b := big.NewInt(0), big.NewInt(1)
		for range k - 1 {
			a, b = b, new(big.Int).Add(a, b)
		}
		d.Mul(base, b)
	case backoff.Decorrelated:
		before := base
		if r.before != nil {
			before = r.before
		}
		top := cut(new(big.Int).Mul(before, big.NewInt(3)))
		return d.Add(base, drawn(u, top.Sub(top, base)))
	case backoff.Listed:
		d.SetInt64(int64(c.Delays.At(int(min(k, int64(c.Delays.Len())) - 1))))
	}
	return r.jittered(cut(d), u)
}

func (r *naiveRetry) jittered(d, u *big.Int) *big.Int {
	c := r.config.Backoff
	switch c.Jitter {
	case backoff.Full:
		return drawn(u, d)
	case backoff.Equal:
		half := new(big.Int).Quo(d, big.NewInt(2))
		return new(big.Int).Add(half, drawn(u, new(big.Int).Sub(d, half)))
	case backoff.Fraction:
		v := new(big.Int).Mul(d, big.NewInt(int64(c.Share.Millionths())))
		v.Quo(v, big.NewInt(int64(reducer.Whole)))
		low := new(big.Int).Sub(d, v)
		return low.Add(low, drawn(u, new(big.Int).Mul(v, big.NewInt(2))))
	}
	return d
}

// grants asks the budget for a retry.
func (r *naiveRetry) grants() bool {
	b := r.config.Budget
	within := func(list []int64) (n int64) {
		for _, at := range list {
			if (r.now-r.origin)*10/int64(b.Window)-(at-r.origin)*10/int64(b.Window) < 10 {
				n++
			}
		}
		return n
	}
	allowed := within(r.firsts) * int64(b.Ratio.Millionths()) / int64(reducer.Whole)
	if b.MinimumCount > 0 {
		allowed += int64(b.MinimumCount) * int64(b.Window) / int64(b.MinimumPeriod)
	}
	if within(r.retries)+1 > allowed {
		return false
	}
	r.retries = append(r.retries, r.now)
	return true
}

func (r *naiveRetry) do(c command) (oracle, string) {
	next := *r
	r = &next
	r.firsts, r.retries = slices.Clone(r.firsts), slices.Clone(r.retries)
	switch {
	case c.verb == "time":
		r.now += int64(c.number % 32)
		return r, "done"
	case !r.running:
		r.running, r.attempt, r.before = true, 1, nil
		r.call++
		r.deadline, r.began = deadlineOf(c, r.now), r.now
		if r.origin < 0 {
			r.origin = r.now
		}
		r.firsts = append(r.firsts, r.now)
		return r, "attempt 1"
	}
	answer := r.finish(outcomeOf(c), c)
	if answer != "" {
		r.running = false
		return r, answer
	}
	return r, fmt.Sprintf("attempt %d at %d", r.attempt, r.now)
}

// finish ends an attempt and returns why there is no other one.
func (r *naiveRetry) finish(outcome reducer.Outcome, c command) string {
	told, retryAfter := toldOf(c)
	switch {
	case outcome == reducer.OK || outcome == reducer.Ignore || outcome == reducer.Cancelled:
		return "end "
	case r.attempt >= int64(r.config.Attempts):
		return "end attempts"
	case told && retryAfter < 0:
		return "end pushback"
	}
	d := r.delay()
	r.before = d
	at := r.now + d.Int64()
	if told {
		at = max(at, r.now+retryAfter)
	}
	if r.deadline >= 0 && at >= r.deadline {
		return "end deadline"
	}
	if longest := int64(r.config.MaxElapsed); longest > 0 && at-r.began >= longest {
		return "end elapsed"
	}
	if !r.grants() {
		return "end budget"
	}
	r.now = at
	r.attempt++
	return ""
}

// deadlineOf draws the deadline of a call, -1 for none.
func deadlineOf(c command, now int64) int64 {
	if c.choice%2 == 0 {
		return -1
	}
	return now + int64(c.number>>8%200)
}

// toldOf draws the retry-after of an answer.
func toldOf(c command) (bool, int64) {
	return c.choice%4 == 3, int64(c.number>>8%40) - 2
}

// testedRetry runs the commands on the machines.
type testedRetry struct {
	next     nexter
	budget   subject
	now      clock.Mark
	running  bool
	call     uint64
	state    retry.State
	deadline clock.Mark
	began    clock.Mark
}

func testRetry(m machine) func(w uint64) tested {
	return func(w uint64) tested {
		c := retryOf(w)
		b := must(budget.New(c.Budget))
		return &testedRetry{next: m.retries(c), budget: of(reducer.Cell[budget.State](b), 0, func(*budget.State) view { return view{} })}
	}
}

func (r *testedRetry) do(c command) string {
	switch {
	case c.verb == "time":
		r.now += clock.Mark(c.number % 32)
		return "done"
	case !r.running:
		r.running = true
		r.call++
		r.state = retry.State{Attempt: 1}
		r.deadline, r.began = clock.Never, r.now
		if at := deadlineOf(c, int64(r.now)); at >= 0 {
			r.deadline = clock.Mark(at)
		}
		step(r.budget, reducer.Action{Kind: reducer.Record}, r.now)
		return "attempt 1"
	}
	told, after := toldOf(c)
	end := retry.End{Outcome: outcomeOf(c), Told: told, RetryAfter: time.Duration(after), Deadline: r.deadline, Began: r.began, Seed: r.call << 32}
	state, verdict := r.next(r.state, end, r.now)
	r.state = state
	r.running = verdict.Again && step(r.budget, reducer.Action{Kind: reducer.Acquire}, r.now).answer.Verdict == reducer.Admit
	switch {
	case r.running:
		r.now = verdict.Until
		r.state.Attempt++
		return fmt.Sprintf("attempt %d at %d", r.state.Attempt, int64(r.now))
	case verdict.Again:
		return "end budget"
	}
	return "end " + verdict.Reason.String()
}

func retryLine() row {
	s := suite{
		verbs: []string{"call or end", "call or end", "call or end", "time"},
		begin: beginRetry,
	}
	return row{"R*", "attempts, delays and reasons equal those of the reference page, computed with big integers", byDifference,
		[]trial{s.trial("retry with its budget", 400, 60, testRetry(trying))},
		s.mutant("retry that draws from another seed", testRetry(retrying("draws from another seed", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			e.Seed ^= math.MaxUint64
			return n(s, e, now)
		})))}
}
