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

// words of the algorithms in their order.
const words = "token-bucket fixed-window sliding-counter sliding-log leaky-bucket"

// Orders are the words of Order.
const Orders = "oldest newest"

// Traits are those of the mechanism.
const Traits = mechanism.Asks | mechanism.Refunds | mechanism.Quotas | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:   mechanism.Limit,
		Traits: Traits,
		Short:  "rate",
		Form:   "a rate as in 50/1m, or a map of settings",
		Settings: []mechanism.Setting{
			{Name: "algorithm", Type: mechanism.Word, Words: words},
			{Name: "rate", Type: mechanism.Rate, Required: true},
			{Name: "class", Type: mechanism.Attribute},
			{Name: "rates", Type: mechanism.Rates},
			{Name: "burst", Type: mechanism.Count, Least: 1, Most: MaxCount},
			{Name: "wait", Type: mechanism.Duration},
			{Name: "queue", Type: mechanism.Count, Least: 1, Most: MaxQueue},
			{Name: "order", Type: mechanism.Word, Words: Orders},
			{Name: "cost", Type: mechanism.Cost, Least: 1, Most: MaxCount},
			{Name: "charge", Type: mechanism.Word, Words: "start settle end"},
			{Name: "settle_max", Type: mechanism.Count, Least: 1, Most: MaxCount},
			{Name: "counts", Type: mechanism.Words, Words: "ok fail throttle ignore timeout cancel"},
			{Name: "block", Type: mechanism.Map, Says: "a duration, a backoff, or a map of after and for", Short: "for", Bit: planBlock, Parts: []mechanism.Setting{
				{Name: "after", Type: mechanism.Count, Least: 1, Most: MaxCount},
				{Name: "for", Type: mechanism.BlockTime, Required: true, Says: "a duration as in 1m, or a backoff as in {exponential: 1m, max: 1h}"},
			}},
			{Name: "warm_up", Type: mechanism.Map, Says: "a duration, or a map of over and factor", Short: "over", Bit: planWarmUp, Parts: []mechanism.Setting{
				{Name: "over", Type: mechanism.Duration, Least: 1, Required: true},
				{Name: "factor", Type: mechanism.Count, Least: 2, Most: MaxFactor},
			}},
			{Name: "zone", Type: mechanism.Zone, Bit: planZone},
		},
		New: func() mechanism.Draft { return &draft{} },
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

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "algorithm":
		return (*uint8)(&d.c.Algorithm)
	case "rate":
		return mechanism.RateField{Count: &d.c.Count, Period: &d.c.Period, Unit: &d.c.Calendar.Unit}
	case "burst":
		return &d.c.Burst
	case "wait":
		return &d.c.Wait
	case "queue":
		return &d.c.Queue
	case "charge":
		return (*uint8)(&d.c.Charge)
	case "settle_max":
		return &d.c.SettleMax
	case "counts":
		return mechanism.WordsField{Set: (*uint8)(&d.c.Counts)}
	case "cost":
		return mechanism.CostField{Attribute: &d.c.Cost.Attribute, Permits: &d.c.Cost.Permits}
	case "block.after":
		return &d.c.Block.After
	case "block.for":
		return &d.c.Block.For
	case "warm_up.over":
		return &d.c.WarmUp.Over
	case "warm_up.factor":
		return &d.c.WarmUp.Factor
	case "zone":
		return mechanism.ZoneField{Zone: &d.c.Calendar.Zone}
	}
	return (*uint8)(&d.c.Order)
}

func (d *draft) Check(g mechanism.Given) {
	c := &d.c
	place := "rate"
	if c.WarmUp.Over > MaxWarmUp {
		g.Wrong("warm_up.over", "a duration of at most 720h")
	}
	d.c = d.c.WithDefaults()
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
	d.c.Block = Block{}
}

func (d *draft) Config() mechanism.Config { return d.c }
