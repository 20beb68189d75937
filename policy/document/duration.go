package document

import (
	"math/bits"
	"strings"
	"time"

	"github.com/sluice-go/sluice/policy/tree"
)

// durationText is what every error about a duration allows.
const durationText = "a duration: numbers, each with its unit (ns, us, ms, s, m, h, d), as in 30s or 1m30s"

// longestText is the longest duration, 2^63 - 1 nanoseconds.
const longestText = "106751d23h47m16.854775807s"

// unit is a unit of durations.
type unit struct {
	name string
	size uint64 // in nanoseconds
}

// units in the order in which they are tried: ms before m, which begins it.
var units = [...]unit{
	{"ns", 1},
	{"us", 1e3},
	{"\u00b5s", 1e3}, // micro sign
	{"\u03bcs", 1e3}, // Greek letter mu
	{"ms", 1e6},
	{"s", 1e9},
	{"m", 60e9},
	{"h", 3600e9},
	{"d", 24 * 3600e9},
}

// verdict says what is wrong with a text that should be a quantity.
type verdict uint8

const (
	good verdict = iota
	malformed
	bare     // a number without a unit
	signed   // a sign in front
	overlong // more than an int64 of nanoseconds holds
	unwhole  // not a whole number of nanoseconds
)

// parseDuration reads a duration as Go writes it, d for 24 hours besides. It
// takes no sign and never rounds.
func parseDuration(text string) (time.Duration, verdict) {
	if text == "" {
		return 0, malformed
	}
	if text[0] == '-' || text[0] == '+' {
		return 0, signed
	}
	const longest = 1<<63 - 1
	sum := uint64(0)
	for text != "" {
		whole, rest := cutDigits(text)
		fraction := ""
		if strings.HasPrefix(rest, ".") {
			fraction, rest = cutDigits(rest[1:])
		}
		if whole+fraction == "" {
			return 0, malformed
		}
		size, rest := cutUnit(rest)
		if size == 0 {
			if rest == "" {
				return 0, bare
			}
			return 0, malformed
		}
		part, v := scale(whole, fraction, size)
		if v != good {
			return 0, v
		}
		if sum += part; sum > longest || part > longest {
			return 0, overlong
		}
		text = rest
	}
	return time.Duration(sum), good
}

// scale returns whole.fraction times the size, exactly.
func scale(whole, fraction string, size uint64) (uint64, verdict) {
	n, ok := decimal(whole)
	high, sum := bits.Mul64(n, size)
	if !ok || high > 0 {
		return 0, overlong
	}
	fraction = strings.TrimRight(fraction, "0")
	// The last digit is not 0, so the reduced fraction has 2 or 5 in its
	// denominator once for each digit, and no unit has either 17 times.
	if len(fraction) > 16 {
		return 0, unwhole
	}
	n, _ = decimal(fraction)
	divisor := uint64(1)
	for range fraction {
		divisor *= 10
	}
	high, low := bits.Mul64(n, size)
	part, left := bits.Div64(high, low, divisor)
	if left > 0 {
		return 0, unwhole
	}
	if sum+part < sum {
		return 0, overlong
	}
	return sum + part, good
}

// decimal reads digits; "" is 0. It returns false when they are too many.
func decimal(digits string) (uint64, bool) {
	n := uint64(0)
	for _, digit := range []byte(digits) {
		high, low := bits.Mul64(n, 10)
		sum, carry := bits.Add64(low, uint64(digit-'0'), 0)
		if high+carry > 0 {
			return 0, false
		}
		n = sum
	}
	return n, true
}

// cutDigits splits a text behind the digits in front.
func cutDigits(text string) (digits, rest string) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}

// cutUnit returns the size of the unit in front, 0 for none.
func cutUnit(text string) (size uint64, rest string) {
	for _, u := range units {
		if rest, ok := strings.CutPrefix(text, u.name); ok {
			return u.size, rest
		}
	}
	return 0, text
}

// duration reads a duration of at least the least one, 0 or 1.
func (p place) duration(least time.Duration) (time.Duration, bool) {
	allowed := durationText
	if least > 0 {
		allowed += "; more than 0"
	}
	if p.node.Kind != tree.Text {
		p.mistyped(allowed)
		return 0, false
	}
	d, v := parseDuration(p.node.Text)
	switch {
	case v == good && d >= least:
		return d, true
	case v == good:
		p.fail(describe(p.node), allowed, "")
	case v == signed:
		p.fail(describe(p.node), allowed+", without a sign", "")
	case v == overlong:
		p.fail(describe(p.node), "a duration of at most "+longestText, "")
	case v == unwhole:
		p.fail(describe(p.node), "a duration of whole nanoseconds", "")
	default:
		p.fail(describe(p.node), allowed, nearestUnits(p.node.Text, func(s string) bool {
			d, v := parseDuration(s)
			return v == good && d >= least
		}))
	}
	return 0, false
}

// spelled are units as people write them out, the longest first of those that
// begin alike.
var spelled = strings.NewReplacer(
	" ", "", "milliseconds", "ms", "millis", "ms", "msecs", "ms", "msec", "ms",
	"microseconds", "us", "micros", "us", "nanoseconds", "ns",
	"seconds", "s", "second", "s", "secs", "s", "sec", "s",
	"minutes", "m", "minute", "m", "mins", "m", "min", "m",
	"hours", "h", "hour", "h", "hrs", "h", "hr", "h",
	"days", "d", "day", "d",
)

// nearestUnits returns the text with its units as they should be, when that
// makes it right, else "".
func nearestUnits(text string, right func(string) bool) string {
	if len(text) > longestName {
		return ""
	}
	if near := spelled.Replace(strings.ToLower(text)); near != text && right(near) {
		return near
	}
	return ""
}
