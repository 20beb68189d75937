package document

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// backoffs in the order of backoff.Kind from Constant on, and all that a map of
// one may hold.
const (
	backoffs        = "constant linear exponential fibonacci decorrelated delays"
	backoffSettings = backoffs + " factor max"
)

// backoffForm is what a backoff may be.
type backoffForm struct {
	kinds   string
	allowed string
	least   time.Duration // of the delays of a list
	most    time.Duration // the default max of an exponential one
	mostIs  string
}

// backoffText is what every error about a backoff allows, $b in its text.
const backoffText = "one of {constant: d}, {linear: d, max: d}, {exponential: d, factor: n, max: d}, {fibonacci: d, max: d}, {decorrelated: d, max: d} or {delays: [d, d]}"

// backoff reads none or a map of one kind, with the jitter that is the kind's
// default.
func (r *reader) backoff(n *tree.Node, c *backoff.Config) {
	const allowed = "none, or $b"
	*c = backoff.Config{}
	if n.Kind == tree.Text && n.Text == noneWord {
		return
	}
	if n.Kind == tree.Map {
		var f fields
		f.read(r, n, allowed, backoffSettings)
		f.backoff(c, &backoffForm{backoffs, "$b", 0, backoff.DefaultMax, "1m"})
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
}

// backoff reads the map of a backoff, without jitter. The kind is Constant where it
// is unknown: to read a jitter, any kind with a jitter suffices.
func (f *fields) backoff(c *backoff.Config, form *backoffForm) {
	c.Kind = backoff.Constant
	e := f.oneOf(form.kinds, form.allowed)
	if e == nil {
		return
	}
	kind := backoff.Constant + backoff.Kind(index(backoffs, e.Key))
	if kind == backoff.Listed {
		if f.delays(e, form.least, &c.Delays) {
			c.Kind = kind
		}
	} else if f.asDuration(e, 1, &c.Base) {
		c.Kind = kind
	}
	if kind == backoff.Constant || kind == backoff.Listed {
		f.refuse("max", "$t beside $w", "$t beside a backoff that grows", e.Key)
	}
	if kind == backoff.Exponential {
		c.Factor, c.Max = backoff.DefaultFactor, form.most
	} else {
		f.refuse("factor", "$t beside $w", "$t beside exponential", e.Key)
	}
	if n := f.get("factor"); n != nil {
		f.asFactor(n, &c.Factor)
	}
	if kind == backoff.Listed {
		c.Factor, c.Max = 0, 0
		return
	}
	f.duration("max", 1, &c.Max)
	if c.Kind != backoff.Constant && c.Max > 0 && c.Max < c.Base {
		f.maxBelow(e, form)
	}
}

// delays reads a list of delays of at least the least, and returns whether it is one.
func (r *reader) delays(n *tree.Node, least time.Duration, into *backoff.List) bool {
	if n.Kind != tree.List || len(n.Items) == 0 || len(n.Items) > backoff.MaxDelays {
		r.mistyped(n, "a list of 1 to $x durations, as in [100ms, 1s, 5s]").x = backoff.MaxDelays
		return false
	}
	list, whole := make([]time.Duration, len(n.Items)), true
	for i, item := range n.Items {
		whole = r.asDuration(item, least, &list[i]) && whole
	}
	*into = backoff.Delays(list...)
	return whole
}

// maxBelow reports a base above the max, at the max where the document has it.
func (f *fields) maxBelow(base *tree.Node, form *backoffForm) {
	if n := f.get("max"); n != nil {
		f.mistyped(n, "at least the base, $w").word = base.Text
		return
	}
	f.mistyped(base, "at most the default max, $w, or a max beside it").word = form.mostIs
}

// open reads how long a breaker stays open: a duration, or a backoff in which
// a jitter may be named.
func (r *reader) open(n *tree.Node, c *backoff.Config) {
	switch n.Kind {
	case tree.Text:
		c.Kind = backoff.Constant
		r.asDuration(n, 1, &c.Base)
	case tree.Map:
		var f fields
		f.read(r, n, "$b", backoffSettings+" jitter")
		*c = backoff.Config{}
		f.backoff(c, &backoffForm{backoffs, "$b", 1, backoff.DefaultMax, "1m"})
		if n := f.get("jitter"); n != nil {
			r.jitter(n, c)
		}
	default:
		r.mistyped(n, "$d; or a backoff as in {exponential: 10s, max: 5m}")
	}
}

// growths are the backoffs without randomness.
const growths = "constant linear exponential fibonacci delays"

// blockTime reads how long a block lasts: a duration, or a backoff without randomness.
func (r *reader) blockTime(n *tree.Node, c *backoff.Config) {
	switch n.Kind {
	case tree.Text:
		c.Kind = backoff.Constant
		r.asDuration(n, 1, &c.Base)
	case tree.Map:
		const allowed = "one of {constant: d}, {linear: d, max: d}, {exponential: d, factor: n, max: d}, {fibonacci: d, max: d} or {delays: [d, d]}"
		var f fields
		f.read(r, n, allowed, growths+" factor max")
		*c = backoff.Config{}
		f.backoff(c, &backoffForm{growths, allowed, 1, limiter.DefaultMaxBlock, "24h"})
	default:
		r.mistyped(n, "$d; or a backoff as in {exponential: 1m, max: 1h}")
	}
}

// jitters in the order of backoff.JitterKind, without Fraction.
const jitters = "none full equal"

// jitter reads the jitter of the delays of a backoff.
func (r *reader) jitter(n *tree.Node, c *backoff.Config) {
	const allowed = "none, full, equal, or a share as in 20%"
	i, near := -1, -1
	if n.Kind == tree.Text {
		i, near = index(jitters, n.Text), nearest(n.Text, jitters)
	}
	switch {
	case i >= 0:
		c.Jitter = backoff.JitterKind(i)
	case near >= 0:
		r.mistyped(n, allowed).near = word(jitters, near)
		return
	case !r.asShare(n, 1, int(reducer.Whole), allowed, &c.Share):
		return
	default:
		c.Jitter = backoff.Fraction
	}
	if c.Jitter != backoff.NoJitter && (c.Kind == backoff.None || c.Kind == backoff.Decorrelated) {
		r.fail(n, "jitter $t beside backoff $w", "jitter none beside it, or another backoff").word = c.Kind.String()
	}
}

// ratioText is what every error about a ratio allows.
const ratioText = "a share as in 20%, from 0% to 1000%, with at most 4 decimals"

// budget reads none, a ratio, or a map, and returns whether it is one of them.
func (r *reader) budget(n *tree.Node, c *budget.Config) bool {
	if n.Kind == tree.Text && n.Text == noneWord {
		return true
	}
	*c = budget.Default(reducer.Share{})
	if n.Kind != tree.Map {
		return r.asShare(n, 0, int(budget.MaxRatio), "none, "+ratioText+", or a map with ratio, tokens, max_tokens or adaptive", &c.Ratio)
	}
	var f fields
	f.read(r, n, "a map", windowed+" "+tokens+" "+throttle+" "+adaptive)
	rule := windowed
	switch {
	case f.get("tokens") == nil && f.get("max_tokens") == nil && f.get("adaptive") == nil:
		if n := f.need("ratio", ratioText); n != nil {
			r.asShare(n, 0, int(budget.MaxRatio), ratioText, &c.Ratio)
		}
		if n := f.get("minimum"); n != nil {
			r.asRate(n, 0, &c.MinimumCount, &c.MinimumPeriod)
		}
		r.bucketed(f.get("window"), &c.Window)
	case f.oneOf("ratio tokens max_tokens adaptive", "one of ratio, tokens, max_tokens and adaptive") == nil:
		return true
	case f.get("tokens") != nil:
		*c = budget.Config{Rule: budget.Tokens}
		if !f.integer("tokens", 1, budget.MaxTokens, &c.Tokens) {
			c.Tokens = budget.MaxTokens
		}
		most := int(c.Tokens)
		f.integer("retry", 1, most, &c.Retry)
		f.integer("timeout", 1, most, &c.Timeout)
		f.integer("refund", 1, most, &c.Refund)
		*c, rule = c.WithDefaults(), tokens
	case f.get("adaptive") != nil:
		*c, rule = budget.Config{Rule: budget.Adaptive}, adaptive
		r.bucketed(f.get("adaptive"), &c.Window)
		if n := f.get("one_above"); n != nil {
			r.asRatio(n, &c.OneAbove)
		}
		if n := f.get("two_above"); n != nil {
			r.asRatio(n, &c.TwoAbove)
		}
		f.duration("wait", 1, &c.Wait)
		*c = c.WithDefaults()
		if c.TwoAbove.Compare(c.OneAbove) > 0 {
			n := f.get("two_above")
			if n == nil {
				n = f.get("one_above")
			}
			r.mistyped(n, "two_above of at most one_above")
		}
	default:
		*c = budget.Config{Rule: budget.Throttle}
		f.integer("max_tokens", 1, budget.MaxThrottle, &c.Tokens)
		if n := f.need("token_ratio", tokenRatioText); n != nil {
			r.asTokenRatio(n, &c.TokenRatio)
		}
		rule = throttle
	}
	for _, names := range [...]string{windowed, tokens, throttle, adaptive} {
		if names != rule {
			f.refuseAll(names)
		}
	}
	return true
}

// bucketed reads the window of a budget.
func (r *reader) bucketed(n *tree.Node, into *time.Duration) {
	if n != nil && r.asDuration(n, 1, into) && *into < budget.Buckets {
		r.mistyped(n, "at least $xns, one for each bucket").x = budget.Buckets
	}
}

// The settings of the rules of a budget, the name of the rule first.
const (
	windowed = "ratio minimum window"
	tokens   = "tokens retry timeout refund"
	throttle = "max_tokens token_ratio"
	adaptive = "adaptive one_above two_above wait"
)

// refuseAll refuses the settings of a rule of a budget that another rule has.
func (f *fields) refuseAll(names string) {
	for i := 0; ; i++ {
		name := word(names, i)
		if name == "" {
			return
		}
		f.refuse(name, "$t without $w", "$t beside $w", word(names, 0))
	}
}

const tokenRatioText = "a number from 0.001 to 1000 with at most 3 decimals, as in 0.1"

// asTokenRatio reads what a success returns to a budget, in tokens.
func (r *reader) asTokenRatio(n *tree.Node, into *reducer.Share) {
	ratio, ok := fixed(n.Text, 3)
	if n.Kind != tree.Number || !ok || ratio == 0 || ratio > budget.MaxThrottle*1000 {
		r.mistyped(n, tokenRatioText)
		return
	}
	*into = reducer.Millionths(uint32(ratio) * 1000)
}

// delayText is what every error about the delay of a hedge allows.
const delayText = "a duration as in 200ms, or a percentile as in p95"

// isDelay reports whether a text is a duration or a percentile.
func isDelay(text string) bool {
	_, v := parseDuration(text, 1)
	_, percentile := parsePercentile(text)
	return v == good || percentile
}

// delay reads a duration or a percentile, and returns whether it is one.
func (r *reader) delay(n *tree.Node, into mechanism.DelayField) bool {
	if n.Kind != tree.Text {
		r.mistyped(n, delayText)
		return false
	}
	if share, ok := parsePercentile(n.Text); ok {
		*into.Percentile = share
		return true
	}
	if near, ok := percentileLike(n.Text); ok {
		r.mistyped(n, "a percentile as in p95 or p99.9, more than p0 and at most p100, with at most 4 decimals").near = near
		return false
	}
	if _, v := parseDuration(n.Text, 1); v == malformed {
		p := r.mistyped(n, delayText)
		p.hint, p.x = aDuration, 1
		return false
	}
	return r.asDuration(n, 1, into.Duration)
}

// boundText is what every error about a bound of a time allows.
const boundText = "a duration as in 500ms, or a share of the time that the attempt has, as in 60%"

// bound reads a duration or a share, and returns whether it is one.
func (r *reader) bound(n *tree.Node, into mechanism.BoundField) bool {
	last := len(n.Text) - 1
	switch _, v := parseDuration(n.Text, 1); {
	case n.Kind != tree.Text:
		r.mistyped(n, boundText)
	case last >= 0 && n.Text[last] == '%':
		return r.asShare(n, 1, int(reducer.Whole), boundText, into.Share)
	case v == malformed:
		p := r.mistyped(n, boundText)
		p.hint, p.x = aDuration, 1
	default:
		return r.asDuration(n, 1, into.Duration)
	}
	return false
}

// parsePercentile reads a p and a number of more than 0 and at most 100.
func parsePercentile(text string) (reducer.Share, bool) {
	if text == "" || text[0] != 'p' {
		return reducer.Share{}, false
	}
	share, ok := parseShare(text[1:]+"%", 1, int(reducer.Whole))
	return reducer.Millionths(uint32(share)), ok
}

// percentileLike reports whether a text looks like a percentile, and returns a
// suggestion, "" for none.
func percentileLike(text string) (near string, ok bool) {
	plain := text
	last := len(plain) - 1
	switch {
	case last > 0 && (plain[0] == 'p' || plain[0] == 'P') && isDigit(plain[1]):
		plain = plain[1:]
	case last > 0 && plain[last] == '%':
		plain = plain[:last]
	default:
		return "", false
	}
	if _, whole := parsePercentile("p" + plain); !whole || len(plain) > longestName {
		return "", true
	}
	return "p" + plain, true
}
