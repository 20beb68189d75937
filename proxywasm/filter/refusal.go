package filter

import (
	"math"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/reducer"
)

// refusal is what all refusals of a step for one reason have in common.
type refusal struct {
	step    int
	reason  reducer.Reason
	problem refusals.Problem
	body    string
	details string // for the log of the proxy
	quota   bool   // of a limit
	// headers are the headers of the last refusal, for refusals that differ in the seconds
	// alone.
	headers []byte
	seconds int64
}

// refusal returns the refusal of a step and a reason.
func (p *policy) refusal(step int, why reducer.Reason) *refusal {
	for _, f := range p.refusals {
		if f.step == step && f.reason == why {
			return f
		}
	}
	name := p.plan.StepName(step)
	quota := step >= 0 && mechanisms.Row(p.plan.Kind(step)).Traits.Has(mechanism.Quotas)
	missing := pipeline.MissingShare
	if step >= 0 {
		missing = p.plan.Step(step).Missing
	}
	f := &refusal{step: step, reason: why, problem: refusals.Rejected(name, quota, why, missing), quota: quota}
	f.details = "sluice_" + p.Name + "_" + name + "_" + why.String()
	f.body = string(f.problem.Text())
	p.refusals = append(p.refusals, f)
	return f
}

// refuse answers the effective stream in place of the upstream.
func (r *root) refuse(s *stream, v verdict) {
	p := s.policy
	f := p.refusal(v.step, v.reason)
	seconds, comes := refusals.ComeBack(v.reason, v.after)
	if !comes {
		seconds = 0
	}
	reply := abi.Reply{Status: uint32(f.problem.Status), Details: f.details, Body: f.body, GRPC: abi.NoGRPC}
	switch {
	case isGRPC(abi.RequestHeaders):
		toGRPC(&reply, &f.problem)
		reply.GRPC = int32(refusals.GRPCOfRejected(v.reason, f.problem.Status))
		reply.Headers = p.headers(s, &v, f, seconds, "")
	case p.fallback != nil && !refusals.Final(v.reason):
		reply.Status, reply.Body = uint32(p.fallback.Status), p.fallback.Body
		reply.Headers = p.cached(s, &v, f, seconds, typeOf(p.fallback.Body))
	default:
		reply.Headers = p.cached(s, &v, f, seconds, refusals.ContentType)
	}
	abi.Respond(&reply)
}

// cached is headers where they follow from the seconds, as with one limit that has no
// permits left.
func (p *policy) cached(s *stream, v *verdict, f *refusal, seconds int64, kind string) []byte {
	if s.trace != "" || len(p.limits) > 0 && !p.sole(v) {
		return p.headers(s, v, f, seconds, kind)
	}
	if f.headers == nil || f.seconds != seconds {
		f.headers, f.seconds = p.headers(s, v, f, seconds, kind), seconds
	}
	return f.headers
}

// headers are the header fields of a refusal, of a client of gRPC where the content type
// is empty.
func (p *policy) headers(s *stream, v *verdict, f *refusal, seconds int64, kind string) []byte {
	fields := make([]string, 0, 22)
	if seconds > 0 {
		fields = append(fields, "retry-after", strconv.FormatInt(seconds, 10))
	}
	limits := p.limitFields(s, v)
	fields = limits.append(fields, p, s.root.doc.Proxy.LegacyHeaders)
	fields = append(fields, "x-throttle-reason", f.problem.Reason, "cache-control", "no-store")
	// A fallback with another status is no refusal to the client.
	limited := kind == "" || p.fallback == nil || p.fallback.Status == tooMany
	if limited && f.quota && f.problem.Status == tooMany && s.root.doc.Proxy.RateLimitedHeader {
		fields = append(fields, "x-envoy-ratelimited", "true")
	}
	if s.trace != "" {
		fields = append(fields, traceHeader, s.trace)
	}
	switch {
	case kind != "":
		fields = append(fields, "content-type", kind)
	case seconds > 0:
		fields = append(fields, "grpc-retry-pushback-ms", strconv.FormatInt(min(seconds*1000, 1<<31-1), 10))
	}
	return abi.AppendPairs(nil, fields...)
}

// tooMany is the status of a refusal by a limit.
const tooMany = 429

// respond answers the effective stream, whose request is refused for what it is.
func respond(problem *refusals.Problem) {
	reply := abi.Reply{Status: uint32(problem.Status), Details: "sluice_" + problem.Reason, GRPC: abi.NoGRPC}
	fields := []string{"x-throttle-reason", problem.Reason, "cache-control", "no-store"}
	if isGRPC(abi.RequestHeaders) {
		toGRPC(&reply, problem)
	} else {
		reply.Body = string(problem.Text())
		fields = append(fields, "content-type", refusals.ContentType)
	}
	reply.Headers = abi.AppendPairs(nil, fields...)
	abi.Respond(&reply)
}

// isGRPC reports whether a message of the effective stream is one of gRPC.
func isGRPC(headers abi.Map) bool {
	kind, _ := abi.Header(headers, "content-type")
	return strings.HasPrefix(string(kind), grpcType)
}

const grpcType = "application/grpc"

// toGRPC makes the answer one of gRPC: the proxy makes the body the message of the status.
func toGRPC(reply *abi.Reply, problem *refusals.Problem) {
	reply.GRPC, reply.Body = int32(refusals.GRPCOfHTTP(problem.Status)), problem.Detail
}

// typeOf returns the content type of the body of a fallback.
func typeOf(body string) string {
	if body != "" && (body[0] == '{' || body[0] == '[') {
		if _, err := tree.ReadJSON([]byte(body)); err == nil {
			return "application/json"
		}
	}
	return "text/plain; charset=utf-8"
}

// sole reports whether a refusal says all about the limits of the policy: it is by the
// only one, which has no permits left.
func (p *policy) sole(v *verdict) bool {
	return v != nil && len(p.limits) == 1 && v.step == p.limits[0].Step && v.reason == reducer.ReasonRate && v.after >= 0
}

// limitFields are the values of the fields about the limits of a policy.
type limitFields struct {
	rateLimit string // empty for a policy without limits
	// Of the limit with the fewest permits.
	limit, remaining uint64
	reset            int64
	omits            uint16 // steps that the request does not pass
}

// tighter notes a limit.
func (f *limitFields) tighter(l *refusals.Limit, remaining uint64, reset int64) {
	if remaining < f.remaining {
		f.limit, f.remaining, f.reset = l.Burst, remaining, reset
	}
}

// limitFields returns what the limits of a policy have for a request. v is the refusal that
// it goes with, nil for none.
func (p *policy) limitFields(s *stream, v *verdict) limitFields {
	f := limitFields{remaining: math.MaxUint64, omits: s.omits}
	var b []byte
	if p.sole(v) {
		l, reset := &p.limits[0], refusals.CeilSeconds(v.after)
		f.tighter(l, 0, reset)
		f.rateLimit = string(l.Append(b, 0, reset))
		return f
	}
	for i := range p.limits {
		l := &p.limits[i]
		if s.omits&(1<<l.Step) != 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		x := p.room(s, l.Step)
		wait := x.full
		switch {
		case v != nil && v.step == l.Step && v.after >= 0:
			wait = v.after
		case x.free == 0:
			wait = x.next
		}
		remaining, reset := uint64(x.free), refusals.CeilSeconds(wait)
		b = l.Append(b, remaining, reset)
		f.tighter(l, remaining, reset)
	}
	f.rateLimit = string(b)
	return f
}

// names of the fields about limits, and of the older ones.
const (
	rateLimitPolicy = "ratelimit-policy"
	rateLimit       = "ratelimit"
	legacyLimit     = "x-ratelimit-limit"
	legacyRemaining = "x-ratelimit-remaining"
	legacyReset     = "x-ratelimit-reset"
)

// append appends the names and values of the fields.
func (f *limitFields) append(fields []string, p *policy, legacy bool) []string {
	if f.rateLimit == "" {
		return fields
	}
	policy := p.field
	if f.omits != 0 {
		policy = refusals.PolicyFieldOf(p.limits, func(step int) bool { return f.omits&(1<<step) == 0 })
	}
	fields = append(fields, rateLimitPolicy, policy, rateLimit, f.rateLimit)
	if legacy {
		fields = append(fields, legacyLimit, strconv.FormatUint(f.limit, 10), legacyRemaining, strconv.FormatUint(f.remaining, 10),
			legacyReset, strconv.FormatInt(f.reset, 10))
	}
	return fields
}
