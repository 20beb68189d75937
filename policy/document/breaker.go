package document

import (
	"slices"
	"strconv"
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
func (p place) breaker(s *step) breaker.Config {
	c := breaker.Config{
		Window: breaker.Calls, Count: defaultCalls, Probes: defaultProbes,
		Open: backoff.Config{Kind: backoff.Constant, Base: defaultOpen},
	}
	f, ok := p.fields("a map of settings; {} takes every default", common("window", "minimum", "failure_rate", "slow", "open", "probes", "half_open_max")...)
	if !ok {
		return c
	}
	f.common(s, true, "")
	window := true
	if v, ok := f.get("window"); ok {
		window = v.window(&c)
	}
	if c.Window == breaker.Consecutive {
		f.refuse("beside a window of consecutive failures", "beside a window of calls or time", "minimum", "failure_rate", "slow")
	} else {
		f.rates(&c, window)
	}
	if v, ok := f.get("open"); ok {
		c.Open = v.open()
	}
	if v, ok := f.get("probes"); ok {
		c.Probes, _ = v.integer(1, breaker.MaxProbes)
	}
	if v, ok := f.get("half_open_max"); ok {
		c.HalfOpenMax, _ = v.duration(0)
	}
	return c
}

// window reads {calls}, {time, buckets} or {consecutive}, and returns whether
// it is whole.
func (p place) window(c *breaker.Config) bool {
	const allowed = "one of {calls: n}, {time: d, buckets: n} or {consecutive: n}"
	f, ok := p.fields(allowed, "calls", "time", "buckets", "consecutive")
	if !ok {
		return false
	}
	kind, one := f.oneOf(allowed, "calls", "time", "consecutive")
	if !one {
		return false
	}
	v, _ := f.get(kind)
	if kind != "time" {
		f.refuse("beside "+kind, "beside time", "buckets")
		c.Window = breaker.Calls
		if kind == "consecutive" {
			c.Window = breaker.Consecutive
		}
		c.Count, ok = v.integer(1, breaker.MaxCalls)
		return ok
	}
	c.Window, c.Count = breaker.Time, defaultBuckets
	c.Span, ok = v.duration(1)
	if b, given := f.get("buckets"); given {
		n, valid := b.integer(1, breaker.MaxBuckets)
		c.Count, ok = n, ok && valid
	}
	if ok && uint64(c.Span) < uint64(c.Count) {
		v.fail(describe(v.node), "at least a nanosecond for each of the "+strconv.Itoa(int(c.Count))+" buckets", "")
	}
	return ok
}

// oneOf returns which one of the names is there; none or two are an error,
// which an unknown name in their place is already.
func (f *fields) oneOf(allowed string, names ...string) (string, bool) {
	found := ""
	for _, name := range names {
		switch {
		case !f.has(name):
		case found != "":
			f.refuse("beside "+found, "alone: "+allowed, name)
			return "", false
		default:
			found = name
		}
	}
	if found == "" && !f.torn && len(f.meant) == 0 {
		f.fail("none of "+orList(names), allowed, "")
	}
	return found, found != ""
}

// rates reads what a window of calls or of time is judged by. The minimum is
// compared with the window when that could be read.
func (f *fields) rates(c *breaker.Config, window bool) {
	c.FailureRate = defaultFailure
	if v, ok := f.get("failure_rate"); ok {
		c.FailureRate, _ = v.share()
	}
	if v, ok := f.get("slow"); ok {
		v.slow(c)
	}
	c.Minimum = defaultMinimum
	if c.Window == breaker.Calls {
		c.Minimum = min(defaultMinimum, c.Count)
	}
	v, ok := f.get("minimum")
	if !ok {
		return
	}
	c.Minimum, ok = v.integer(1, breaker.MaxCalls)
	if ok && window && c.Window == breaker.Calls && c.Minimum > c.Count {
		v.fail(describe(v.node), "at most the window's calls, "+strconv.Itoa(int(c.Count)), "")
	}
}

// slow reads {over, rate}, both of which it needs.
func (p place) slow(c *breaker.Config) {
	f, ok := p.fields("a map of over and rate", "over", "rate")
	if !ok {
		return
	}
	if v, ok := f.need("over", durationText); ok {
		c.SlowOver, _ = v.duration(1)
	}
	if v, ok := f.need("rate", "a share as in 80%"); ok {
		c.SlowRate, _ = v.share()
	}
}

// open reads how long a breaker stays open: a duration, or a backoff in which
// a jitter may be named.
func (p place) open() backoff.Config {
	c := backoff.Config{Kind: backoff.Constant}
	if p.node.Kind != tree.Map {
		if p.node.Kind != tree.Text {
			p.mistyped(durationText + "; or a backoff as in {exponential: 10s, max: 5m}")
			return c
		}
		c.Base, _ = p.duration(1)
		return c
	}
	f, ok := p.fields(backoffText, append(slices.Clone(backoffSettings), "jitter")...)
	if !ok {
		return c
	}
	c, kind, whole := f.backoff()
	if !whole {
		c.Kind = backoff.Constant
	}
	if v, ok := f.get("jitter"); ok {
		v.jitter(&c, kind)
	}
	return c
}
