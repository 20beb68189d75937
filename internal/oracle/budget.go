package oracle

import (
	"math/big"

	cfg "github.com/sluice-go/sluice/core/budget"
)

// budgetCell is the budget of a retry or a hedge: the marks of all first
// admissions and of all that it granted.
type budgetCell struct {
	cfg     cfg.Config
	known   bool
	origin  int64 // the first admission of all
	firsts  []int64
	retries []int64
}

// first counts a call's first admission.
func (b *budgetCell) first(now int64) {
	if !b.known {
		b.known, b.origin = true, now
	}
	b.firsts = append(b.firsts, now)
}

// allows reports whether the budget has room for one retry or hedge more.
func (b *budgetCell) allows(now int64) bool {
	allowed := new(big.Int).Mul(big.NewInt(int64(b.cfg.MinimumCount)), big.NewInt(int64(b.cfg.Window)))
	allowed.Div(allowed, big.NewInt(int64(b.cfg.MinimumPeriod)))
	share := big.NewInt(int64(b.counted(b.firsts, now)))
	share.Mul(share, big.NewInt(int64(b.cfg.Ratio.Millionths())))
	share.Div(share, big.NewInt(1_000_000))
	return big.NewInt(int64(b.counted(b.retries, now)+1)).Cmp(allowed.Add(allowed, share)) <= 0
}

// grant counts a retry or a hedge if the budget allows it.
func (b *budgetCell) grant(now int64) bool {
	if !b.allows(now) {
		return false
	}
	if !b.known {
		b.known, b.origin = true, now
	}
	b.retries = append(b.retries, now)
	return true
}

// counted counts the marks in the present bucket and the nine before it.
func (b *budgetCell) counted(marks []int64, now int64) int {
	n := 0
	for _, at := range marks {
		if b.bucket(at) > b.bucket(now)-10 {
			n++
		}
	}
	return n
}

func (b *budgetCell) bucket(at int64) int64 {
	n := new(big.Int).Mul(big.NewInt(at-b.origin), big.NewInt(10))
	return n.Div(n, big.NewInt(int64(b.cfg.Window))).Int64()
}

// configure changes the settings; a changed window counts from nothing, in
// buckets cut from the first admission of all as before.
func (b *budgetCell) configure(c cfg.Config) {
	if c.Window != b.cfg.Window {
		b.firsts, b.retries = nil, nil
	}
	b.cfg = c
}
