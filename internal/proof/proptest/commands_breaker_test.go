package proptest

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// naiveBreaker is an oracle of a circuit breaker. It steps through every nanosecond
// and keeps a list of all outcomes.
type naiveBreaker struct {
	word   uint64
	config breaker.Config
	mode   breaker.Mode
	now    int64
	// changed says that the changes that are due at now have happened.
	changed bool
	begun   bool
	entered int64 // the mark of the last change of mode
	openFor int64
	opens   int    // since it was last closed, of those that outcomes caused
	stay    int    // number of this stay
	until   int64  // open: its end; closed: the end of its ramp, 0 for none
	asked   uint64 // the shares of the calls that asked in the ramp, in millionths
	votes   []vote
	out     []int // permits of pending probes
	passes  []pass
}

// pass is a permit that the breaker gave.
type pass struct {
	at   int64
	stay int
}

func breakerOf(w uint64) machine {
	return pick(w, calls, timed, consecutive, large, eased, eased, forgetful)
}

func beginBreaker(w uint64) oracle {
	c := breakerOf(w).draw(history{w >> 8}).breaker
	return &naiveBreaker{word: w, config: c, mode: c.Initial, changed: true}
}

func (b *naiveBreaker) w() uint64 { return b.word }

func (b *naiveBreaker) copy() *naiveBreaker {
	next := *b
	next.votes, next.out, next.passes = slices.Clone(b.votes), slices.Clone(b.out), slices.Clone(b.passes)
	return &next
}

func (b *naiveBreaker) enter(mode breaker.Mode) {
	b.mode, b.entered, b.votes, b.out = mode, b.now, nil, nil
	b.until, b.asked = 0, 0
	b.stay++
}

// open opens the breaker; caused says that outcomes that failed or were slow do.
func (b *naiveBreaker) open(caused bool) {
	if caused {
		b.opens++
	}
	b.openFor = int64(b.config.Open.Base)
	for n := 1; n < b.opens && b.config.Open.Max > 0; n++ {
		b.openFor = min(2*b.openFor, int64(b.config.Open.Max))
	}
	b.enter(breaker.Open)
	b.until = b.now + b.openFor
}

func (b *naiveBreaker) close() {
	b.enter(breaker.Closed)
	b.opens = 0
	if b.config.RampOver > 0 {
		b.until = b.now + int64(b.config.RampOver)
	}
}

// bad reports whether an outcome of this stay failed or was slow.
func (b *naiveBreaker) bad() bool {
	return slices.ContainsFunc(b.votes, func(v vote) bool { return v.failed || v.slow })
}

// initially enters the initial mode.
func (b *naiveBreaker) initially() {
	switch b.opens = 0; b.config.Initial {
	case breaker.Open:
		b.open(false)
	case breaker.HalfOpen:
		b.openFor = int64(b.config.Open.Base)
		fallthrough
	default:
		b.enter(b.config.Initial)
	}
}

// share returns the share of the calls that the ramp admits, in millionths.
func (b *naiveBreaker) share(at int64) uint64 {
	from := uint64(b.config.RampFrom.Millionths())
	return from + (uint64(reducer.Whole)-from)*uint64(at-b.entered)/uint64(b.until-b.entered)
}

// due makes the changes that are due now: the end of the open time, the end of
// half-open, the end of a probe's time.
func (b *naiveBreaker) due() {
	if b.changed || !b.begun {
		return
	}
	b.changed = true
	switch {
	case b.mode == breaker.Closed && b.now >= b.until:
		b.until = 0
	case b.mode == breaker.Open && b.now >= b.until:
		b.enter(breaker.HalfOpen)
	case b.mode == breaker.HalfOpen && b.config.HalfOpenMax > 0:
		if b.now >= b.entered+int64(b.config.HalfOpenMax) {
			b.open(b.bad())
		}
	case b.mode == breaker.HalfOpen:
		b.out = slices.DeleteFunc(b.out, func(p int) bool { return b.passes[p].at+b.openFor <= b.now })
	}
}

func (b *naiveBreaker) acquire() string {
	switch {
	case b.mode == breaker.Open:
		return fmt.Sprintf("reject open retry %d", b.until)
	case b.mode == breaker.ForcedOpen:
		return "reject open"
	case b.mode == breaker.Closed && b.until > 0:
		const whole = uint64(reducer.Whole)
		passed := b.asked / whole
		if b.asked += b.share(b.now); b.asked/whole == passed {
			at := b.now
			for at < b.until && (b.asked+b.share(at))/whole == passed {
				at++
			}
			return fmt.Sprintf("reject probes retry %d", at)
		}
	case b.mode == breaker.HalfOpen && len(b.out)+len(b.votes) >= int(b.config.Probes):
		return fmt.Sprintf("reject probes retry %d", b.now+b.openFor)
	}
	if b.mode == breaker.HalfOpen {
		b.out = append(b.out, len(b.passes))
	}
	b.passes = append(b.passes, pass{b.now, b.stay})
	return "admit"
}

// record ends a pass with an outcome, and opens the breaker for the time that the answer says.
func (b *naiveBreaker) record(p int, outcome reducer.Outcome, says int64) string {
	obeys := says > 0 && (outcome == reducer.Fail || outcome == reducer.Throttle) && b.passes[p].stay == b.stay &&
		b.config.ObeyRetryAfter > 0 && (b.mode == breaker.Closed || b.mode == breaker.HalfOpen)
	before := b.stay
	answer := b.ends(p, outcome, obeys)
	if obeys && answer == "done" {
		until := b.now + min(says, int64(b.config.ObeyRetryAfter))
		if b.stay == before {
			b.open(outcome == reducer.Fail || b.mode == breaker.HalfOpen && b.bad())
			b.until = until
		}
		b.until = max(b.until, until)
	}
	return answer
}

// ends is record without what the answer says. stays says that it does not close the breaker.
func (b *naiveBreaker) ends(p int, outcome reducer.Outcome, stays bool) string {
	if b.passes[p].stay != b.stay {
		return "stale"
	}
	if b.mode == breaker.HalfOpen {
		i := slices.Index(b.out, p)
		if i < 0 {
			return "stale"
		}
		b.out = slices.Delete(b.out, i, i+1)
	}
	failed := outcome == reducer.Fail || outcome == reducer.Timeout
	if !failed && outcome != reducer.OK {
		return "done"
	}
	slow := b.config.SlowOver > 0 && b.now-b.passes[p].at > int64(b.config.SlowOver)
	if k := int(b.config.Successes); k > 0 && b.mode == breaker.HalfOpen {
		return b.count(k, failed || slow, stays)
	}
	b.votes = append(b.votes, vote{clock.Mark(b.now), failed, slow})
	t := tally{config: b.config, origin: clock.Mark(b.entered), list: b.votes}
	row := 0
	for i := len(b.votes) - 1; i >= 0 && b.votes[i].slow; i-- {
		row++
	}
	n := int(b.config.SlowConsecutive)
	switch {
	case b.mode == breaker.MetricsOnly || b.mode == breaker.ForcedClosed:
	case b.mode == breaker.Closed:
		if t.opens() || n > 0 && row >= n {
			b.open(true)
		}
	case n > 0 && slow:
		b.open(true)
	case b.config.Window == breaker.Consecutive && failed:
		b.open(true)
	case len(b.votes) == int(b.config.Probes):
		// All probes are in: the same rates decide.
		t.config.Window, t.config.Count, t.config.Minimum = breaker.Calls, b.config.Probes, 1
		if b.config.Window != breaker.Consecutive && t.opens() {
			b.open(true)
		} else if !stays {
			b.close()
		}
	}
	return "done"
}

// count counts the outcome of a probe where k good ones close.
func (b *naiveBreaker) count(k int, bad, stays bool) string {
	b.votes = append(b.votes, vote{clock.Mark(b.now), bad, false})
	good := 0
	for _, v := range b.votes {
		if !v.failed {
			good++
		}
	}
	left := int(b.config.Probes) - len(b.votes)
	if good >= k {
		if !stays {
			b.close()
		}
	} else if good+left < k {
		b.open(true)
	}
	return "done"
}

func (b *naiveBreaker) do(c command) (oracle, string) {
	b = b.copy()
	answer := "done"
	switch c.verb {
	case "acquire":
		b.start()
		b.due()
		answer = b.acquire()
	case "record":
		if len(b.passes) == 0 {
			return b, "nothing"
		}
		answer = b.record(c.choice%len(b.passes), outcomeOf(c), int64(saysOf(c)))
	case "tick":
		b.due()
	case "reset":
		if b.due(); b.begun {
			b.initially()
		}
	default:
		for range c.number % 16 {
			b.due()
			b.now++
			b.changed = false
		}
		return b, answer
	}
	return b, fmt.Sprintf("%s, %s", answer, b.mode)
}

// start sets the origin of the breaker's time at its first step.
func (b *naiveBreaker) start() {
	if !b.begun {
		b.begun = true
		b.initially()
	}
}

// saysOf returns the retry-after of an outcome, mostly none.
func saysOf(c command) uint64 {
	if c.number>>4%3 > 0 {
		return 0
	}
	return c.number >> 8 % 32
}

func outcomeOf(c command) reducer.Outcome {
	return pick(c.number, reducer.OK, reducer.Fail, reducer.Fail, reducer.Timeout, reducer.OK, reducer.Throttle, reducer.Ignore, reducer.Cancelled)
}

// testedBreaker runs the commands on a machine, which performs due changes itself.
type testedBreaker struct {
	subject subject
	now     clock.Mark
	passes  []reducer.Permit
}

func testBreaker(of func(w uint64) machine) func(w uint64) tested {
	return func(w uint64) tested {
		s, _ := of(w).begin(history{w >> 8})
		return &testedBreaker{subject: s}
	}
}

func (b *testedBreaker) do(c command) string {
	answer := "done"
	switch c.verb {
	case "acquire":
		x := step(b.subject, reducer.Action{Kind: reducer.Acquire, Cost: 1}, b.now)
		if answer = limiterAnswer(x.answer); answer == "admit" {
			b.passes = append(b.passes, x.answer.Permit)
		}
	case "record":
		if len(b.passes) == 0 {
			return "nothing"
		}
		x := step(b.subject, reducer.Action{Kind: reducer.Record, Outcome: outcomeOf(c), Value: saysOf(c), Permit: b.passes[c.choice%len(b.passes)]}, b.now)
		answer = limiterAnswer(x.answer)
	case "tick":
		step(b.subject, tick, b.now)
	case "reset":
		step(b.subject, reducer.Action{Kind: reducer.Reset}, b.now)
	default:
		b.now += clock.Mark(c.number % 16)
		return answer
	}
	return fmt.Sprintf("%s, %s", answer, mode(b.subject))
}

func breakerLine() row {
	s := suite{
		verbs: []string{"acquire", "acquire", "acquire", "acquire", "record", "record", "record", "record", "record", "time", "time", "time", "tick", "reset"},
		begin: beginBreaker,
	}
	return row{"B*", "a breaker answers and changes as a naive one that keeps a list of all outcomes", byDifference,
		[]trial{s.trial("every breaker", 400, 80, testBreaker(breakerOf))},
		s.mutant("breaker that counts probes after their deadline", testBreaker(func(w uint64) machine {
			return breakerOf(w).with("counts probes after their deadline", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
				if a.Kind == reducer.Record && mode(s) == breaker.HalfOpen {
					now = s.Look().last
				}
				return s.Step(a, now)
			}))
		}))}
}
