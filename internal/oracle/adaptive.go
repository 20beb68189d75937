package oracle

import (
	"math/big"

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

// adaptiveCell is the cell of an adaptive limit. The limit is an exact fraction
// that is cut to millionths, as the text says, after each change.
type adaptiveCell struct {
	cfg    cfg.Config
	limit  *big.Rat
	inUse  int64 // places
	fallen int64 // when the limit was last lowered
	fell   bool  // it was
}

func newAdaptive(c cfg.Config) *adaptiveCell {
	return &adaptiveCell{cfg: c, limit: places(c.Initial)}
}

func places(n uint32) *big.Rat { return big.NewRat(int64(n), 1) }

// floor returns the fraction rounded down to a multiple of one part of so many.
func floor(r *big.Rat, parts int64) *big.Rat {
	scaled := new(big.Rat).Mul(r, big.NewRat(parts, 1))
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	return new(big.Rat).Quo(new(big.Rat).SetInt(whole), big.NewRat(parts, 1))
}

// whole returns the places of the limit.
func (a *adaptiveCell) whole() int64 {
	n, _ := floor(a.limit, 1).Float64()
	return int64(n)
}

func (a *adaptiveCell) ask(cost int64) answer {
	switch {
	case cost > int64(a.cfg.Maximum):
		return answer{verdict: reject, reason: "capacity", retryAt: never}
	case a.inUse > 0 && a.inUse+cost > a.whole():
		return answer{verdict: reject, reason: "full", retryAt: never}
	}
	return answer{verdict: admit}
}

func (a *adaptiveCell) take(cost int64) func(outcome string, since, now int64) {
	a.inUse += cost
	return func(outcome string, since, now int64) {
		late := now-since > int64(a.cfg.Over)
		switch {
		case outcome == "fail", outcome == "timeout", outcome == "throttle", outcome == "ok" && late:
			a.lower(since, now)
		case outcome == "ok" && a.inUse*2 >= a.whole():
			a.raise(cost)
		}
		a.inUse -= cost
	}
}

// lower takes the share from the limit, unless the attempt was admitted before or
// when it last fell.
func (a *adaptiveCell) lower(since, now int64) {
	if a.fell && since <= a.fallen {
		return
	}
	rest := new(big.Rat).Sub(big.NewRat(1, 1), big.NewRat(int64(a.cfg.Decrease.Millionths()), 1_000_000))
	a.limit = floor(rest.Mul(rest, a.limit), 1)
	a.fell, a.fallen = true, now
	a.keep()
}

// raise adds the increase divided by the limit for each place, at most the increase.
func (a *adaptiveCell) raise(cost int64) {
	part := new(big.Rat).Mul(places(a.cfg.Increase), big.NewRat(cost, 1))
	part.Quo(part, a.limit)
	if most := places(a.cfg.Increase); part.Cmp(most) > 0 {
		part = most
	}
	part = floor(part, 1_000_000)
	a.limit = new(big.Rat).Add(a.limit, part)
	a.keep()
}

// keep keeps the limit in its bounds.
func (a *adaptiveCell) keep() {
	if low := places(a.cfg.Minimum); a.limit.Cmp(low) < 0 {
		a.limit = low
	}
	if high := places(a.cfg.Maximum); a.limit.Cmp(high) > 0 {
		a.limit = high
	}
}

func (a *adaptiveCell) held() bool { return a.inUse > 0 }

func (a *adaptiveCell) configure(config mechanism.Config) {
	a.cfg = config.(cfg.Config)
	a.keep()
}

func (a *adaptiveCell) unused(now int64) bool {
	return a.limit.Cmp(places(a.cfg.Initial)) == 0 && (!a.fell || a.fallen < now)
}
