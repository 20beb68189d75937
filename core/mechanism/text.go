package mechanism

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/calendar"
)

// Span writes a duration without zeros behind: 1m, not 1m0s.
func Span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}

// Number writes a number.
func Number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// Plural writes a number of things: 1 probe, 2 probes.
func Plural(n uint32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Number(n) + " " + what + "s"
}

// RateText writes a rate as a document does.
func RateText(count uint32, period time.Duration) string {
	return Number(count) + "/" + Span(period)
}

// CalendarText is RateText for a rate that may be one by the calendar.
func CalendarText(count uint32, period time.Duration, unit calendar.Unit) string {
	if unit == calendar.NoUnit {
		return RateText(count, period)
	}
	return Number(count) + "/" + unit.String()
}

// QueueText describes how many callers may wait at a cell, and how long; with a wait
// of 0 only the caller bounds its wait.
func QueueText(queue uint32, wait time.Duration, newest bool) string {
	if queue == 0 {
		return "refuses at once"
	}
	text := "queue " + Number(queue) + ", waits as long as the caller does"
	if wait > 0 {
		text = "queue " + Number(queue) + ", waits up to " + Span(wait)
	}
	if newest {
		text += ", newest first"
	}
	return text
}
