package document

import (
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// Defaults of a retry.
const (
	defaultAttempts = 3
	defaultBase     = 500 * time.Millisecond
	defaultFactor   = 2 * (backoff.MaxFactor / 1000)
	defaultMax      = time.Minute
)

// retry reads a number of attempts, or a map of settings.
func (p place) retry(s *step, one *Policy) retry.Config {
	c := retry.Config{Attempts: defaultAttempts, Backoff: backoff.Config{
		Kind: backoff.Exponential, Base: defaultBase, Factor: defaultFactor, Max: defaultMax, Jitter: backoff.Full,
	}}
	one.Methods = DefaultMethods()
	if p.node.Kind == tree.Number {
		c.Attempts, _ = p.integer(1, retry.MaxAttempts)
		return c
	}
	f, ok := p.fields("a number of attempts as in 3, or a map of settings", common("attempts", "backoff", "jitter", "budget", "methods")...)
	if !ok {
		return c
	}
	if v, ok := f.get("attempts"); ok {
		c.Attempts, _ = v.integer(1, retry.MaxAttempts)
	}
	kind, whole := "exponential", true
	if v, ok := f.get("backoff"); ok {
		c.Backoff, kind, whole = v.backoff()
	}
	if !whole {
		// Any kind that takes a jitter will do to read it.
		c.Backoff.Kind = backoff.Constant
	}
	if v, ok := f.get("jitter"); ok {
		v.jitter(&c.Backoff, kind)
	}
	if v, ok := f.get("budget"); ok {
		c.Budgeted = v.budget(&c.Budget)
	}
	if v, ok := f.get("methods"); ok {
		one.Methods = v.methods()
	}
	f.common(s, c.Budgeted, "on a retry without a budget, which keeps no state")
	return c
}

// backoffs in the order of backoff.Kind from Constant on, and all that a map of
// one may hold.
var (
	backoffs        = []string{"constant", "linear", "exponential", "fibonacci", "decorrelated"}
	backoffSettings = append(slices.Clone(backoffs), "factor", "max")
)

// backoffText is what every error about a backoff allows.
const backoffText = "one of {constant: d}, {linear: d, max: d}, {exponential: d, factor: n, max: d}, {fibonacci: d, max: d} or {decorrelated: d, max: d}"

// backoff reads none or a map of one kind, with the jitter that is the kind's
// default, and returns the kind's name.
func (p place) backoff() (c backoff.Config, kind string, ok bool) {
	if p.node.Kind == tree.Text && p.node.Text == "none" {
		return c, "none", true
	}
	near := ""
	if p.node.Kind == tree.Text {
		if _, v := parseDuration(p.node.Text); v == good {
			near = "{constant: " + p.node.Text + "}"
		}
	}
	if p.node.Kind != tree.Map {
		p.fail(describe(p.node), "none, or "+backoffText, near)
		return c, "", false
	}
	f, ok := p.fields("none, or "+backoffText, backoffSettings...)
	if !ok {
		return c, "", false
	}
	c, kind, ok = f.backoff()
	if c.Kind != backoff.Decorrelated {
		c.Jitter = backoff.Full
	}
	return c, kind, ok
}

// backoff reads the map of a backoff, without jitter.
func (f *fields) backoff() (c backoff.Config, kind string, ok bool) {
	kind, ok = f.oneOf(backoffText, backoffs...)
	if !ok {
		return c, "", false
	}
	c.Kind = backoff.Constant + backoff.Kind(slices.Index(backoffs, kind))
	v, _ := f.get(kind)
	c.Base, ok = v.duration(1)
	if c.Kind == backoff.Constant {
		f.refuse("beside constant", "beside a backoff that grows", "max")
	}
	if c.Kind == backoff.Exponential {
		c.Factor, c.Max = defaultFactor, defaultMax
	} else {
		f.refuse("beside "+kind, "beside exponential", "factor")
	}
	if v, ok := f.get("factor"); ok {
		c.Factor, _ = v.factor()
	}
	if v, ok := f.get("max"); ok {
		c.Max, _ = v.duration(1)
	}
	return c, kind, ok
}

// jitter reads what randomness does to the delays of a backoff of the kind.
func (p place) jitter(c *backoff.Config, kind string) {
	const allowed = "none, full, equal, or a share as in 20%"
	c.Share = 0
	i := -1
	if p.node.Kind == tree.Text {
		i = slices.Index(jitters, p.node.Text)
	}
	switch {
	case i >= 0:
		c.Jitter = backoff.JitterKind(i)
	case p.node.Kind == tree.Text && nearest(p.node.Text, jitters) != "":
		p.fail(describe(p.node), allowed, nearest(p.node.Text, jitters))
		return
	default:
		share, ok := p.percentage(1, reducer.Whole, allowed)
		if !ok {
			return
		}
		c.Jitter, c.Share = backoff.Fraction, share
	}
	if c.Jitter != backoff.NoJitter && (c.Kind == backoff.None || c.Kind == backoff.Decorrelated) {
		p.fail("jitter "+p.node.Text+" beside backoff "+kind, "jitter none beside it, or another backoff", "")
	}
}

// jitters in the order of backoff.JitterKind, without Fraction.
var jitters = []string{"none", "full", "equal"}

// budget reads none, a ratio, or a map, and returns whether there is one.
func (p place) budget(c *budget.Config) bool {
	const ratioText = "a share as in 20%, from 0% to 1000%, with at most 4 decimals"
	if p.node.Kind == tree.Text && p.node.Text == "none" {
		return false
	}
	*c = budget.Config{MinimumCount: 10, MinimumPeriod: time.Second, Window: 10 * time.Second}
	if p.node.Kind != tree.Map {
		c.Ratio, _ = p.percentage(0, maxRatio, "none, "+ratioText+", or a map of ratio, minimum and window")
		return true
	}
	f, ok := p.fields("a map", "ratio", "minimum", "window")
	if !ok {
		return true
	}
	if v, ok := f.need("ratio", ratioText); ok {
		c.Ratio, _ = v.percentage(0, maxRatio, ratioText)
	}
	if v, ok := f.get("minimum"); ok {
		c.MinimumCount, c.MinimumPeriod, _ = v.rate(0)
	}
	if v, ok := f.get("window"); ok {
		c.Window, ok = v.duration(1)
		if ok && c.Window < budgetBuckets {
			v.fail(describe(v.node), "at least "+strconv.Itoa(budgetBuckets)+"ns, one for each bucket", "")
		}
	}
	return true
}

const (
	// maxRatio lets a budget grant ten retries for each first attempt.
	maxRatio = 10 * reducer.Whole
	// budgetBuckets is what a budget cuts its window into.
	budgetBuckets = 10
)
