package oracle

import (
	"math/big"

	cfg "github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
)

// injection is what the chaos step does to an attempt.
type injection struct {
	delay      int64
	outcome    string // empty for none
	retryAfter int64  // 0 for none
}

// chaosStep returns the chaos step of the plan, nil for none.
func (p *plan) chaosStep() *step {
	if last := len(p.steps) - 1; last >= 0 && p.steps[last].Kind() == mechanism.Chaos && !p.steps[last].omitted {
		return &p.steps[last]
	}
	return nil
}

// hits reports whether floor(u x 10^6 / 2^64) is at least from and less than to.
func hits(u uint64, from, to uint32) bool {
	part := new(big.Int).SetUint64(u)
	part.Rsh(part.Mul(part, big.NewInt(1_000_000)), 64)
	return part.Cmp(big.NewInt(int64(from))) >= 0 && part.Cmp(big.NewInt(int64(to))) < 0
}

// drawn returns what the settings inject into the attempt of a number.
func drawn(c cfg.Config, seed uint64, number int) (x injection) {
	stream := splitMix(seed+1<<31) + uint64(number)
	next := func() uint64 { // the next output of SplitMix64
		u := splitMix(stream)
		stream += 0x9e3779b97f4a7c15
		return u
	}
	fail := c.Fail.Millionths()
	throttle := fail + c.Throttle.Millionths()
	switch u := next(); {
	case hits(u, 0, fail):
		x.outcome = "fail"
	case hits(u, fail, throttle):
		x.outcome, x.retryAfter = "throttle", int64(c.RetryAfter)
	case hits(u, throttle, throttle+c.Ignore.Millionths()):
		x.outcome = "ignore"
	}
	if hits(next(), 0, c.Slow.Millionths()) {
		x.delay = int64(c.By)
		if c.To > 0 {
			x.delay += draw(stream, big.NewInt(int64(c.To-c.By))).Int64()
		}
	}
	return x
}

// injects draws for an attempt that was just admitted. An attempt that gets anything is
// held up to the end of the latency.
func (e *Engine) injects(p *path) {
	c, s := p.call, p.call.plan.chaosStep()
	if s == nil {
		return
	}
	x := drawn(pipeline.ConfigOf[cfg.Config](s.Step), c.seed, p.number)
	if x.delay > 0 {
		fields := []any{"attempt", p.number, "step", s.Name}
		if until := after(e.now, x.delay); until != never {
			fields = append(fields, "until", duration(until))
		}
		e.say(c.id, "inject", append(fields, inShadow(s.Shadow)...)...)
	}
	switch {
	case s.Shadow && x.outcome != "":
		e.sayResult(p, s, x)
	case !s.Shadow && (x.outcome != "" || x.delay > 0):
		p.injection, p.heldUntil = &x, after(e.now, x.delay)
	}
}

func (e *Engine) sayResult(p *path, s *step, x injection) {
	fields := []any{"outcome", x.outcome, "attempt", p.number, "step", s.Name}
	if x.retryAfter > 0 {
		fields = append(fields, "retry_after", duration(x.retryAfter))
	}
	e.say(p.call.id, "inject", append(fields, inShadow(s.Shadow)...)...)
}

// injectOne ends the latency of the first attempt for which it is over: in the order of
// the calls, then of the attempts.
func (e *Engine) injectOne() bool {
	for _, c := range e.calls {
		if c.over {
			continue
		}
		for _, p := range c.attempts {
			x := p.injection
			if x == nil || p.heldUntil > e.now || p.heldUntil == never {
				continue
			}
			p.injection = nil
			s := c.plan.chaosStep()
			switch {
			case x.outcome == "":
				e.say(c.id, "start", "attempt", p.number, "step", s.Name)
			case x.retryAfter > 0:
				e.sayResult(p, s, *x)
				e.endAttempt(p, x.outcome, &x.retryAfter, nil)
			default:
				e.sayResult(p, s, *x)
				e.endAttempt(p, x.outcome, nil, nil)
			}
			return true
		}
	}
	return false
}

// reached returns the lowest attempt that runs and is not held, or nil.
func (c *call) reached() *path {
	for _, p := range c.attempts {
		if p.state == running && p.injection == nil {
			return p
		}
	}
	return nil
}
