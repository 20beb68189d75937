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

// place is held by an attempt.
type place struct {
	leaseEnd int64
	lapsed   bool
}

// vacant reports whether a place is free.
func (b *bulkheadCell) vacant() bool { return len(b.places) < int(b.cfg.Concurrent) }

// ask returns the answer to a newcomer.
func (b *bulkheadCell) ask(now int64) answer {
	newest := b.cfg.Order == limiter.Newest
	if b.vacant() && (newest || len(b.queue) == 0) {
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

// take takes a place, with a lease from now on if there is one.
func (b *bulkheadCell) take(now int64) *place {
	p := &place{leaseEnd: never}
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
