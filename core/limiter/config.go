package limiter

import (
	"time"

	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Algorithm names how a limiter counts.
type Algorithm uint8

// The algorithms.
const (
	// TokenBucket refills one permit after another, up to a burst (GCRA).
	TokenBucket Algorithm = iota
	// FixedWindow gives a count of permits to each window, which opens with
	// the first admission that finds none open.
	FixedWindow
	// SlidingCounter weighs the previous window's count by how much of it the
	// trailing window still covers.
	SlidingCounter
	// SlidingLog keeps the mark of each admission, and bounds every window
	// exactly.
	SlidingLog
	// LeakyBucket spaces calls evenly, without a burst.
	LeakyBucket
	algorithms
)

var algorithmNames = [algorithms]string{"token-bucket", "fixed-window", "sliding-counter", "sliding-log", "leaky-bucket"}

// String returns the word of the policy document.
func (a Algorithm) String() string {
	if a < algorithms {
		return algorithmNames[a]
	}
	return "unknown"
}

// Order says which waiter is served next.
type Order uint8

// The orders.
const (
	Oldest Order = iota
	Newest
)

// MaxCount is the greatest number of permits in a rate or a burst. That of a
// sliding log is slidinglog.MaxCount.
const MaxCount = tokenbucket.MaxCount

// MaxQueue is the longest queue of any mechanism.
const MaxQueue = 10_000

// Config is the configuration of a limiter.
type Config struct {
	// Algorithm by which the limiter counts. Default TokenBucket.
	Algorithm Algorithm
	// Count permits for each Period. Required, 1 to MaxCount; for buckets at most
	// one permit a nanosecond, for a sliding log at most slidinglog.MaxCount.
	Count uint32
	// Period of the rate. Required, more than 0. A longer one with the same rate
	// allows larger bursts. Beside a Calendar it is that of its unit, and 0 means it.
	Period time.Duration
	// Burst is the most permits at one instant, 1 to MaxCount. Token bucket
	// alone; 0 means Count, and beside WarmUp Count / Factor, rounded up.
	Burst uint32
	// Wait is the longest that a caller may wait for its turn. 0 refuses at once.
	Wait time.Duration
	// Queue is the most callers that may wait, 1 to MaxQueue; 0 exactly when
	// Wait is.
	Queue uint32
	// Order in which waiters are served. Default Oldest.
	Order Order
	// Cost of a call at a step of a pipeline. Default: what the call names. The
	// machine ignores it: its actions have their costs.
	Cost Cost
	// Charge says when a step of a pipeline takes the permits. Default ChargeStart. To the
	// machine it says with ChargeEnd that waiters take nothing: the pipeline returns what
	// they are granted at that mark.
	Charge Charge
	// SettleMax is the most permits that the end of one call takes beyond its cost at a
	// step of a pipeline, 1 to MaxCount. 0 means the capacity of the limiter. Not beside
	// ChargeStart. The machine ignores it: it bounds the debt by the capacity in any case.
	SettleMax uint32
	// Counts are the outcomes of calls that keep their permits at a step of a pipeline.
	// Default: all. The machine ignores it.
	Counts Outcomes
	// Block refuses all calls for a time after refusals. Not beside Wait. Default: none.
	Block Block
	// WarmUp lets a token bucket begin at a part of its rate after an idle time. Token
	// bucket alone. Default: none.
	WarmUp WarmUp
	// Calendar lets a fixed window end with the day, week or month of a time zone. Fixed
	// window alone. Default: none.
	Calendar calendar.Config
}

// OneWord reports whether the count of the configuration is that of a token bucket
// alone, whose state is one word: without warm-up and without blocks.
func (c *Config) OneWord() bool {
	return c.Algorithm == TokenBucket && c.WarmUp.Over == 0 && !c.Block.on()
}

// WithEpoch implements mechanism.Dated: a limit by the calendar needs the wall time of
// mark 0.
func (c Config) WithEpoch(epoch func() time.Duration) (mechanism.Config, bool) {
	if c.Calendar.Unit == calendar.NoUnit || c.Calendar.Epoch != 0 {
		return c, false
	}
	c.Calendar.Epoch = epoch()
	return c, true
}

// checkRest adds what is wrong with the settings that are not an algorithm's, and with the
// cost, which needs a rate.
func (c *Config) checkRest(e *reducer.ConfigErrors, rated bool) {
	e.Duration(c.Wait < 0, "wait", c.Wait, "0 or more")
	e.Count(c.Queue > MaxQueue, "queue", uint64(c.Queue), "at most 10000")
	e.Count(c.Wait > 0 && c.Queue == 0, "queue", 0, "1 to 10000 beside wait")
	e.Count(c.Wait == 0 && c.Queue > 0 && c.Queue <= MaxQueue, "queue", uint64(c.Queue), "0 without wait")
	e.Count(c.Order > Newest, "order", uint64(c.Order), "Oldest or Newest")
	e.Count(c.Charge >= charges, "charge", uint64(c.Charge), "ChargeStart, ChargeSettle or ChargeEnd")
	e.Count(c.SettleMax > MaxCount, "settle_max", uint64(c.SettleMax), "at most 1000000000")
	e.Count(c.SettleMax > 0 && c.Charge == ChargeStart, "settle_max", uint64(c.SettleMax), "0 beside ChargeStart, which takes nothing at the end")
	e.Count(c.Counts > allOutcomes, "counts", uint64(c.Counts), "a set of outcomes")
	e.Count(rated && c.Cost.Permits > c.most(), "cost", uint64(c.Cost.Permits), "at most the permits that are free at one instant")
	e.Add(c.Block.check(c.Wait > 0))
}
