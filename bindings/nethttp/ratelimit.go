package nethttp

import (
	"math"
	"net/http"
	"strconv"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/refusals"
)

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
func (s *settings) shows(v *view) bool { return (s.fields || s.legacy) && len(v.Limits) > 0 }

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
		remaining, reset := uint64(state.Free), refusals.CeilSeconds(guards.Reset(state, v.Plan, refused))
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = l.Append(b, remaining, reset)
		if remaining < f.remaining {
			f.limit, f.remaining, f.reset = l.Burst, remaining, reset
		}
	}
	f.rateLimit, f.policy = string(b), v.PolicyOf(states)
	return f, len(b) > 0
}

func (v *view) limit(step int) *refusals.Limit {
	for i := range v.Limits {
		if v.Limits[i].Step == step {
			return &v.Limits[i]
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
