package nethttp

import (
	"math"
	"math/bits"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

// limitView is an enforced limit as the headers show it.
type limitView struct {
	step   int
	name   string // as a string of structured fields, quotes included
	count  uint64 // permits
	window int64  // seconds in which there are count of them, 0 for none that is whole
	burst  uint64 // the most that can be free
}

// limitViews returns the enforced limits of a plan. A limit in shadow refuses no
// request, so clients need not know it.
func limitViews(plan *pipeline.Plan) []limitView {
	var list []limitView
	for i := range plan.Len() {
		s := plan.Step(i)
		name, ok := quoted(s.Name)
		c, limits := s.Config.(limiter.Config)
		if !limits || s.Shadow || !ok {
			continue
		}
		v := limitView{step: i, name: name, burst: uint64(mostPermits(c))}
		v.count, v.window = perSeconds(uint64(c.Count), c.Period)
		list = append(list, v)
	}
	return list
}

// mostInteger is the greatest integer of structured fields (RFC 9651 section
// 3.3.1).
const mostInteger = 999_999_999_999_999

// perSeconds returns the rate in the fewest whole seconds in which it is a
// whole number, as headers know no smaller unit, and no window where the
// numbers get too big.
func perSeconds(count uint64, period time.Duration) (uint64, int64) {
	times := uint64(time.Second / gcd(period, time.Second))
	high, scaled := bits.Mul64(count, times)
	over, length := bits.Mul64(uint64(period), times)
	if high != 0 || over != 0 || scaled > mostInteger {
		return count, 0
	}
	return scaled, int64(length / uint64(time.Second))
}

func gcd(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// quoted returns a string of structured fields (RFC 9651 section 3.3.3), which
// are of printable ASCII.
func quoted(text string) (string, bool) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", false
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`, true
}

// policyHeader is the RateLimit-Policy of the limits.
func policyHeader(limits []limitView) string {
	var b []byte
	for i, v := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, v.name...)
		b = append(b, ";q="...)
		b = strconv.AppendUint(b, v.count, 10)
		if v.window > 0 {
			b = append(b, ";w="...)
			b = strconv.AppendInt(b, v.window, 10)
		}
	}
	return string(b)
}

// fields are the values of the headers about limits.
type fields struct {
	rateLimit string
	policy    []string // shared by all answers
	// Of the tightest limit.
	limit, remaining uint64
	reset            int64
}

// limitFields reads the limits that apply to a request. r is what is free now.
// t is the time until a next permit when there is none, as Retry-After then
// says too, else the time until all of them are free. refused is the refusal
// that the answer reports, nil for none; t agrees with its Retry-After.
func (s *settings) limitFields(g *guard, q sluice.Request, refused *sluice.RejectedError) (f fields, ok bool) {
	v := g.view()
	if !s.shows(v) {
		return f, false
	}
	var room [2]sluice.LimitState
	return v.fields(g.pipeline.Limits(q, room[:0]), refused)
}

// shows reports whether answers have headers about limits.
func (s *settings) shows(v *view) bool { return (s.fields || s.legacy) && len(v.limits) > 0 }

// fields makes the values of states.
func (v *view) fields(states []sluice.LimitState, refused *sluice.RejectedError) (f fields, ok bool) {
	var text [128]byte
	b := text[:0]
	f.remaining = math.MaxUint64
	for _, state := range states {
		l := v.limit(state.Step)
		if l == nil {
			continue
		}
		wait := state.Full
		switch {
		case refused != nil && refused.RetryAfter >= 0 && refused.Step == v.plan.StepName(state.Step):
			wait = refused.RetryAfter
		case state.Free == 0:
			wait = state.Next
		}
		remaining, reset := uint64(state.Free), ceilSeconds(wait)
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = l.append(b, remaining, reset)
		if remaining < f.remaining {
			f.limit, f.remaining, f.reset = l.burst, remaining, reset
		}
	}
	f.rateLimit, f.policy = string(b), v.policy
	return f, len(b) > 0
}

// append appends the item of a limit in the field RateLimit.
func (l *limitView) append(b []byte, remaining uint64, reset int64) []byte {
	b = append(append(b, l.name...), ";r="...)
	b = append(strconv.AppendUint(b, remaining, 10), ";t="...)
	return strconv.AppendInt(b, reset, 10)
}

func (v *view) limit(step int) *limitView {
	for i := range v.limits {
		if v.limits[i].step == step {
			return &v.limits[i]
		}
	}
	return nil
}

// The names of the headers in the form in which http.Header keeps them.
const (
	rateLimit       = "Ratelimit"
	rateLimitPolicy = "Ratelimit-Policy"
)

// setFields writes the headers, in the room of a value where that is enough. What
// another hop wrote of its own limits stays: both fields are lists. Where none has, the
// caller may say so, and they are not looked for.
func (s *settings) setFields(h http.Header, f *fields, room *[1]string, none bool) {
	switch {
	case !s.fields:
	case none:
		room[0] = f.rateLimit
		h[rateLimitPolicy], h[rateLimit] = f.policy, room[:]
	default:
		if old := h[rateLimitPolicy]; len(old) > 0 {
			h[rateLimitPolicy] = append(old[:len(old):len(old)], f.policy...)
		} else {
			h[rateLimitPolicy] = f.policy
		}
		if old := h[rateLimit]; len(old) > 0 {
			h[rateLimit] = append(old, f.rateLimit)
		} else {
			room[0] = f.rateLimit
			h[rateLimit] = room[:]
		}
	}
	if s.legacy && h.Get("X-RateLimit-Limit") == "" {
		h.Set("X-RateLimit-Limit", strconv.FormatUint(f.limit, 10))
		h.Set("X-RateLimit-Remaining", strconv.FormatUint(f.remaining, 10))
		h.Set("X-RateLimit-Reset", strconv.FormatInt(f.reset, 10))
	}
}

// ceilSeconds returns a duration in seconds, rounded up.
func ceilSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return seconds
}
