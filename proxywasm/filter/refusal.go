package filter

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/policy/refusals"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/reducer"
)

// refuse answers the effective stream in place of the upstream.
func (r *root) refuse(s *stream, v verdict) {
	p := s.policy
	name := p.plan.StepName(v.step)
	quota := mechanisms.Row(p.plan.Kind(v.step)).Traits.Has(mechanism.Quotas)
	problem := refusals.Rejected(name, quota, v.reason)
	fields := make([]string, 0, 12)
	seconds, comes := refusals.ComeBack(v.reason, v.after)
	if comes {
		fields = append(fields, "retry-after", strconv.FormatInt(seconds, 10))
	}
	if field := p.rateLimit(s, &v); field != "" {
		fields = append(fields, "ratelimit-policy", p.field, "ratelimit", field)
	}
	respond(&problem, p, fields, seconds, "sluice_"+p.Name+"_"+name+"_"+v.reason.String())
}

// respond answers the effective stream with a problem, or with the fallback of the policy.
func respond(problem *refusals.Problem, p *policy, fields []string, seconds int64, details string) {
	fields = append(fields, "x-throttle-reason", problem.Reason, "cache-control", "no-store")
	reply := abi.Reply{Status: uint32(problem.Status), Details: details, GRPC: abi.NoGRPC}
	kind, _ := abi.Header(abi.RequestHeaders, "content-type")
	switch {
	case strings.HasPrefix(string(kind), "application/grpc"):
		reply.GRPC, reply.Body = int32(refusals.GRPCOfHTTP(problem.Status)), problem.Detail
		if seconds > 0 {
			fields = append(fields, "grpc-retry-pushback-ms", strconv.FormatInt(min(seconds*1000, 1<<31-1), 10))
		}
	case p != nil && p.fallback != nil:
		reply.Status, reply.Body = uint32(p.fallback.Status), p.fallback.Body
		fields = append(fields, "content-type", typeOf(p.fallback.Body))
	default:
		reply.Body = string(problem.Text())
		fields = append(fields, "content-type", refusals.ContentType)
	}
	reply.Headers = abi.AppendPairs(nil, fields...)
	abi.Respond(&reply)
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

// rateLimit returns the field RateLimit of the limits of a policy for a request, empty
// where it has none. v is the refusal that it goes with, nil for none.
func (p *policy) rateLimit(s *stream, v *verdict) string {
	if len(p.limits) == 0 {
		return ""
	}
	var b []byte
	for i := range p.limits {
		l := &p.limits[i]
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		refused := v != nil && v.step == l.Step && v.after >= 0
		if refused && v.reason == reducer.ReasonRate && len(p.limits) == 1 {
			// Nothing about the only limit has to be asked.
			return string(l.Append(b, 0, refusals.CeilSeconds(v.after)))
		}
		x := p.engine.room(s, l.Step)
		wait := x.full
		switch {
		case refused:
			wait = v.after
		case x.free == 0:
			wait = x.next
		}
		b = l.Append(b, uint64(x.free), refusals.CeilSeconds(wait))
	}
	return string(b)
}
