package report

import (
	"strconv"
	"strings"
	"time"
)

// duration writes a duration with three digits, or in whole seconds from a minute on.
func duration(d time.Duration) string {
	if d >= time.Minute {
		text := d.Round(time.Second).String()
		text = strings.TrimSuffix(text, "0s")
		if strings.HasSuffix(text, "h0m") {
			return strings.TrimSuffix(text, "0m")
		}
		if strings.HasSuffix(text, "m") || strings.HasSuffix(text, "h") {
			return text
		}
		return d.Round(time.Second).String()
	}
	for _, unit := range []struct {
		one  time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= unit.one {
			return digits(float64(d)/float64(unit.one)) + unit.name
		}
	}
	if d == 0 {
		return "0s"
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// digits writes a number of 0 or more with three digits, and with all digits before the
// point.
func digits(x float64) string {
	places := 2
	switch {
	case x >= 99.95:
		places = 0
	case x >= 9.995:
		places = 1
	}
	text := strconv.FormatFloat(x, 'f', places, 64)
	if places > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return grouped(text)
}

// count writes a count with its digits in groups.
func count(n uint64) string { return grouped(strconv.FormatUint(n, 10)) }

// grouped puts a comma between each three digits of a whole number.
func grouped(text string) string {
	if strings.Contains(text, ".") {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// percent writes a share.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "0%"
	}
	return strconv.FormatFloat(100*(float64(part)/float64(whole)), 'f', 1, 64) + "%"
}
