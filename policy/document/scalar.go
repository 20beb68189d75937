package document

import (
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// parseWhole reads a whole number in decimal digits, without zeros in front.
func parseWhole(text string) (uint64, bool) {
	n, rest := cutNumber(text)
	return n, text != "" && rest == "" && (text[0] != '0' || len(text) == 1)
}

// asInteger reads a whole number from least to most and returns whether it is
// one.
func (r *reader) asInteger(n *tree.Node, least, most int, into *uint32) bool {
	number, ok := parseWhole(n.Text)
	ok = ok && number >= uint64(least) && number <= uint64(most)
	if n.Kind == tree.Number && ok {
		*into = uint32(number)
		return true
	}
	p := r.mistyped(n, "a whole number from $x to $y")
	p.x, p.y = least, most
	if n.Kind == tree.Text && ok {
		p.allowed, p.near = "a whole number from $x to $y, without quotes", n.Text
	}
	return false
}

// asBool reads true or false.
func (r *reader) asBool(n *tree.Node) bool {
	if n.Kind == tree.Bool {
		return n.Text == "true"
	}
	p := r.mistyped(n, "true or false")
	if n.Kind == tree.Text {
		switch i := index("true yes on y false no off n", lower(n.Text)); {
		case i >= 4:
			p.near = "false"
		case i >= 0:
			p.near = "true"
		}
	}
	return false
}

// asWord reads one of a few words and returns its index, -1 for none of them.
func (r *reader) asWord(n *tree.Node, list string) int {
	near := ""
	if n.Kind == tree.Text {
		if i := index(list, n.Text); i >= 0 {
			return i
		}
		near = word(list, nearest(n.Text, list))
	}
	p := r.mistyped(n, "$l")
	p.word, p.near = list, near
	return -1
}

// words reads one of a few words, or a list of them, as a set: a bit for each, 0 for all.
// It returns whether it is whole.
func (r *reader) words(n *tree.Node, list string, into *uint8) bool {
	items := n.Items
	switch {
	case n.Kind != tree.List:
		items = []*tree.Node{n}
	case len(items) == 0:
		p := r.mistyped(n, "$l, or a list of them")
		p.word = list
		return false
	}
	set, found, whole := uint8(0), 0, true
	for _, item := range items {
		i := r.asWord(item, list)
		switch {
		case i < 0:
			whole = false
		case set&(1<<i) != 0:
			r.fail(item, "$q again", "each word once")
			whole = false
		default:
			set |= 1 << i
			found++
		}
	}
	if word(list, found) == "" {
		set = 0 // every word
	}
	*into = set
	return whole
}

// isText reports whether a node is a text, and an error when it is not.
func (r *reader) isText(n *tree.Node, allowed string) bool {
	if n.Kind == tree.Text {
		return true
	}
	p := r.mistyped(n, allowed)
	if n.Kind == tree.Number || n.Kind == tree.Bool {
		p.allowed, p.other = "$o, in quotes", allowed
	}
	return false
}

// chanceText is what every error about a share that may be 0% allows.
const chanceText = "a share as in 20% or 0.5%, from 0% to 100%, with at most 4 decimals"

// asRatio is asShare for a percentage of more than nothing and at most the whole.
func (r *reader) asRatio(n *tree.Node, into *reducer.Share) bool {
	return r.asShare(n, 1, int(reducer.Whole), "a share as in 20% or 0.5%, more than 0% and at most 100%, with at most 4 decimals", into)
}

// asShare reads a percentage from least to most, of at most four decimals, and
// returns whether it is one.
func (r *reader) asShare(n *tree.Node, least, most int, allowed string, into *reducer.Share) bool {
	share, ok := parseShare(n.Text, least, most)
	if n.Kind == tree.Text && ok {
		*into = reducer.Millionths(uint32(share))
		return true
	}
	p := r.mistyped(n, allowed)
	if n.Kind == tree.Text || n.Kind == tree.Number {
		p.hint, p.x, p.y = aShare, least, most
	}
	return false
}

// parseShare reads a percentage from least to most.
func parseShare(text string, least, most int) (uint64, bool) {
	last := len(text) - 1
	if last < 0 || text[last] != '%' {
		return 0, false
	}
	n, ok := fixed(text[:last], 4)
	return n, ok && n >= uint64(least) && n <= uint64(most)
}

// fixed reads digits, and behind a point at most as many as decimals, and
// returns the number in units of the last decimal: fixed("1.5", 4) is 15,000.
func fixed(text string, decimals int) (uint64, bool) {
	n, rest := cutNumber(text)
	_, ok := parseWhole(text[:len(text)-len(rest)])
	if n >= 1<<32 {
		return 0, false
	}
	if len(rest) > 1 && rest[0] == '.' {
		rest = rest[1:]
	}
	for range decimals {
		n *= 10
		if rest != "" && isDigit(rest[0]) {
			n += uint64(rest[0] - '0')
			rest = rest[1:]
		}
	}
	return n, ok && rest == "" && n < 1<<32
}

// asFactor reads a number from 1 to 1000 of at most six decimals.
func (r *reader) asFactor(n *tree.Node, into *backoff.Factor) {
	factor, ok := fixed(n.Text, 6)
	if n.Kind != tree.Number || !ok || factor < uint64(backoff.FactorOne) || factor > uint64(backoff.MaxFactor) {
		r.mistyped(n, "a number from 1 to 1000 with at most 6 decimals, as in 2 or 1.5")
		return
	}
	*into = backoff.Factor(factor)
}

// rateText is what every error about a rate allows, $r in its text.
const rateText = "a rate COUNT/DURATION as in 50/1m, 50/m or 1000/1h, the duration with its unit (ns, us, ms, s, m, h, d)"

// parseRate reads COUNT/DURATION, the count from least to limiter.MaxCount, that
// gives no more than one permit a nanosecond; a bare unit is one of it.
func parseRate(text string, least uint64) (count uint64, period time.Duration, v verdict) {
	slash := strings.IndexByte(text, '/')
	if slash < 0 {
		return 0, 0, malformed
	}
	count, ok := parseWhole(text[:slash])
	if !ok {
		return 0, 0, malformed
	}
	duration := text[slash+1:]
	if size, rest := cutUnit(duration); size > 0 && rest == "" {
		period = time.Duration(size)
	} else if period, v = parseDuration(duration, 0); v != good {
		return 0, 0, v
	}
	switch {
	case count < least || count > limiter.MaxCount:
		v = miscount
	case period == 0:
		v = tooFew
	case count > uint64(period):
		v = tooDense
	}
	return count, period, v
}

// limitRateText is what every error about the rate of a limit allows.
const limitRateText = "$r, or by the calendar as in 1000/day, 1000/week or 1000/month"

// asLimitRate reads a rate by a duration or by a unit of the calendar, and returns whether
// it is one.
func (r *reader) asLimitRate(n *tree.Node, into mechanism.RateField) bool {
	for unit := calendar.Day; unit <= calendar.Month; unit++ {
		text, ok := strings.CutSuffix(n.Text, "/"+unit.String())
		if !ok || n.Kind != tree.Text {
			continue
		}
		count, ok := parseWhole(text)
		if !ok || count < 1 || count > limiter.MaxCount {
			p := r.mistyped(n, limitRateText+"; the count from $x to $y")
			p.x, p.y = 1, limiter.MaxCount
			return false
		}
		*into.Count, *into.Period, *into.Unit = uint32(count), unit.Length(), unit
		return true
	}
	return r.asRateOf(n, 1, limitRateText, into.Count, into.Period)
}

// asZone reads a time zone, and returns whether it is one.
func (r *reader) asZone(n *tree.Node, into *calendar.Zone) bool {
	if !r.isText(n, zoneText) {
		return false
	}
	zone, ok := calendar.ParseZone(n.Text)
	if !ok {
		r.mistyped(n, zoneText)
		return false
	}
	*into = zone
	return true
}

// zoneText is what every error about a zone allows.
const zoneText = calendar.ZoneText + "; sluice zone NAME prints that of a zone as in Europe/Berlin"

// asRate reads a rate of at least the least count, 0 or 1, and returns whether
// it is one.
func (r *reader) asRate(n *tree.Node, least uint64, count *uint32, period *time.Duration) bool {
	return r.asRateOf(n, least, "$r", count, period)
}

// asRateOf is asRate with what errors allow.
func (r *reader) asRateOf(n *tree.Node, least uint64, allowed string, count *uint32, period *time.Duration) bool {
	c, d, v := parseRate(n.Text, least)
	if n.Kind == tree.Text && v == good {
		*count, *period = uint32(c), d
		return true
	}
	p := r.mistyped(n, allowed)
	if n.Kind != tree.Text {
		return false
	}
	p.x, p.y = int(least), limiter.MaxCount
	switch v {
	case miscount:
		p.allowed = allowed + "; the count from $x to $y"
	case tooFew:
		p.allowed = allowed + "; the duration more than 0"
	case tooDense:
		p.allowed = "a rate of at most one permit a nanosecond"
	case overlong:
		p.allowed = allowed + "; the duration at most " + longestText
	default:
		p.hint = aRate
	}
	return false
}
