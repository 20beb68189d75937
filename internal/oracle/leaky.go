package oracle

import "github.com/sluice-go/sluice/core/limiter"

// leakyBucket keeps the mark before which no call departs.
type leakyBucket struct {
	cfg        limiter.Config
	next       int64
	departures int
}

func (l *leakyBucket) clone() meter {
	c := *l
	return &c
}

func (l *leakyBucket) earliest(_, now int64) int64 { return max(now, l.next) }

func (l *leakyBucket) take(cost, now int64) permit {
	l.departures++
	span := cost * interval(l.cfg)
	l.next = after(now, span)
	return permit{departure: l.departures, span: span}
}

// refund returns what is left of the time if no call departed since, with the
// interval that was set when it departed. What was charged since stays. Reading: a waiter
// moves up by that; it does not prevent the refund.
func (l *leakyBucket) refund(p permit, now int64) {
	if left := p.at + p.span - now; p.departure == l.departures && left > 0 {
		l.next -= min(left, p.span*p.cost/p.total)
	}
}

func (l *leakyBucket) chargeable(now int64) int64 {
	t := interval(l.cfg)
	return max(0, 2*int64(l.cfg.Count)*t-max(0, l.next-now)) / t
}

// charge moves the next departure.
func (l *leakyBucket) charge(permits, now int64) {
	l.next = after(max(now, l.next), permits*interval(l.cfg))
}

// free returns how many permits a call could take now. Reading: all or none,
// since a call of any cost departs at once or not.
func (l *leakyBucket) free(now int64) int64 {
	if now < l.next {
		return 0
	}
	return int64(l.cfg.Count)
}

// configure changes the interval from the next departure on. Reading: the mark
// before which no call departs stays, because a retry delay that was given stays
// correct.
func (l *leakyBucket) configure(cfg limiter.Config, _ int64) { l.cfg = cfg }

func (l *leakyBucket) unused(now int64) bool { return l.next <= now }
