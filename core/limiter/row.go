package limiter

import (
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/slidinglog"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Kind returns mechanism.Limit.
func (Config) Kind() mechanism.Kind { return mechanism.Limit }

// Orders are the words of Order.
const Orders = "oldest newest"

// Traits of the mechanism.
const Traits = mechanism.Asks | mechanism.Refunds | mechanism.Quotas | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:     mechanism.Limit,
		Traits:   Traits,
		Short:    "rate",
		Form:     "a rate as in 50/1m, or a map of settings",
		Settings: settings(),
		New:      func() mechanism.Draft { return &draft{} },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Reasons: []reducer.Reason{reducer.ReasonRate},
		Queue: func(c mechanism.Config) mechanism.Queue {
			l := c.(Config)
			return mechanism.Queue{Places: l.Queue, Wait: l.Wait, Newest: l.Order == Newest}
		},
		Permits: func(c mechanism.Config) mechanism.Permits {
			l := c.(Config)
			return mechanism.Permits{Count: l.Count, Period: l.Period, Burst: l.most()}
		},
	}
}

func (d *draft) Check(g mechanism.Given) {
	c := &d.c
	place := "rate"
	d.compare(g)
	d.calendar(g)
	rated := g.Whole("rate") && (!g.Has("warm_up") || g.Whole("warm_up"))
	if c.Algorithm != TokenBucket {
		for _, name := range [...]string{"burst", "warm_up"} {
			g.Refuse(name, "beside "+c.Algorithm.String(), "beside token-bucket alone")
		}
		c.Burst, c.WarmUp = 0, WarmUp{}
	} else if g.Has("burst") {
		rated = rated && g.Whole("burst")
		place = "burst"
	}
	if !c.Algorithm.spreads() && (!g.Has("algorithm") || g.Whole("algorithm")) {
		g.Refuse("spread", "beside "+c.Algorithm.String(), "beside fixed-window alone")
		c.Spread = reducer.Share{}
	}
	switch {
	case rated && c.Algorithm == SlidingLog && c.Count > slidinglog.MaxCount:
		g.Wrong("rate", "a count of at most 10000 beside sliding-log, which keeps a mark for each admission")
	case rated && !c.fits():
		g.Wrong(place, "a bucket that fills, or a window that lasts, at most 53375d23h (2^62 ns)")
	}
	if rated && g.Whole("cost") && c.Cost.Permits > c.most() {
		g.Wrong("cost", "a cost, also as a default, of at most the "+Bound(c.Algorithm)+"; a greater one is always refused")
	}
	if g.Has("rates") && !g.Has("class") {
		g.Need("class", "the attribute whose values are the classes")
	} else if !g.Has("rates") && !g.Meant("rates") {
		g.Refuse("class", "without rates", "beside rates")
	}
	if c.Charge == ChargeStart && (!g.Has("charge") || g.Whole("charge")) {
		g.Refuse("settle_max", "beside charge: start", "beside charge: settle or charge: end")
		c.SettleMax = 0
	}
	d.queue(g)
}

// calendar checks a rate by the calendar and its zone. Its windows are fixed ones where the
// document names no algorithm.
func (d *draft) calendar(g mechanism.Given) {
	c := &d.c
	switch {
	case c.Calendar.Unit == calendar.NoUnit:
		if g.Whole("rate") {
			g.Refuse("zone", "beside a rate by a duration", "beside a rate by the calendar as in 1000/day")
		}
		c.Calendar.Zone = calendar.Zone{}
	case !g.Has("algorithm") && !g.Meant("algorithm"):
		c.Algorithm = FixedWindow
	case g.Whole("algorithm") && c.Algorithm != FixedWindow:
		g.Wrong("rate", "a rate by a duration as in 1000/24h beside "+c.Algorithm.String()+"; fixed-window alone has windows of the calendar")
		c.Calendar = calendar.Config{}
	}
}

// Bound names the setting that is the greatest cost of an algorithm.
func Bound(a Algorithm) string {
	if a == TokenBucket {
		return "burst"
	}
	return "count of rate"
}

// fits checks the time in which a bucket fills, and the length of a window.
func (c *Config) fits() bool {
	permits, interval := uint32(1), uint64(c.Period)
	if c.Algorithm == TokenBucket || c.Algorithm == LeakyBucket {
		permits, interval = c.AtOnce(), uint64(c.Interval())
	}
	return interval <= uint64(tokenbucket.MaxFill)/uint64(permits)
}

// queue checks queue and order, which need a wait.
func (d *draft) queue(g mechanism.Given) {
	if g.Has("wait") && !g.Whole("wait") {
		return
	}
	if d.c.Wait == 0 {
		d.c.Queue, d.c.Order = 0, Oldest
		if g.Meant("wait") {
			return
		}
		found := "without wait"
		if g.Has("wait") {
			found = "beside a wait of nothing"
		}
		g.Refuse("queue", found, "beside a wait of more than 0")
		g.Refuse("order", found, "beside a wait of more than 0")
		return
	}
	g.Refuse("block", "beside a wait", "without a wait: a caller that waits does not exceed the rate")
	g.Refuse("spread", "beside a wait", "without a wait: a call that waits is served at its turn")
	d.c.Block, d.c.Spread = Block{}, reducer.Share{}
}
