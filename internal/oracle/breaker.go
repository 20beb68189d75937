package oracle

import (
	"math/big"
	"sort"

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
	row    int     // how many of the votes came before slow ones in a row counted
	sum    int64   // in a ramp: the shares of all calls that asked, in millionths
	probes []*pass // half-open: out
	probed bool    // half-open: one was sent
	done   []vote  // half-open: in

	until     int64 // open: its end; half-open: the end of its longest stay; closed: of its ramp; or never
	growth    int   // openings since it was last closed that outcomes caused
	total     int   // ever
	lastDelay int64 // the open time of the last opening, -1 when none since closed
}

// phase is a breaker's state.
type phase int

const (
	closed phase = iota
	open
	halfOpen
	forcedOpen
	forcedClosed
	metricsOnly
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

// ask returns the answer to an attempt that reaches the breaker. It begins a new breaker,
// and a ramp counts it.
func (b *breakerCell) ask(now int64) answer {
	b.begin(now)
	switch {
	case b.phase == open:
		return answer{verdict: reject, reason: "open", retryAt: b.until}
	case b.phase == forcedOpen:
		return answer{verdict: reject, reason: "open", retryAt: never}
	case b.phase == closed && b.until != never:
		before := b.sum
		b.sum += b.share(now)
		if !whole(before, b.sum) {
			return answer{verdict: reject, reason: "probes", retryAt: b.passes(now)}
		}
	case b.phase == halfOpen && len(b.probes)+len(b.done) >= int(b.cfg.Probes):
		return answer{verdict: reject, reason: "probes", retryAt: after(now, b.lastDelay)}
	}
	return answer{verdict: admit}
}

// begin makes a new breaker enter its initial mode.
func (b *breakerCell) begin(now int64) {
	if b.known {
		return
	}
	b.known = true
	switch b.cfg.Initial {
	case cfg.Open:
		b.open(false, now)
	case cfg.HalfOpen:
		b.lastDelay = delay(b.cfg.Open, 1, -1, 0)
		b.halfOpen(now)
	default:
		b.enter(phase(b.cfg.Initial), now)
	}
}

func (b *breakerCell) halfOpen(now int64) {
	b.enter(halfOpen, now)
	if b.cfg.HalfOpenMax > 0 {
		b.until = after(now, int64(b.cfg.HalfOpenMax))
	}
}

// share returns the share of the calls that the ramp admits at the mark, in millionths.
func (b *breakerCell) share(at int64) int64 {
	from := int64(b.cfg.RampFrom.Millionths())
	n := new(big.Int).Mul(big.NewInt(at-b.begun), big.NewInt(int64(reducer.Whole)-from))
	return from + n.Div(n, big.NewInt(b.until-b.begun)).Int64()
}

// whole reports whether a whole number is more than one sum and at most another.
func whole(before, sum int64) bool { return sum/int64(reducer.Whole) > before/int64(reducer.Whole) }

// passes returns the least mark at which the next call passes the ramp.
func (b *breakerCell) passes(now int64) int64 {
	return now + int64(sort.Search(int(b.until-now), func(i int) bool { return whole(b.sum, b.sum+b.share(now+int64(i))) }))
}

// take lets an attempt pass.
func (b *breakerCell) take(now int64) *pass {
	p := &pass{generation: b.generation, at: now}
	if b.phase == halfOpen {
		b.probes = append(b.probes, p)
		b.probed = true
	}
	return p
}

// leave ends an attempt that passed: with a vote for ok, fail and timeout. An answer that
// failed or was throttled and that says after opens the breaker until then where it obeys.
func (b *breakerCell) leave(p *pass, outcome string, took, says, now int64) {
	if p.generation != b.generation {
		return
	}
	told := says > 0 && b.cfg.ObeyRetryAfter > 0 && (outcome == "fail" || outcome == "throttle")
	if !told || b.phase != closed && b.phase != halfOpen {
		b.end(p, outcome, took, false, now)
		return
	}
	before := b.generation
	if !b.end(p, outcome, took, true, now) {
		return
	}
	until := after(now, min(says, int64(b.cfg.ObeyRetryAfter)))
	if b.generation == before {
		b.open(outcome == "fail" || b.bad(), now)
		b.until = until
	}
	b.until = max(b.until, until)
}

// end is leave without what the answer says. stays says that it does not close the
// breaker. It reports whether the attempt was known.
func (b *breakerCell) end(p *pass, outcome string, took int64, stays bool, now int64) bool {
	v := vote{at: now, failed: outcome != "ok", slow: b.cfg.SlowOver > 0 && took > int64(b.cfg.SlowOver)}
	voted := outcome == "ok" || outcome == "fail" || outcome == "timeout"
	if b.phase == halfOpen {
		out := len(b.probes)
		b.giveBack(p)
		known := len(b.probes) < out
		if voted && known {
			// Reading: where successes decide, an outcome that failed is not slow.
			v.slow = v.slow && (!v.failed || b.cfg.Successes == 0)
			b.done = append(b.done, v)
			b.decide(stays, now)
		}
		return known
	}
	if voted {
		b.votes = append(b.votes, v)
		if b.phase == closed && b.trips(now) {
			b.open(true, now)
		}
	}
	return true
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
	counted, slow := b.votes, 0
	for i := len(b.votes) - 1; i >= b.row && b.votes[i].slow; i-- {
		slow++
	}
	if n := int(b.cfg.SlowConsecutive); n > 0 && slow >= n {
		return true
	}
	switch b.cfg.Window {
	case cfg.Consecutive:
		return b.failedRow(now) >= int(b.cfg.Count)
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

// failedRow returns how many failures in a row count at the mark. Those before a pause of
// the time to forget do not.
func (b *breakerCell) failedRow(now int64) (row int) {
	for i := len(b.votes) - 1; i >= 0 && b.votes[i].failed; i-- {
		if b.cfg.Forget > 0 && now-b.votes[i].at >= int64(b.cfg.Forget) {
			break
		}
		row++
		now = b.votes[i].at
	}
	return row
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
		b.cfg.SlowRate.Positive() && share(slow, b.cfg.SlowRate, len(votes))
}

// share reports whether n of all are at least the rate.
func share(n int, rate reducer.Share, all int) bool {
	return n*int(reducer.Whole) >= int(rate.Millionths())*all
}

// decide judges the half-open breaker: by its rates when all outcomes are in;
// with consecutive any failure opens it, at once, and with slow ones in a row any slow one.
// stays says that it does not close it.
func (b *breakerCell) decide(stays bool, now int64) {
	in := len(b.done) >= int(b.cfg.Probes)
	if k := int(b.cfg.Successes); k > 0 {
		b.count(k, stays, now)
		return
	}
	opens := in && b.cfg.Window != cfg.Consecutive && b.reached(b.done)
	if b.cfg.Window == cfg.Consecutive {
		for _, v := range b.done {
			opens = opens || v.failed
		}
	}
	for _, v := range b.done {
		opens = opens || b.cfg.SlowConsecutive > 0 && v.slow
	}
	switch {
	case opens:
		b.open(true, now)
	case in && !stays:
		b.close(now)
	}
}

// close closes the half-open breaker, and begins its ramp.
func (b *breakerCell) close(now int64) {
	b.enter(closed, now)
	b.growth, b.lastDelay = 0, -1
	if b.cfg.RampOver > 0 {
		b.until = after(now, int64(b.cfg.RampOver))
	}
}

// count judges the half-open breaker by its good outcomes: k of the probes close it, at
// once, and it opens as soon as too few are left. Reading: those that came before a configure
// and were both failed and slow count twice, at most as all outcomes.
func (b *breakerCell) count(k int, stays bool, now int64) {
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
		if !stays {
			b.close(now)
		}
	case bad > int(b.cfg.Probes)-k:
		b.open(true, now)
	}
}

// bad reports whether a probe of this stay failed or was slow.
func (b *breakerCell) bad() bool {
	for _, v := range b.done {
		if v.failed || v.slow {
			return true
		}
	}
	return false
}

// open opens the breaker for the time that the number of openings that outcomes caused
// tells, of which a thousand count; caused says that this one is of them. After a
// half-open stay without a probe that time is nominal.
func (b *breakerCell) open(caused bool, now int64) {
	idle := b.phase == halfOpen && !b.probed
	b.enter(open, now)
	if caused {
		b.growth++
	}
	b.total++
	n := min(max(b.growth, 1), 1_000)
	if idle {
		nominal := b.cfg.Open
		nominal.Jitter = 0
		if nominal.Kind == backoff.Decorrelated {
			nominal.Kind = backoff.Constant
		}
		b.lastDelay = delay(nominal, n, -1, 0)
	} else {
		if n == 1 {
			b.lastDelay = -1 // the open time of one that began half-open is none before it
		}
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
	b.row, b.sum = 0, 0
	b.until = never
}

// openAt reports whether it is open now and still will be at the mark. It changes nothing.
func (b *breakerCell) openAt(mark, now int64) bool {
	asked := *b
	asked.begin(now)
	return asked.phase == forcedOpen || asked.phase == open && asked.until > mark
}

// openUntil returns when it is no longer open, never for one that is forced open.
func (b *breakerCell) openUntil(now int64) int64 {
	asked := *b
	asked.begin(now)
	return asked.until
}

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
		b.halfOpen(now)
	case b.phase == closed:
		b.until, b.sum = never, 0
	case b.until <= now:
		b.open(b.bad(), now)
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
	if old.Window != c.Window || old.Count != c.Count || old.Span != c.Span || old.Forget != c.Forget {
		b.votes = nil
	}
	if old.SlowConsecutive == 0 || c.SlowConsecutive == 0 || b.votes == nil {
		b.row = len(b.votes)
	}
	switch {
	case b.phase == halfOpen:
		b.decide(false, now)
	case b.phase == closed && c.RampOver == 0:
		b.until, b.sum = never, 0
	}
}

// unused says that a breaker, of which no probe is out, was not asked, or has the mode of
// a new one and counted nothing. Where outcomes count for a time, that has begun.
func (b *breakerCell) unused(now int64) bool {
	if !b.known {
		return true
	}
	if b.generation > 1 || b.phase != phase(b.cfg.Initial) || b.phase == open || b.phase == halfOpen {
		return false
	}
	if b.phase == forcedOpen || b.phase == forcedClosed {
		return true
	}
	n := len(b.votes)
	switch b.cfg.Window {
	case cfg.Time:
		return false
	case cfg.Consecutive:
		return b.failedRow(now) == 0 && (b.cfg.SlowConsecutive == 0 || n == b.row || !b.votes[n-1].slow)
	}
	return n == 0
}
