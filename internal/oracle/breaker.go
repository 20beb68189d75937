package oracle

import (
	"math/big"

	"github.com/sluice-go/sluice/core/backoff"
	cfg "github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// breakerCell is the cell of a circuit breaker.
type breakerCell struct {
	cfg        cfg.Config
	phase      phase
	generation int
	// begun is the mark at which this generation began. A new breaker's is its
	// first step; until then known is false.
	begun int64
	known bool

	votes  []vote  // closed: of this generation, since the window changed
	probes []*pass // half-open: out
	probed bool    // half-open: one was sent
	done   []vote  // half-open: in

	until     int64 // open: its end; half-open: the end of its longest stay, or never
	openings  int   // since it was last closed
	total     int   // ever
	lastDelay int64 // the open time of the last opening, -1 when none since closed
}

// phase is a breaker's state.
type phase int

const (
	closed phase = iota
	open
	halfOpen
)

// pass is an attempt's right to vote.
type pass struct {
	generation int
	at         int64
}

// vote is an outcome that counts.
type vote struct {
	at           int64
	failed, slow bool
}

// ask returns the answer to an attempt that reaches the breaker.
func (b *breakerCell) ask(now int64) answer {
	switch {
	case b.phase == open:
		return answer{verdict: reject, reason: "open", retryAt: b.until}
	case b.phase == halfOpen && len(b.probes)+len(b.done) >= int(b.cfg.Probes):
		return answer{verdict: reject, reason: "probes", retryAt: after(now, b.lastDelay)}
	}
	return answer{verdict: admit}
}

// take lets an attempt pass.
func (b *breakerCell) take(now int64) *pass {
	if !b.known {
		b.known, b.begun = true, now
	}
	p := &pass{generation: b.generation, at: now}
	if b.phase == halfOpen {
		b.probes = append(b.probes, p)
		b.probed = true
	}
	return p
}

// leave ends an attempt that passed: with a vote for ok, fail and timeout.
func (b *breakerCell) leave(p *pass, outcome string, took, now int64) {
	if p.generation != b.generation {
		return
	}
	v := vote{at: now, failed: outcome != "ok", slow: b.cfg.SlowOver > 0 && took > int64(b.cfg.SlowOver)}
	voted := outcome == "ok" || outcome == "fail" || outcome == "timeout"
	if b.phase == halfOpen {
		out := len(b.probes)
		b.giveBack(p)
		if voted && len(b.probes) < out {
			// Reading: where successes decide, an outcome that failed is not slow.
			v.slow = v.slow && (!v.failed || b.cfg.Successes == 0)
			b.done = append(b.done, v)
			b.decide(now)
		}
		return
	}
	if voted {
		b.votes = append(b.votes, v)
		if b.trips(now) {
			b.open(now)
		}
	}
}

// giveBack frees the probe's place.
func (b *breakerCell) giveBack(gone *pass) {
	var rest []*pass
	for _, p := range b.probes {
		if p != gone {
			rest = append(rest, p)
		}
	}
	b.probes = rest
}

// trips judges the closed breaker by its window. It is judged when an outcome
// comes in, not when one leaves the window.
func (b *breakerCell) trips(now int64) bool {
	counted := b.votes
	switch b.cfg.Window {
	case cfg.Consecutive:
		row := 0
		for i := len(b.votes) - 1; i >= 0 && b.votes[i].failed; i-- {
			row++
		}
		return row >= int(b.cfg.Count)
	case cfg.Calls:
		counted = b.votes[max(0, len(b.votes)-int(b.cfg.Count)):]
	case cfg.Time:
		counted = nil
		for _, v := range b.votes {
			if b.bucket(v.at) > b.bucket(now)-int64(b.cfg.Count) {
				counted = append(counted, v)
			}
		}
	}
	return len(counted) >= int(b.cfg.Minimum) && b.reached(counted)
}

// bucket returns the number of the time window's bucket at the mark.
func (b *breakerCell) bucket(at int64) int64 {
	n := new(big.Int).Mul(big.NewInt(at-b.begun), big.NewInt(int64(b.cfg.Count)))
	return n.Div(n, big.NewInt(int64(b.cfg.Span))).Int64()
}

// reached reports whether the failures or the slow ones reach their rate.
func (b *breakerCell) reached(votes []vote) bool {
	failed, slow := 0, 0
	for _, v := range votes {
		if v.failed {
			failed++
		}
		if v.slow {
			slow++
		}
	}
	return share(failed, b.cfg.FailureRate, len(votes)) ||
		b.cfg.SlowOver > 0 && share(slow, b.cfg.SlowRate, len(votes))
}

// share reports whether n of all are at least the rate.
func share(n int, rate reducer.Share, all int) bool {
	return n*int(reducer.Whole) >= int(rate.Millionths())*all
}

// decide judges the half-open breaker: by its rates when all outcomes are in;
// with consecutive any failure opens it, at once.
func (b *breakerCell) decide(now int64) {
	in := len(b.done) >= int(b.cfg.Probes)
	if k := int(b.cfg.Successes); k > 0 {
		b.count(k, now)
		return
	}
	opens := in && b.cfg.Window != cfg.Consecutive && b.reached(b.done)
	if b.cfg.Window == cfg.Consecutive {
		for _, v := range b.done {
			opens = opens || v.failed
		}
	}
	switch {
	case opens:
		b.open(now)
	case in:
		b.enter(closed, now)
		b.openings, b.lastDelay = 0, -1
	}
}

// count judges the half-open breaker by its good outcomes: k of the probes close it, at
// once, and it opens as soon as too few are left. Reading: those that came before a configure
// and were both failed and slow count twice, at most as all outcomes.
func (b *breakerCell) count(k int, now int64) {
	bad := 0
	for _, v := range b.done {
		if v.failed {
			bad++
		}
		if v.slow {
			bad++
		}
	}
	bad = min(bad, len(b.done))
	switch {
	case len(b.done)-bad >= k:
		b.enter(closed, now)
		b.openings, b.lastDelay = 0, -1
	case bad > int(b.cfg.Probes)-k:
		b.open(now)
	}
}

// open opens the breaker for the time that the number of openings tells, of which
// a thousand count. After a half-open stay without a probe that time is nominal.
func (b *breakerCell) open(now int64) {
	idle := b.phase == halfOpen && !b.probed
	b.enter(open, now)
	b.openings++
	b.total++
	n := min(b.openings, 1_000)
	if idle {
		nominal := b.cfg.Open
		nominal.Jitter = 0
		if nominal.Kind == backoff.Decorrelated {
			nominal.Kind = backoff.Constant
		}
		b.lastDelay = delay(nominal, n, -1, 0)
	} else {
		b.lastDelay = delay(b.cfg.Open, n, b.lastDelay, uint64(b.total))
	}
	b.until = after(now, b.lastDelay)
}

// enter begins a generation.
func (b *breakerCell) enter(p phase, now int64) {
	b.phase = p
	b.generation++
	b.begun = now
	b.votes, b.probes, b.done, b.probed = nil, nil, nil, false
	b.until = never
}

// openAt reports whether it is open now and still will be at the mark.
func (b *breakerCell) openAt(mark int64) bool { return b.phase == open && b.until > mark }

// nextWake returns when the breaker changes by itself, or never. In a half-open
// stay that began without a bound probes lose their places one by one.
func (b *breakerCell) nextWake() int64 {
	wake := b.until
	if b.phase == halfOpen && b.until == never {
		for _, p := range b.probes {
			wake = min(wake, after(p.at, b.lastDelay))
		}
	}
	return wake
}

// tick does what is due at nextWake. It plays every cycle of an idle breaker at
// its mark; how the text shortens more than a thousand of them needs longer logs
// than are compared.
func (b *breakerCell) tick(now int64) {
	switch {
	case b.phase == open:
		b.enter(halfOpen, now)
		if b.cfg.HalfOpenMax > 0 {
			b.until = after(now, int64(b.cfg.HalfOpenMax))
		}
	case b.until <= now:
		b.open(now)
	default:
		for _, p := range b.probes {
			if after(p.at, b.lastDelay) <= now {
				b.giveBack(p)
				return
			}
		}
	}
}

// configure changes the settings. The state, its deadline and the beginning of
// its generation stay; a changed window starts without outcomes. A half-open
// breaker whose outcomes now suffice decides.
func (b *breakerCell) configure(c cfg.Config, now int64) {
	old := b.cfg
	b.cfg = c
	if old.Window != c.Window || old.Count != c.Count || old.Span != c.Span {
		b.votes = nil
	}
	if b.phase == halfOpen {
		b.decide(now)
	}
}
