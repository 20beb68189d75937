package document

import (
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
	defaultFactor   = 2 * backoff.FactorOne
	defaultMax      = time.Minute
)

// retry reads a number of attempts, or a map of settings.
func (r *reader) retry(f *fields, n *tree.Node, c *retry.Config) {
	c.Attempts = defaultAttempts
	c.Backoff = backoff.Config{
		Kind: backoff.Exponential, Base: defaultBase, Factor: defaultFactor, Max: defaultMax, Jitter: backoff.Full,
	}
	if n.Kind == tree.Number {
		r.asInteger(n, 1, retry.MaxAttempts, &c.Attempts)
		return
	}
	if !f.read(r, n, "a number of attempts as in 3, or a map of settings", "attempts backoff jitter budget methods"+common) {
		return
	}
	f.integer("attempts", 1, retry.MaxAttempts, &c.Attempts)
	kind := "exponential"
	if n := f.get("backoff"); n != nil {
		kind = r.backoff(n, &c.Backoff)
	}
	f.jitter(&c.Backoff, kind)
	if n := f.get("budget"); n != nil {
		c.Budgeted = r.budget(n, &c.Budget)
	}
}

// httpMethods reads the methods that a step repeats.
func (f *fields) httpMethods() []string {
	if n := f.get("methods"); n != nil {
		return f.methods(n)
	}
	return DefaultMethods()
}

// backoffs in the order of backoff.Kind from Constant on, and all that a map of
// one may hold.
const (
	backoffs        = "constant linear exponential fibonacci decorrelated"
	backoffSettings = backoffs + " factor max"
)

// backoffText is what every error about a backoff allows, $b in its text.
const backoffText = "one of {constant: d}, {linear: d, max: d}, {exponential: d, factor: n, max: d}, {fibonacci: d, max: d} or {decorrelated: d, max: d}"

// backoff reads none or a map of one kind, with the jitter that is the kind's
// default, and returns the kind's name.
func (r *reader) backoff(n *tree.Node, c *backoff.Config) string {
	const allowed = "none, or $b"
	*c = backoff.Config{}
	if n.Kind == tree.Text && n.Text == "none" {
		return n.Text
	}
	kind := ""
	if n.Kind == tree.Map {
		var f fields
		f.read(r, n, allowed, backoffSettings)
		kind = f.backoff(c)
	} else {
		p := r.mistyped(n, allowed)
		if _, v := parseDuration(n.Text, 0); v == good {
			p.near, p.word, p.hint = "{constant: $w}", n.Text, filled
		}
		c.Kind = backoff.Constant
	}
	if c.Kind != backoff.Decorrelated {
		c.Jitter = backoff.Full
	}
	return kind
}

// backoff reads the map of a backoff, without jitter, and returns the kind's
// name. The kind is Constant where it cannot be told: any that takes a jitter
// will do to read one.
func (f *fields) backoff(c *backoff.Config) string {
	c.Kind = backoff.Constant
	e := f.oneOf(backoffs, "$b")
	if e == nil {
		return ""
	}
	kind := backoff.Constant + backoff.Kind(index(backoffs, e.Key))
	if f.asDuration(e, 1, &c.Base) {
		c.Kind = kind
	}
	if kind == backoff.Constant {
		f.refuse("max", "$t beside constant", "$t beside a backoff that grows", "")
	}
	if kind == backoff.Exponential {
		c.Factor, c.Max = defaultFactor, defaultMax
	} else {
		f.refuse("factor", "$t beside $w", "$t beside exponential", e.Key)
	}
	if n := f.get("factor"); n != nil {
		f.asFactor(n, &c.Factor)
	}
	f.duration("max", 1, &c.Max)
	if c.Kind != backoff.Constant && c.Max > 0 && c.Max < c.Base {
		f.maxBelow(e)
	}
	return e.Key
}

// maxBelow reports a base above the max, at the max where the document has it.
func (f *fields) maxBelow(base *tree.Node) {
	if n := f.get("max"); n != nil {
		f.mistyped(n, "at least the base, $w").word = base.Text
		return
	}
	f.mistyped(base, "at most the default max, 1m, or a max beside it")
}

// jitters in the order of backoff.JitterKind, without Fraction.
const jitters = "none full equal"

// jitter reads, where it is given, what randomness does to the delays of a
// backoff of the kind.
func (f *fields) jitter(c *backoff.Config, kind string) {
	const allowed = "none, full, equal, or a share as in 20%"
	n := f.get("jitter")
	if n == nil {
		return
	}
	i, near := -1, -1
	if n.Kind == tree.Text {
		i, near = index(jitters, n.Text), nearest(n.Text, jitters)
	}
	switch {
	case i >= 0:
		c.Jitter = backoff.JitterKind(i)
	case near >= 0:
		f.mistyped(n, allowed).near = word(jitters, near)
		return
	case !f.asShare(n, 1, int(reducer.Whole), allowed, &c.Share):
		return
	default:
		c.Jitter = backoff.Fraction
	}
	if c.Jitter != backoff.NoJitter && (c.Kind == backoff.None || c.Kind == backoff.Decorrelated) {
		f.fail(n, "jitter $t beside backoff $w", "jitter none beside it, or another backoff").word = kind
	}
}

// ratioText is what every error about a ratio allows.
const ratioText = "a share as in 20%, from 0% to 1000%, with at most 4 decimals"

// budget reads none, a ratio, or a map, and returns whether there is one.
func (r *reader) budget(n *tree.Node, c *budget.Config) bool {
	if n.Kind == tree.Text && n.Text == "none" {
		return false
	}
	*c = budget.Config{MinimumCount: 10, MinimumPeriod: time.Second, Window: 10 * time.Second}
	if n.Kind != tree.Map {
		r.asShare(n, 0, maxRatio, "none, "+ratioText+", or a map of ratio, minimum and window", &c.Ratio)
		return true
	}
	var f fields
	f.read(r, n, "a map", "ratio minimum window")
	if n := f.need("ratio", ratioText); n != nil {
		r.asShare(n, 0, maxRatio, ratioText, &c.Ratio)
	}
	if n := f.get("minimum"); n != nil {
		r.asRate(n, 0, &c.MinimumCount, &c.MinimumPeriod)
	}
	if f.duration("window", 1, &c.Window) && c.Window < budgetBuckets {
		r.mistyped(f.get("window"), "at least $xns, one for each bucket").x = budgetBuckets
	}
	return true
}

const (
	// maxRatio lets a budget grant ten retries for each first attempt.
	maxRatio = 10 * int(reducer.Whole)
	// budgetBuckets is what a budget cuts its window into.
	budgetBuckets = 10
)
