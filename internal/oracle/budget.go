package oracle

import (
	"math/big"

	cfg "github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/reducer"
)

// budgetCell is the budget of a retry or a hedge: the marks of all first
// admissions and of all that it granted; or, with tokens, how many there are.
type budgetCell struct {
	fails   []int64  // marks of failed attempts, where firsts are the marks of all that ended
	left    *big.Rat // tokens, nil without
	cfg     cfg.Config
	known   bool
	origin  int64 // the first admission of all
	firsts  []int64
	retries []int64
}

func newBudget(c cfg.Config) *budgetCell {
	b := &budgetCell{cfg: c}
	if c.Rule == cfg.Tokens || c.Rule == cfg.Throttle {
		b.left = tokensOf(c.Tokens)
	}
	return b
}

// tokensOf returns a number of tokens.
func tokensOf(tokens uint32) *big.Rat { return big.NewRat(int64(tokens), 1) }

// price returns the tokens that a retry takes after an outcome, a hedge after none.
func (b *budgetCell) price(outcome string) *big.Rat {
	switch {
	case b.cfg.Rule != cfg.Tokens:
		return new(big.Rat)
	case outcome == "timeout":
		return tokensOf(b.cfg.Timeout)
	}
	return tokensOf(b.cfg.Retry)
}

// ended counts the outcome of an attempt for which the budget took what is given.
func (b *budgetCell) ended(outcome string, took *big.Rat, now int64) {
	if b.cfg.Rule == cfg.Adaptive {
		b.begin(now)
		b.firsts = append(b.firsts, now)
		if outcome != "ok" {
			b.fails = append(b.fails, now)
		}
	}
	if b.left == nil {
		return
	}
	gives := new(big.Rat)
	switch {
	case outcome == "ok" && b.cfg.Rule == cfg.Throttle:
		gives = big.NewRat(int64(b.cfg.TokenRatio.Millionths()), 1_000_000)
	case outcome == "ok" && took != nil && took.Sign() > 0:
		gives = took
	case outcome == "ok":
		gives = tokensOf(b.cfg.Refund)
	case (outcome == "fail" || outcome == "throttle" || outcome == "timeout") && b.cfg.Rule == cfg.Throttle:
		gives = big.NewRat(-1, 1)
	}
	b.left.Add(b.left, gives)
	b.clamp()
}

// clamp keeps the tokens between none and all of them.
func (b *budgetCell) clamp() {
	if b.left.Sign() < 0 {
		b.left.SetInt64(0)
	}
	if full := tokensOf(b.cfg.Tokens); b.left.Cmp(full) > 0 {
		b.left.Set(full)
	}
}

// begin cuts the buckets from the first count of all.
func (b *budgetCell) begin(now int64) {
	if !b.known {
		b.known, b.origin = true, now
	}
}

// first counts a call's first admission.
func (b *budgetCell) first(now int64) {
	if b.cfg.Rule != cfg.Windowed {
		return
	}
	b.begin(now)
	b.firsts = append(b.firsts, now)
}

// asked is what a call says of itself when it asks for a further attempt: how the last one
// ended, how many further ones it has made, and how long its round waited.
type asked struct {
	outcome string
	made    int
	waited  int64
}

// adapts reports whether the share of failures allows a further attempt.
func (b *budgetCell) adapts(a asked, now int64) bool {
	above := func(share reducer.Share) bool {
		return int64(b.counted(b.fails, now))*1_000_000 > int64(b.counted(b.firsts, now))*int64(share.Millionths())
	}
	switch {
	case a.waited > int64(b.cfg.Wait):
		return false
	case above(b.cfg.OneAbove):
		return a.made < 1
	}
	return a.made < 2 || !above(b.cfg.TwoAbove)
}

// allows reports whether the budget has room for one retry or hedge more.
func (b *budgetCell) allows(a asked, now int64) bool {
	outcome := a.outcome
	switch b.cfg.Rule {
	case cfg.Adaptive:
		return b.adapts(a, now)
	case cfg.Tokens:
		return b.left.Cmp(b.price(outcome)) >= 0
	case cfg.Throttle:
		return b.left.Cmp(big.NewRat(int64(b.cfg.Tokens), 2)) > 0
	}
	allowed := new(big.Int).Mul(big.NewInt(int64(b.cfg.MinimumCount)), big.NewInt(int64(b.cfg.Window)))
	allowed.Div(allowed, big.NewInt(int64(b.cfg.MinimumPeriod)))
	share := big.NewInt(int64(b.counted(b.firsts, now)))
	share.Mul(share, big.NewInt(int64(b.cfg.Ratio.Millionths())))
	share.Div(share, big.NewInt(1_000_000))
	return big.NewInt(int64(b.counted(b.retries, now)+1)).Cmp(allowed.Add(allowed, share)) <= 0
}

// grant counts a retry or a hedge if the budget allows it, and returns what it took.
func (b *budgetCell) grant(a asked, now int64) (took *big.Rat, granted bool) {
	if !b.allows(a, now) {
		return nil, false
	}
	outcome := a.outcome
	if b.cfg.Rule == cfg.Adaptive {
		return nil, true
	}
	if b.left != nil {
		took = b.price(outcome)
		b.left.Sub(b.left, took)
		return took, true
	}
	b.begin(now)
	b.retries = append(b.retries, now)
	return nil, true
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
// buckets cut from the first admission of all as before. What was taken of the tokens
// stays taken; another rule begins anew.
func (b *budgetCell) configure(c cfg.Config) {
	if c.Rule != b.cfg.Rule {
		*b = *newBudget(c)
		return
	}
	if b.left != nil {
		b.left.Add(b.left, tokensOf(c.Tokens))
		b.left.Sub(b.left, tokensOf(b.cfg.Tokens))
		b.cfg = c
		b.clamp()
		return
	}
	if c.Window != b.cfg.Window {
		b.firsts, b.retries, b.fails = nil, nil, nil
	}
	b.cfg = c
}

// unused says that nothing was counted yet, and that no token is missing.
func (b *budgetCell) unused() bool {
	return !b.known && (b.left == nil || b.left.Cmp(tokensOf(b.cfg.Tokens)) == 0)
}
