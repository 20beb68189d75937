package document

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// integer reads a whole number from least to most, in decimal digits.
func (p place) integer(least, most int) (uint32, bool) {
	allowed := "a whole number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)
	inside := func(text string) (uint64, bool) {
		n, err := strconv.ParseUint(text, 10, 32)
		return n, err == nil && n >= uint64(least) && n <= uint64(most) && strconv.FormatUint(n, 10) == text
	}
	switch n, ok := inside(p.node.Text); {
	case p.node.Kind == tree.Number && ok:
		return uint32(n), true
	case p.node.Kind == tree.Text && ok:
		p.fail(describe(p.node), allowed+", without quotes", p.node.Text)
	default:
		p.mistyped(allowed)
	}
	return 0, false
}

// boolean reads true or false.
func (p place) boolean() bool {
	if p.node.Kind == tree.Bool {
		return p.node.Text == "true"
	}
	near := ""
	if p.node.Kind == tree.Text {
		switch strings.ToLower(p.node.Text) {
		case "true", "yes", "on", "y":
			near = "true"
		case "false", "no", "off", "n":
			near = "false"
		}
	}
	p.fail(describe(p.node), "true or false", near)
	return false
}

// word reads one of a few words and returns its index, -1 for none of them.
func (p place) word(known ...string) int {
	if p.node.Kind != tree.Text {
		p.mistyped(orList(known))
		return -1
	}
	i := slices.Index(known, p.node.Text)
	if i < 0 {
		p.fail(describe(p.node), orList(known), nearest(p.node.Text, known))
	}
	return i
}

// text reads any text.
func (p place) text(allowed string) (string, bool) {
	if p.node.Kind != tree.Text {
		if p.node.Kind == tree.Number || p.node.Kind == tree.Bool {
			allowed += ", in quotes"
		}
		p.mistyped(allowed)
		return "", false
	}
	return p.node.Text, true
}

// share reads a percentage of at most four decimals, more than 0 and at most
// the whole.
func (p place) share() (reducer.Share, bool) {
	return p.percentage(1, reducer.Whole, "a share as in 20% or 0.5%, more than 0% and at most 100%, with at most 4 decimals")
}

// percentage reads a percentage from least to most.
func (p place) percentage(least, most reducer.Share, allowed string) (reducer.Share, bool) {
	inside := func(text string) (reducer.Share, bool) {
		digits, percent := strings.CutSuffix(text, "%")
		n, ok := fixed(digits, 4)
		return reducer.Share(n), percent && ok && n >= uint64(least) && n <= uint64(most)
	}
	share, ok := inside(p.node.Text)
	if p.node.Kind == tree.Text && ok {
		return share, true
	}
	near := ""
	switch _, ok := inside(p.node.Text + "%"); {
	case p.node.Kind == tree.Number && ok && len(p.node.Text) < longestName && !strings.HasPrefix(p.node.Text, "0"):
		near = p.node.Text + "%"
	case p.node.Kind == tree.Text:
		near = nearestUnits(p.node.Text, func(s string) bool { _, ok := inside(s); return ok })
	}
	p.fail(describe(p.node), allowed, near)
	return 0, false
}

// fixed reads digits, and behind a point at most as many as decimals, and
// returns the number in units of the last decimal: fixed("1.5", 4) is 15,000.
func fixed(text string, decimals int) (uint64, bool) {
	whole, fraction, point := strings.Cut(text, ".")
	if digits, rest := cutDigits(whole); digits == "" || rest != "" || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	if digits, rest := cutDigits(fraction); rest != "" || point && digits == "" || len(digits) > decimals {
		return 0, false
	}
	n, ok := decimal(whole + fraction + strings.Repeat("0", decimals-len(fraction)))
	return n, ok && n < 1<<32
}

// factor reads a number from 1 to 1000 of at most six decimals.
func (p place) factor() (backoff.Factor, bool) {
	if p.node.Kind == tree.Number {
		n, ok := fixed(p.node.Text, 6)
		if ok && n >= uint64(backoff.MaxFactor/1000) && n <= uint64(backoff.MaxFactor) {
			return backoff.Factor(n), true
		}
	}
	p.mistyped("a number from 1 to 1000 with at most 6 decimals, as in 2 or 1.5")
	return 0, false
}

// rateText is what every error about a rate allows.
const rateText = "a rate COUNT/DURATION as in 50/1m, 50/m or 1000/1h, the duration with its unit (ns, us, ms, s, m, h, d)"

// parseRate reads COUNT/DURATION; a bare unit is one of it.
func parseRate(text string) (count uint64, period time.Duration, v verdict) {
	digits, rest, slash := strings.Cut(text, "/")
	if !slash {
		return 0, 0, malformed
	}
	whole, tail := cutDigits(digits)
	count, ok := decimal(whole)
	if whole == "" || tail != "" || len(whole) > 1 && whole[0] == '0' {
		return 0, 0, malformed
	}
	if !ok {
		count = 1<<64 - 1
	}
	if size, tail := cutUnit(rest); size > 0 && tail == "" {
		return count, time.Duration(size), good
	}
	period, v = parseDuration(rest)
	return count, period, v
}

// rate reads a rate of at least the least count, 0 or 1, and at most
// limiter.MaxCount, that gives no more than one permit a nanosecond.
func (p place) rate(least uint64) (count uint32, period time.Duration, ok bool) {
	if p.node.Kind != tree.Text {
		p.mistyped(rateText)
		return 0, 0, false
	}
	inside := func(text string) bool {
		n, d, v := parseRate(text)
		return v == good && d > 0 && n >= least && n <= limiter.MaxCount && n <= uint64(d)
	}
	n, d, v := parseRate(p.node.Text)
	switch {
	case inside(p.node.Text):
		return uint32(n), d, true
	case v == good && (n < least || n > limiter.MaxCount):
		p.fail(describe(p.node), rateText+"; the count from "+strconv.FormatUint(least, 10)+" to "+strconv.Itoa(limiter.MaxCount), "")
	case v == good && d == 0:
		p.fail(describe(p.node), rateText+"; the duration more than 0", "")
	case v == good:
		p.fail(describe(p.node), "a rate of at most one permit a nanosecond", "")
	case v == overlong:
		p.fail(describe(p.node), rateText+"; the duration at most "+longestText, "")
	default:
		p.fail(describe(p.node), rateText, nearestUnits(p.node.Text, inside))
	}
	return 0, 0, false
}
