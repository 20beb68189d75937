package filter

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/reducer"
)

// VM is all that one VM of the proxy holds. Its methods are the callbacks of the proxy.
type VM struct {
	roots map[uint32]*root
	// The context that was created last, and the root of it. The proxy asks about a stream
	// right behind its creation, so that hardly any other is ever in parents.
	last, parent uint32
	parents      map[uint32]uint32
	streams      map[uint32]*stream
	idle         []*stream
	request      request // that is being decided
}

// stream is a request that has passed or waits.
type stream struct {
	id      uint32
	root    *root
	policy  *policy
	waits   bool
	voted   bool
	vote    reducer.Outcome // that was given
	grpc    bool            // a call of gRPC
	trailed bool            // its outcome is in the trailers
	fields  []string        // about limits, for the answer: names and values
	trace   string          // for the answer, empty for none
	// recorded is the number of the call in the trace, 0 for one that is not or no longer
	// recorded, and came when it came.
	recorded uint64
	came     time.Duration
	// Of the engine.
	call    *shared.Call
	handle  decision.Handle
	keys    [pipeline.MaxSteps]uint32
	omits   uint16 // steps that the request does not pass
	decided verdict
	parked  bool // among those that wait
}

// Create is proxy_on_context_create.
func (v *VM) Create(id, parent uint32) {
	if parent == 0 {
		return // a root: Configure makes it
	}
	if v.last != 0 {
		if v.parents == nil {
			v.parents = map[uint32]uint32{}
		}
		v.parents[v.last] = v.parent
	}
	v.last, v.parent = id, parent
}

// rootOf returns the root of a stream that begins.
func (v *VM) rootOf(id uint32) *root {
	parent := v.parent
	if v.last == id {
		v.last = 0
	} else {
		parent = v.parents[id]
		delete(v.parents, id)
	}
	return v.roots[parent]
}

// piece is how much of the configuration is read at once.
const piece = abi.ArenaSize / 2

// Configure is proxy_on_configure. It returns false for a document that is wrong, and
// says in the log what is.
func (v *VM) Configure(id, size uint32) bool {
	src := make([]byte, 0, size)
	for uint32(len(src)) < size {
		abi.Reclaim()
		part, status := abi.Buffer(abi.PluginConfiguration, uint32(len(src)), piece)
		if status != abi.OK || len(part) == 0 {
			abi.Log(abi.Error, "sluice: the plugin configuration cannot be read: "+status.Error())
			return false
		}
		src = append(src, part...)
	}
	r, err := newRoot(id, src)
	if err != nil {
		logErrors(err)
		return false
	}
	if v.roots == nil {
		v.roots, v.streams = map[uint32]*root{}, map[uint32]*stream{}
	}
	v.roots[id] = r
	r.tick(idleTick)
	return true
}

func logErrors(err error) {
	if list, ok := err.(document.Errors); ok {
		for _, one := range list {
			abi.Log(abi.Error, "sluice: "+one.Error())
		}
		return
	}
	abi.Log(abi.Error, "sluice: "+err.Error())
}

// Periods of ticks in milliseconds: for the metrics, and while requests wait.
const (
	idleTick = 1000
	waitTick = 5
)

func (r *root) tick(period uint32) {
	if r.ticks != period {
		r.ticks = period
		abi.SetTick(period)
	}
}

// RequestHeaders is proxy_on_request_headers.
func (v *VM) RequestHeaders(id uint32) abi.Action {
	r := v.rootOf(id)
	if r == nil {
		return abi.Continue
	}
	q := &v.request
	if q.find == nil {
		q.find = q.lookup
	}
	q.attributes = attributes{root: r, sent: q.sent[:0]}
	q.readFields()
	p, problem := r.find(q)
	if problem == nil && p != nil {
		problem = q.check(p)
	}
	switch {
	case problem != nil:
		respond(problem)
		return abi.Pause
	case p == nil:
		return abi.Continue
	}
	q.cost = q.attributes.cost()
	s := v.take(id, r, p)
	if p.engine == nil {
		r.ready(p)
		q.readFields()
	}
	r.recorder.call(s, q)
	verdict := p.engine.begin(s, q)
	r.recorder.decided(s, &verdict, false)
	r.trace(s, &verdict)
	switch verdict.what {
	case waits:
		s.waits = true
		v.streams[id] = s
		r.tick(waitTick)
		return abi.Pause
	case refused:
		r.refuse(s, verdict)
		p.engine.end(s, reducer.Cancelled)
		v.drop(s)
		return abi.Pause
	}
	v.admitted(s)
	return abi.Continue
}

// take returns the memory of a stream.
func (v *VM) take(id uint32, r *root, p *policy) (s *stream) {
	if n := len(v.idle); n > 0 {
		s = v.idle[n-1]
		v.idle = v.idle[:n-1]
	} else {
		s = new(stream)
	}
	s.id, s.root, s.policy, s.waits, s.voted, s.grpc, s.trailed, s.fields, s.trace = id, r, p, false, false, false, false, s.fields[:0], ""
	return s
}

// mostIdle is how many streams that are over keep their memory.
const mostIdle = 1024

// drop takes the memory of a stream that is over, and which no engine has.
func (v *VM) drop(s *stream) {
	if len(v.idle) < mostIdle {
		v.idle = append(v.idle, s)
	}
}

// admitted notes a request that passed.
func (v *VM) admitted(s *stream) {
	p := s.policy
	if s.root.doc.Proxy.Headers == document.HeadersAll {
		limits := p.limitFields(s, nil)
		s.fields = limits.append(s.fields, p, s.root.doc.Proxy.LegacyHeaders)
	}
	if p.votes {
		// Hardly any request has a content type, which the answer of every one has.
		s.grpc = isGRPC(abi.RequestHeaders)
	}
	if p.instant {
		p.engine.end(s, reducer.OK)
		if len(s.fields) == 0 && s.trace == "" {
			v.forget(s)
			return
		}
	}
	v.streams[s.id] = s
}

// forget drops a stream that may have waited.
func (v *VM) forget(s *stream) {
	if len(v.streams) > 0 {
		delete(v.streams, s.id)
	}
	v.drop(s)
}

// ResponseHeaders is proxy_on_response_headers.
func (v *VM) ResponseHeaders(id uint32) abi.Action {
	if len(v.streams) == 0 {
		return abi.Continue
	}
	s := v.streams[id]
	if s == nil || s.waits {
		return abi.Continue
	}
	for i := 0; i < len(s.fields); i += 2 {
		if s.fields[i] == legacyLimit {
			if _, other := abi.Header(abi.ResponseHeaders, legacyLimit); other {
				break // another hop's
			}
		}
		abi.AddHeader(abi.ResponseHeaders, s.fields[i], s.fields[i+1])
	}
	if s.trace != "" {
		abi.AddHeader(abi.ResponseHeaders, traceHeader, s.trace)
	}
	if s.policy.votes && !s.voted {
		if o, known := s.outcome(); known {
			s.voted, s.vote = true, o
			after := s.retryAfter(o)
			s.policy.engine.vote(s, o, after)
			s.root.recorder.ended(s, o, after)
		} else {
			s.trailed = true
		}
	}
	return abi.Continue
}

// Log is proxy_on_log: the stream is over, however it ended.
func (v *VM) Log(id uint32) {
	if len(v.streams) == 0 {
		return
	}
	s := v.streams[id]
	if s == nil {
		return
	}
	if !s.policy.instant || s.waits {
		o := reducer.OK
		switch {
		case s.policy.votes && !s.voted:
			o = s.lastOutcome()
		case s.voted && s.policy.plan.Settles():
			o = s.vote
		}
		if s.waits {
			s.root.recorder.ended(s, reducer.Cancelled, 0)
		}
		s.root.recorder.ended(s, o, 0)
		s.policy.engine.end(s, o)
	}
	v.forget(s)
}

// Tick is proxy_on_tick.
func (v *VM) Tick(id uint32) {
	r := v.roots[id]
	if r == nil {
		return
	}
	period, waiting := time.Duration(idleTick)*time.Millisecond, 0
	for _, p := range r.policies {
		if p.engine != nil {
			p.engine.tick(v.resume)
			waiting += p.engine.waiting()
			period = min(period, p.engine.every())
		}
	}
	if r.since += r.ticks; r.since >= idleTick {
		r.since = 0
		r.metrics.flush(r.policies)
		r.recorder.flush()
	}
	if waiting > 0 {
		period = 0
	}
	r.tick(uint32(max(period/time.Millisecond, waitTick)))
}

// resume continues a stream that waited.
func (v *VM) resume(id uint32, verdict verdict) {
	s := v.streams[id]
	abi.SetContext(id)
	s.waits = false
	s.root.recorder.decided(s, &verdict, true)
	if s.trace != "" {
		s.trace = s.tell(&verdict)
	}
	if verdict.what == refused {
		s.root.refuse(s, verdict)
		s.policy.engine.end(s, reducer.Cancelled)
		v.forget(s)
		return
	}
	v.admitted(s)
	abi.Resume(abi.Request)
}

// outcome returns the outcome of the answer of the stream, which is the effective one, by
// its header fields, and false where they do not say it: for gRPC, whose status is in the
// trailers.
func (s *stream) outcome() (reducer.Outcome, bool) {
	p := s.policy
	text, _ := abi.Header(abi.ResponseHeaders, ":status")
	number, _ := keyed.Number(string(text))
	status := int(number)
	if status == 200 && s.grpc && isGRPC(abi.ResponseHeaders) {
		code, ok := abi.Header(abi.ResponseHeaders, "grpc-status")
		if !ok {
			return 0, false
		}
		_, status = refusals.HTTPOfGRPC(string(code))
	}
	if status >= 500 {
		if f, ok := failure(); ok {
			return p.Outcomes.OfFailure(f), true
		}
	}
	return p.Outcomes.OfStatus(status), true
}

// retryAfter returns the retry-after of the answer in seconds, where a step takes it; 0 for
// none and for a date.
func (s *stream) retryAfter(o reducer.Outcome) time.Duration {
	if o != reducer.Fail && o != reducer.Throttle || !s.policy.plan.Obeys() {
		return 0
	}
	text, _ := abi.Header(abi.ResponseHeaders, "retry-after")
	seconds, _ := keyed.Number(string(text))
	return time.Duration(min(seconds, math.MaxInt32)) * time.Second
}

// The flags of an answer that the proxy made because of the upstream (Envoy,
// StreamInfo::CoreResponseFlag).
const (
	flagRequestTimeout    = 1 << 2
	flagRemoteReset       = 1 << 4
	flagConnectionFailure = 1 << 5
	flagTermination       = 1 << 6
	flagNoHealthy         = 1 << 1
)

// failure returns why the upstream has not answered the effective stream, and false where
// it has.
func failure() (document.Failure, bool) {
	text, ok := abi.Property("response\x00flags")
	flags := word(text)
	switch {
	case !ok || flags == 0:
		return "", false
	case flags&(flagConnectionFailure|flagNoHealthy) != 0:
		return document.Connect, true
	case flags&flagRequestTimeout != 0:
		return document.NoAnswer, true
	case flags&(flagRemoteReset|flagTermination) != 0:
		return document.Reset, true
	}
	return "", false
}

// word reads a number of the proxy, 0 for another value.
func word(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// lastOutcome returns the outcome of a stream that is over and is the effective one, and
// whose headers did not say it.
func (s *stream) lastOutcome() reducer.Outcome {
	if f, ok := failure(); ok {
		return s.policy.Outcomes.OfFailure(f)
	}
	if text, ok := abi.Property("response\x00grpc_status"); ok && s.trailed {
		_, status := refusals.HTTPOfGRPC(strconv.FormatUint(word(text), 10))
		return s.policy.Outcomes.OfStatus(status)
	}
	// The client left before the answer.
	return reducer.Cancelled
}
