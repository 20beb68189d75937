package oracle

import (
	cfg "github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
)

// bulkheadCell is the cell of a bulkhead.
type bulkheadCell struct {
	cfg    cfg.Config
	places []*place
	queue  queue
}

// place is what an attempt holds: as many places as its cost.
type place struct {
	cost     int64
	leaseEnd int64
	lapsed   bool
}

// vacant reports whether as many places are free as a cost says.
func (b *bulkheadCell) vacant(cost int64) bool {
	for _, p := range b.places {
		cost += p.cost
	}
	return cost <= int64(b.cfg.Concurrent)
}

// next returns the waiter that is served next, nil for none.
func (b *bulkheadCell) next() *waiter {
	if len(b.queue) == 0 {
		return nil
	}
	return b.queue.inOrder(b.cfg.Order)[0]
}

// ask returns the answer to a newcomer of a cost.
func (b *bulkheadCell) ask(cost, now int64) answer {
	newest := b.cfg.Order == limiter.Newest
	if cost > int64(b.cfg.Concurrent) {
		return answer{verdict: reject, reason: "capacity", retryAt: never}
	}
	if b.vacant(cost) && (newest || len(b.queue) == 0) {
		return answer{verdict: admit}
	}
	a := answer{verdict: wait, until: never, ends: never}
	if b.cfg.Wait > 0 {
		a.ends = after(now, int64(b.cfg.Wait))
	}
	if len(b.queue) >= int(b.cfg.Queue) {
		if !newest || b.cfg.Queue == 0 {
			return answer{verdict: reject, reason: "full", retryAt: never}
		}
		a.putOut = b.queue[0]
	}
	return a
}

// after is the bulkhead as it is when what ends at the mark by itself has ended: waits and
// leases.
func (b *bulkheadCell) after(now int64) *bulkheadCell {
	rest := *b
	rest.queue, rest.places = nil, nil
	for _, w := range b.queue {
		if w.ends > now {
			rest.queue = append(rest.queue, w)
		}
	}
	for _, p := range b.places {
		if p.leaseEnd > now {
			rest.places = append(rest.places, p)
		}
	}
	return &rest
}

// take takes as many places as a cost says, with a lease from now on if there is one.
func (b *bulkheadCell) take(cost, now int64) *place {
	p := &place{cost: cost, leaseEnd: never}
	if b.cfg.Lease > 0 {
		p.leaseEnd = after(now, int64(b.cfg.Lease))
	}
	b.places = append(b.places, p)
	return p
}

// free frees the place.
func (b *bulkheadCell) free(gone *place) {
	var rest []*place
	for _, p := range b.places {
		if p != gone {
			rest = append(rest, p)
		}
	}
	b.places = rest
}
