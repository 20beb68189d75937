package oracle

import (
	"math/big"
	"strconv"

	cfg "github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/mechanism"
)

// newGuard returns the guard of a mechanism that has one, else nil.
func newGuard(config mechanism.Config) guard {
	if c, ok := config.(cfg.Config); ok {
		return newAdaptive(c)
	}
	return nil
}

// adaptiveCell is the cell of an adaptive limit.
type adaptiveCell struct {
	cfg     cfg.Config
	limit   int64
	places  []*place
	lowered bool // ever
	grants  int  // so far
	changed int64
	round   round
	// fall is the round that lowered the limit last, nil before.
	fall *fall
	// hold is for how many rounds the limit is not lowered, longer for how many after the
	// next decrease that costs goodput.
	hold, longer int
}

// round is what outcomes have said since a mark. Counts are of places.
type round struct {
	since              int64
	after              int // the latest grant from before it
	calls              int
	quick, good        int64 // of those in time: in half of it, and others
	late, cut, busiest int64
}

func (r *round) timely() int64 { return r.quick + r.good }
func (r *round) bad() int64    { return r.late + r.cut }
func (r *round) all() int64    { return r.timely() + r.bad() }

// fall is a round that lowered the limit.
type fall struct {
	round
	took  int64
	limit int64 // before
	fresh bool  // the present round is the one after it
}

func newAdaptive(c cfg.Config) *adaptiveCell {
	return &adaptiveCell{cfg: c, limit: int64(c.Initial), longer: 1}
}

func (a *adaptiveCell) inUse() (sum int64) {
	for _, p := range a.places {
		sum += p.cost
	}
	return sum
}

func (a *adaptiveCell) ask(cost int64) answer {
	switch used := a.inUse(); {
	case cost > int64(a.cfg.Maximum):
		return answer{verdict: reject, reason: "capacity", retryAt: never}
	case used > 0 && used+cost > a.limit:
		return answer{verdict: reject, reason: "full", retryAt: never}
	}
	return answer{verdict: admit}
}

// over returns the longest time of a timely answer to an attempt that is admitted now.
func (a *adaptiveCell) over(bound, now int64) int64 {
	if a.cfg.Over > 0 {
		return int64(a.cfg.Over)
	}
	if bound == never {
		return int64(cfg.DefaultOver)
	}
	part := new(big.Int).Mul(big.NewInt(max(0, bound-now)), big.NewInt(int64(a.cfg.OverShare.Millionths())))
	return part.Quo(part, big.NewInt(1_000_000)).Int64()
}

func (a *adaptiveCell) take(cost, bound, now int64) (*place, func(outcome string, since, now int64)) {
	if len(a.places) == 0 && a.round.calls == 0 {
		a.round = round{since: now, after: a.grants}
	}
	a.grants++
	grant, over := a.grants, a.over(bound, now)
	p := &place{cost: cost, leaseEnd: never}
	if a.cfg.Lease > 0 {
		p.leaseEnd = after(now, int64(a.cfg.Lease))
	}
	a.places = append(a.places, p)
	a.round.busiest = max(a.round.busiest, a.inUse())
	a.changed = now
	return p, func(outcome string, since, now int64) {
		if p.lapsed {
			return
		}
		before := a.changed
		a.free(p, now)
		a.count(outcome, cost, grant, over, since, before, now)
	}
}

func (a *adaptiveCell) free(gone *place, now int64) {
	var rest []*place
	for _, p := range a.places {
		if p != gone {
			rest = append(rest, p)
		}
	}
	a.places, a.changed = rest, now
}

func (a *adaptiveCell) lease() int64 { return int64(a.cfg.Lease) }

// The rows of what an outcome says, the best first.
const (
	saysQuick = iota
	saysGood
	saysLate
	saysCut
	saysNothing
)

// says returns the row of an outcome that took so long.
func says(outcome string, took, over int64) int {
	switch outcome {
	case "ok":
		switch {
		case took <= over/2:
			return saysQuick
		case took <= over:
			return saysGood
		}
		return saysLate
	case "timeout", "throttle":
		return saysCut
	case "fail":
		if took >= over {
			return saysCut
		}
	}
	return saysNothing
}

// with returns the round with one more outcome.
func (r round) with(row int, cost int64) round {
	r.calls++
	*[...]*int64{&r.quick, &r.good, &r.late, &r.cut}[row] += cost
	return r
}

// count counts an outcome, and ends the round if it is the first one of a call that came in
// it after enough others.
func (a *adaptiveCell) count(outcome string, cost int64, grant int, over, since, before, now int64) {
	row := says(outcome, now-since, over)
	old := grant <= a.round.after
	if row == saysNothing || row >= saysLate && old && a.fall != nil && a.fall.fresh {
		return
	}
	whole := a.round.with(row, cost)
	if old || whole.calls < 10 || whole.all() < a.limit {
		a.round = whole
		return
	}
	// What it leads to is the least of what it and every better answer would.
	end := a.judged(whole, before)
	for better := row - 1; better >= saysQuick && row <= saysLate; better-- {
		if other := a.judged(a.round.with(better, cost), before); other.limit < end.limit {
			end = other
		}
	}
	if outcome == "fail" && end.limit > a.limit {
		end.limit = a.limit
	}
	end.lowered = a.lowered || end.limit < a.limit
	end.round = round{since: now, after: a.grants, busiest: a.inUse()}
	*a = end
}

// above reports whether a share of a round is above a number.
func above(part, whole int64, number *big.Rat) bool {
	return big.NewRat(part, whole).Cmp(number) > 0
}

// judged returns the cell after a round that ends at a mark.
func (a *adaptiveCell) judged(r round, now int64) adaptiveCell {
	next := *a
	var last *fall
	if a.fall != nil {
		last = new(fall)
		*last = *a.fall
		last.fresh = false
	}
	next.fall = last
	took := max(1, now-r.since)
	used := r.busiest*2 >= a.limit
	mostlyCut := r.cut*2 > r.all()
	allQuick := r.quick*4 >= r.timely()*3
	switch {
	case !above(r.bad(), r.all(), big.NewRat(int64(a.cfg.Tolerance.Millionths()), 1_000_000)):
		next.hold, next.longer = 0, 1
		next.limit = a.raised(&r, used, allQuick)
	case !mostlyCut && allQuick && r.late*10 <= r.timely():
		next.limit = a.raised(&r, used, allQuick)
	case a.fall != nil && a.fall.fresh && used && r.bad()*2 <= r.all() && a.costs(&r, took):
		next.limit = a.kept(a.fall.limit)
		next.hold, next.longer = a.longer, min(2*a.longer, 32)
	case a.hold > 0 && !mostlyCut:
		next.hold--
		// The share is below 130 % of the share of the round that lowered.
		if used && above(13*a.fall.bad(), 10*a.fall.all(), big.NewRat(r.bad(), r.all())) {
			next.limit = a.risen()
		}
	default:
		next.fall = &fall{round: r, took: took, limit: a.limit, fresh: true}
		share := big.NewRat(int64(a.cfg.Decrease.Millionths()), 1_000_000)
		if half := big.NewRat(r.bad(), 2*r.all()); half.Cmp(share) > 0 {
			share = half
		}
		if most := big.NewRat(1, 2); above(r.bad(), r.all(), most) && most.Cmp(share) > 0 {
			share = most
		}
		rest := new(big.Rat).Sub(big.NewRat(1, 1), share)
		rest.Mul(rest, big.NewRat(a.limit, 1))
		next.limit = a.kept(new(big.Int).Quo(rest.Num(), rest.Denom()).Int64())
	}
	return next
}

// costs reports whether the decrease before the round cost goodput and mended nothing: the
// share is still above 70 % of what it was, and goodput fell by more than 60 % of the part
// by which the limit fell.
func (a *adaptiveCell) costs(r *round, took int64) bool {
	f := a.fall
	if !above(r.bad(), r.all(), big.NewRat(7*f.bad(), 10*f.all())) {
		return false
	}
	fell := new(big.Rat).Mul(big.NewRat(6, 10), big.NewRat(f.limit-a.limit, f.limit))
	least := new(big.Rat).Mul(big.NewRat(f.timely(), f.took), fell.Sub(big.NewRat(1, 1), fell))
	return big.NewRat(r.timely(), took).Cmp(least) < 0
}

// raised returns the limit after a round that lets it rise.
func (a *adaptiveCell) raised(r *round, used, allQuick bool) int64 {
	switch {
	case !used:
		return a.limit
	case !a.lowered && allQuick && r.busiest >= a.limit:
		return a.kept(a.limit + max(int64(a.cfg.Increase), min(r.all(), a.limit)/2))
	}
	return a.risen()
}

// risen returns the limit more the increase, or its logarithm where that is more.
func (a *adaptiveCell) risen() int64 {
	digits := int64(len(strconv.FormatInt(a.limit, 10)))
	return a.kept(a.limit + max(int64(a.cfg.Increase), digits-1))
}

// kept returns a limit within the bounds.
func (a *adaptiveCell) kept(limit int64) int64 {
	return min(max(limit, int64(a.cfg.Minimum)), int64(a.cfg.Maximum))
}

func (a *adaptiveCell) held() bool { return len(a.places) > 0 }

func (a *adaptiveCell) configure(config mechanism.Config) {
	a.cfg = config.(cfg.Config)
	a.limit = a.kept(a.limit)
}

func (a *adaptiveCell) unused(int64) bool {
	return a.limit == int64(a.cfg.Initial) && a.round.calls == 0 && !a.lowered && a.fall == nil
}
