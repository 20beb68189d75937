package limiter

import (
	"math/bits"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/mechanism"
)

// describe describes how many calls a limit admits, and how many may wait.
func describe(config mechanism.Config, _ mechanism.Step) string {
	c := config.(Config)
	text := mechanism.CalendarText(c.Count, c.Period, c.Calendar.Unit) + " " + c.Algorithm.String()
	if c.Calendar.Unit != calendar.NoUnit {
		text += " of the calendar in " + c.Calendar.Zone.String()
	}
	if c.Algorithm == TokenBucket {
		text += ", burst " + mechanism.Number(c.AtOnce())
	}
	if c.Algorithm == TokenBucket || c.Algorithm == LeakyBucket {
		text += ", one each " + mechanism.Span(c.Interval())
	}
	text += ", " + c.Cost.Text()
	switch c.Charge {
	case ChargeSettle:
		text += "settled at the end, "
	case ChargeEnd:
		text += "taken at the end, "
	}
	if c.SettleMax > 0 {
		text += "at most " + mechanism.Number(c.SettleMax) + " beyond the cost, "
	}
	if c.Counts != 0 {
		text += "counts " + strings.Join(c.Counts.Names(), ", ") + ", "
	}
	if c.WarmUp.Over > 0 {
		text += "warms up over " + mechanism.Span(c.WarmUp.Over) + " from 1/" + mechanism.Number(c.WarmUp.Factor) + " of the rate, "
	}
	if c.Block.on() {
		text += "blocks for " + c.Block.text() + ", "
	}
	return text + mechanism.QueueText(c.Queue, c.Wait, c.Order == Newest)
}

// Text describes a cost before what a description says next, empty for none.
func (c Cost) Text() string {
	switch {
	case c.Attribute != "":
		return "each call takes " + c.Attribute + " (" + mechanism.Number(c.Permits) + " without), "
	case c.Permits > 0:
		return "each call takes " + mechanism.Number(c.Permits) + ", "
	}
	return ""
}

// text describes the blocks, as in "exponential 1m factor 2 max 1h after 5 refusals in a
// row".
func (b *Block) text() string {
	text := strings.TrimSuffix(b.For.Describe(), " without jitter")
	if b.For.Kind == backoff.Constant {
		text = mechanism.Span(b.For.Base)
	}
	if b.After > 1 {
		text += " after " + mechanism.Number(b.After) + " refusals in a row"
	}
	return text
}

// Interval returns the time between two permits of a bucket, a whole number of
// nanoseconds.
func (c Config) Interval() time.Duration {
	return (c.Period-1)/time.Duration(max(1, c.Count)) + 1
}

// AtOnce returns the most permits of a token bucket at one instant: without a burst, what
// the rate gives in its period, or the rate at which a cold bucket begins.
func (c Config) AtOnce() uint32 {
	switch {
	case c.Burst > 0:
		return c.Burst
	case c.WarmUp.Over > 0 && c.Count > 0:
		return (c.Count-1)/max(1, c.WarmUp.Factor) + 1
	}
	return c.Count
}

// NoBound is what Admits returns for more than 64 bits hold.
const NoBound = 1<<64 - 1

// Admits returns the most calls, each of a cost of 1 or more, that one cell admits
// in any window of the length, both of its ends included; NoBound for more than
// that.
func (c Config) Admits(window time.Duration) uint64 {
	count, period := uint64(c.Count), uint64(c.Period)
	if c.Calendar.Unit != calendar.NoUnit {
		period = uint64(c.Calendar.Unit.Shortest(c.Calendar.Zone))
	}
	w := uint64(max(0, window))
	switch c.Algorithm {
	case TokenBucket:
		return uint64(c.AtOnce()) + w/uint64(c.Interval())
	case LeakyBucket:
		return 1 + w/uint64(c.Interval())
	case SlidingLog:
		return multiply(count, w/period+1)
	case FixedWindow:
		if w > 0 {
			// One window's permits at its very end, then the permits of each that begins.
			return multiply(count, (w-1)/period+2)
		}
	case SlidingCounter:
		if w > 0 {
			return c.weighed(w, period)
		}
	}
	return count
}

// weighed is Admits of a sliding counter.
func (c Config) weighed(w, period uint64) uint64 {
	count := uint64(c.Count)
	high, low := bits.Mul64(count, w+period-1)
	if high >= period {
		return NoBound
	}
	most, _ := bits.Div64(high, low, period)
	return max(count, most)
}

// Calls is Admits where each call takes the cost of the configuration, or 1 or more
// where an attribute or the call has the cost. There is no bound where permits may come
// back after a call that ran, or are taken at its end.
func (c Config) Calls(window time.Duration) uint64 {
	if c.Settles() {
		return NoBound
	}
	most := c.Admits(window)
	if c.Cost.Attribute == "" && c.Cost.Permits > 1 && most != NoBound {
		return most / uint64(c.Cost.Permits)
	}
	return most
}

// multiply returns a x b, at most the greatest number.
func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high > 0 {
		return NoBound
	}
	return low
}
