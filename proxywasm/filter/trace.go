package filter

import (
	"strconv"

	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/proxywasm/abi"
)

// traceHeader asks for a trace, and has it in the answer.
const traceHeader = "x-sluice-trace"

// sampled is one of how many requests of a worker is traced.
const sampled = 1000

// trace writes what was decided about a request to the log, where it is to be traced, and
// keeps it for the answer, where the request asks for that.
func (r *root) trace(s *stream, v *verdict) {
	if r.doc.Proxy.Trace == document.TraceOff {
		return
	}
	asked := false
	if r.doc.Proxy.Trace == document.TraceRequest {
		_, asked = abi.Header(abi.RequestHeaders, traceHeader)
	}
	if r.traced++; !asked && r.traced%sampled != 1 {
		return
	}
	text := s.tell(v)
	if asked {
		s.trace = text
	}
}

// tell writes the trace of a request to the log.
func (s *stream) tell(v *verdict) string {
	text := s.policy.trace(s, v)
	abi.Log(abi.Info, "sluice: trace: "+text)
	return text
}

// trace is a line as in
//
//	policy=api decision=reject step=limit reason=rate retry-after=6s limit="free 0/10"
func (p *policy) trace(s *stream, v *verdict) string {
	text := "policy=" + p.Name + " decision="
	switch v.what {
	case passes:
		text += "admit"
	case waits:
		text += "wait"
	default:
		text += "reject step=" + p.plan.StepName(v.step) + " reason=" + v.reason.String()
		if v.after >= 0 {
			text += " retry-after=" + strconv.FormatInt(refusals.CeilSeconds(v.after), 10) + "s"
		}
	}
	for i := range p.plan.Len() {
		text += " " + p.plan.StepName(i) + "=\"" + p.engine.state(s, i) + "\""
	}
	return text
}
