package document

import (
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// delayText is what every error about the delay of a hedge allows.
const delayText = "a duration as in 200ms, or a percentile as in p95"

// hedge reads a map of settings.
func (r *reader) hedge(f *fields, n *tree.Node, c *hedge.Config) {
	c.Max = hedge.DefaultMax
	if n.Kind == tree.Text {
		p := r.mistyped(n, "a map of settings")
		if r.isDelay(n.Text) {
			p.near, p.word, p.hint = "{after: $w}", n.Text, filled
		}
		return
	}
	if !f.read(r, n, "a map of settings", "after max parallel samples minimum budget methods"+common) {
		return
	}
	if n := f.get("parallel"); n != nil {
		c.Parallel = f.asBool(n)
	}
	whole := true
	if c.Parallel {
		f.refuse("after", "$t beside parallel", "$t or parallel, not both", "")
	} else if n := f.need("after", delayText+"; or parallel: true"); n != nil {
		whole = r.delay(n, c)
	}
	f.integer("max", 1, hedge.MaxHedges, &c.Max)
	if c.Percentile > 0 {
		f.durations(c)
	} else if whole {
		for _, name := range [...]string{"samples", "minimum"} {
			f.refuse(name, "$t without a percentile", "$t beside a percentile as in after: p95", "")
		}
	}
	if n := f.get("budget"); n != nil {
		c.Budgeted = r.budget(n, &c.Budget)
		c.Unbudgeted = !c.Budgeted
	}
}

// durations reads what a percentile is taken from.
func (f *fields) durations(c *hedge.Config) {
	c.Samples = hedge.DefaultSamples
	n := f.get("samples")
	whole := n == nil || f.asInteger(n, 1, hedge.MaxSamples, &c.Samples)
	c.Minimum = min(hedge.DefaultMinimum, c.Samples)
	if f.integer("minimum", 1, hedge.MaxSamples, &c.Minimum) && whole && c.Minimum > c.Samples {
		f.mistyped(f.get("minimum"), "at most the samples, $x").x = int(c.Samples)
	}
}

// isDelay reports whether a text is a duration or a percentile.
func (r *reader) isDelay(text string) bool {
	_, v := parseDuration(text, 1)
	_, percentile := parsePercentile(text)
	return v == good || percentile
}

// delay reads a duration or a percentile, and returns whether it is one.
func (r *reader) delay(n *tree.Node, c *hedge.Config) bool {
	if n.Kind != tree.Text {
		r.mistyped(n, delayText)
		return false
	}
	if share, ok := parsePercentile(n.Text); ok {
		c.Percentile = share
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
	return r.asDuration(n, 1, &c.After)
}

// parsePercentile reads a p and a number of more than 0 and at most 100.
func parsePercentile(text string) (reducer.Share, bool) {
	if text == "" || text[0] != 'p' {
		return 0, false
	}
	share, ok := parseShare(text[1:]+"%", 1, int(reducer.Whole))
	return reducer.Share(share), ok
}

// percentileLike reports whether a text is meant as a percentile, and the one
// that may be meant, "" for none.
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
