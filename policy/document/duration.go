package document

import (
	"strings"
	"time"

	"github.com/sluice-go/sluice/policy/tree"
)

// durationText is what every error about a duration allows, $d in its text.
const durationText = "a duration: numbers, each with its unit (ns, us, ms, s, m, h, d), as in 30s or 1m30s"

// longestText is the longest duration, 2^63 - 1 nanoseconds.
const longestText = "106751d23h47m16.854775807s"

// units in the order in which they are tried: ms before m, which begins it. Of
// the two us behind the first one has the micro sign, the other the Greek mu.
const units = "ns us \u00b5s \u03bcs ms s m h d"

// unitSizes are the units in nanoseconds.
var unitSizes = [...]uint64{1, 1e3, 1e3, 1e3, 1e6, 1e9, 60e9, 3600e9, 24 * 3600e9}

// verdict is the error of a text that should be a quantity.
type verdict uint8

const (
	good verdict = iota
	malformed
	signed   // a sign in front
	overlong // more than an int64 of nanoseconds holds
	unwhole  // not a whole number of nanoseconds
	tooFew   // a duration of less than the least one
	miscount // a count out of its bounds
	tooDense // more permits than nanoseconds
)

// parseDuration reads a duration of at least the least one, as Go writes it, d
// for 24 hours besides. It takes no sign and never rounds.
func parseDuration(text string, least time.Duration) (time.Duration, verdict) {
	if text == "" {
		return 0, malformed
	}
	if text[0] == '-' || text[0] == '+' {
		return 0, signed
	}
	const longest = 1<<63 - 1
	sum := uint64(0)
	for text != "" {
		whole, rest := cutNumber(text)
		digits := len(text) - len(rest)
		fraction := ""
		if strings.HasPrefix(rest, ".") {
			fraction = rest[1:]
			_, rest = cutNumber(fraction)
			fraction = fraction[:len(fraction)-len(rest)]
			digits += len(fraction)
		}
		var size uint64
		size, text = cutUnit(rest)
		if digits == 0 || size == 0 {
			return 0, malformed
		}
		if whole > longest/size {
			return 0, overlong
		}
		// From the last digit on, each step is a tenth of the one before: if one of
		// them leaves a rest, so does the whole.
		part := uint64(0)
		for i := len(fraction) - 1; i >= 0; i-- {
			part += uint64(fraction[i]-'0') * size
			if part%10 > 0 {
				return 0, unwhole
			}
			part /= 10
		}
		sum += whole*size + part
		if sum > longest {
			return 0, overlong
		}
	}
	if sum < uint64(least) {
		return 0, tooFew
	}
	return time.Duration(sum), good
}

// cutNumber reads the digits in front of a text, 0 without any. A number beyond 64
// bits becomes one near the greatest, which no setting accepts.
func cutNumber(text string) (n uint64, rest string) {
	const most = 1<<64 - 1
	for text != "" && isDigit(text[0]) {
		digit := uint64(text[0] - '0')
		if n > (most-digit)/10 {
			n = (most - digit) / 10
		}
		n = n*10 + digit
		text = text[1:]
	}
	return n, text
}

// cutUnit returns the size of the unit in front, 0 for none.
func cutUnit(text string) (size uint64, rest string) {
	i := 0
	for start := 0; start < len(units); i++ {
		end := wordEnd(units, start)
		if unit := units[start:end]; strings.HasPrefix(text, unit) {
			return unitSizes[i], text[len(unit):]
		}
		start = end + 1
	}
	return 0, text
}

// asDuration reads a duration of at least the least one, 0 or 1.
func (r *reader) asDuration(n *tree.Node, least time.Duration, into *time.Duration) bool {
	d, v := parseDuration(n.Text, least)
	if n.Kind == tree.Text && v == good {
		*into = d
		return true
	}
	p := r.mistyped(n, "$d")
	if least > 0 {
		p.allowed = "$d; more than 0"
	}
	if n.Kind != tree.Text {
		return false
	}
	switch v {
	case signed:
		p.allowed = "$d, without a sign"
		if least > 0 {
			p.allowed = "$d; more than 0, without a sign"
		}
	case overlong:
		p.allowed = "a duration of at most " + longestText
	case unwhole:
		p.allowed = "a duration of whole nanoseconds"
	case malformed:
		p.hint, p.x = aDuration, int(least)
	}
	return false
}

// spelled are units as people write them out, each with the right one behind it;
// the longest first of those that begin alike.
const spelled = "milliseconds ms millis ms msecs ms msec ms microseconds us micros us nanoseconds ns " +
	"seconds s second s secs s sec s minutes m minute m mins m min m hours h hour h hrs h hr h days d day d"

// respell returns a text in lower case without spaces, with its units corrected, ""
// for a text that is too long.
func respell(text string) string {
	if len(text) > longestName {
		return ""
	}
	text = lower(text)
	near := ""
	for text != "" {
		long, short := text[:1], text[:1]
		if long == " " {
			short = ""
		}
		for start := 0; start < len(spelled); {
			end := wordEnd(spelled, start)
			behind := wordEnd(spelled, end+1)
			if strings.HasPrefix(text, spelled[start:end]) {
				long, short = spelled[start:end], spelled[end+1:behind]
				break
			}
			start = behind + 1
		}
		near += short
		text = text[len(long):]
	}
	return near
}
