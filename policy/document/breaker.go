package document

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// Defaults of a breaker.
const (
	defaultCalls   = 100
	defaultBuckets = 10
	defaultMinimum = 100
	defaultProbes  = 10
	defaultOpen    = time.Minute
	defaultFailure = reducer.Whole / 2
)

// breaker reads a map of settings.
func (r *reader) breaker(f *fields, n *tree.Node, c *breaker.Config) {
	c.Count, c.Probes = defaultCalls, defaultProbes
	c.Open.Kind, c.Open.Base = backoff.Constant, defaultOpen
	if !f.read(r, n, "a map of settings; {} takes every default", "window minimum failure_rate slow open probes half_open_max"+common) {
		return
	}
	whole := true
	if n := f.get("window"); n != nil {
		whole = r.window(n, c)
	}
	if c.Window == breaker.Consecutive {
		for _, name := range [...]string{"minimum", "failure_rate", "slow"} {
			f.refuse(name, "$t beside a window of consecutive failures", "$t beside a window of calls or time", "")
		}
	} else {
		f.rates(c, whole)
	}
	if n := f.get("open"); n != nil {
		r.open(n, &c.Open)
	}
	f.integer("probes", 1, breaker.MaxProbes, &c.Probes)
	f.duration("half_open_max", 0, &c.HalfOpenMax)
}

// window reads {calls}, {time, buckets} or {consecutive}, and returns whether
// it is whole.
func (r *reader) window(n *tree.Node, c *breaker.Config) bool {
	const allowed = "one of {calls: n}, {time: d, buckets: n} or {consecutive: n}"
	var f fields
	if !f.read(r, n, allowed, "calls time buckets consecutive") {
		return false
	}
	e := f.oneOf("calls time consecutive", allowed)
	if e == nil {
		return false
	}
	if e.Key != "time" {
		f.refuse("buckets", "$t beside $w", "$t beside time", e.Key)
		if e.Key == "consecutive" {
			c.Window = breaker.Consecutive
		}
		return r.asInteger(e, 1, breaker.MaxCalls, &c.Count)
	}
	c.Window, c.Count = breaker.Time, defaultBuckets
	whole := r.asDuration(e, 1, &c.Span)
	if n := f.get("buckets"); n != nil {
		whole = r.asInteger(n, 1, breaker.MaxBuckets, &c.Count) && whole
	}
	if whole && c.Span < time.Duration(c.Count) {
		r.mistyped(e, "at least a nanosecond for each of the $x buckets").x = int(c.Count)
	}
	return whole
}

// rates reads what a window of calls or of time is judged by. The minimum is
// compared with the window when that is whole.
func (f *fields) rates(c *breaker.Config, whole bool) {
	c.FailureRate = defaultFailure
	if n := f.get("failure_rate"); n != nil {
		f.asRatio(n, &c.FailureRate)
	}
	if n := f.get("slow"); n != nil {
		f.slow(n, c)
	}
	c.Minimum = defaultMinimum
	if c.Window == breaker.Calls {
		c.Minimum = min(defaultMinimum, c.Count)
	}
	if f.integer("minimum", 1, breaker.MaxCalls, &c.Minimum) && whole && c.Window == breaker.Calls && c.Minimum > c.Count {
		f.mistyped(f.get("minimum"), "at most the window's calls, $x").x = int(c.Count)
	}
}

// slow reads {over, rate}, both of which it needs.
func (r *reader) slow(n *tree.Node, c *breaker.Config) {
	var f fields
	if !f.read(r, n, "a map of over and rate", "over rate") {
		return
	}
	f.need("over", "$d")
	f.duration("over", 1, &c.SlowOver)
	if n := f.need("rate", "a share as in 80%"); n != nil {
		r.asRatio(n, &c.SlowRate)
	}
}

// open reads how long a breaker stays open: a duration, or a backoff in which
// a jitter may be named.
func (r *reader) open(n *tree.Node, c *backoff.Config) {
	switch n.Kind {
	case tree.Text:
		r.asDuration(n, 1, &c.Base)
	case tree.Map:
		var f fields
		f.read(r, n, "$b", backoffSettings+" jitter")
		f.jitter(c, f.backoff(c))
	default:
		r.mistyped(n, "$d; or a backoff as in {exponential: 10s, max: 5m}")
	}
}
