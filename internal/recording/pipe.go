package recording

import (
	"hash/fnv"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/trace"
)

// Pipe records the calls of one policy.
type Pipe struct {
	recorder *Recorder
	name     string
	prefix   []byte // of ids: `"vendor/`, empty for numbers
	seed     uint64
	shape    atomic.Pointer[shape]
	unkeyed  atomic.Uint64 // calls without a key that Sample was asked for

	// Guarded by the lock of the recorder. The states are the state before the first line of
	// the older buffer, the state before the first line of the current one, and the present
	// one.
	older, current, latest state
	last                   clock.Mark // of the last event
}

// state is what the header of a policy depends on. The zero value is the state of a policy
// which has its header among the lines.
type state struct {
	body  []byte
	calls uint64 // whose event call was recorded
	drawn uint64 // of them, those that began under a plan that draws
}

// shape is what a plan says about recording.
type shape struct {
	attributes []attribute
	by         []string // the attributes whose values Sample is asked for
}

// attribute is recorded of each call.
type attribute struct {
	name   string
	hashed bool
	cost   bool // its value is the cost of a step
}

// Add adds a policy at a mark. The first policies are added before Begin.
func (r *Recorder) Add(plan *pipeline.Plan, seed uint64, began bool) *Pipe {
	p := &Pipe{recorder: r, name: plan.Name(), seed: seed}
	if r.options.Prefixed {
		p.prefix = append(strconv.AppendQuote(nil, p.name)[:len(p.name)+1], '/')
	}
	p.shape.Store(r.shapeOf(plan))
	r.mu.Lock()
	defer r.mu.Unlock()
	p.latest.body = bodyOf(plan)
	if !began {
		p.current = p.latest
	} else if line := p.header(p.latest).Append(nil); r.roomFor(len(line), false) {
		before := len(r.current)
		r.current = append(r.current, line...)
		r.added(0, before)
	}
	r.pipes = append(r.pipes, p)
	return p
}

// Of reports whether the pipe belongs to a recorder. A nil one belongs to none.
func (p *Pipe) Of(r *Recorder) bool { return p != nil && p.recorder == r }

// bodyOf returns the body of a plan's policy.
func bodyOf(plan *pipeline.Plan) []byte {
	return policy.BodyJSON(plan.Policy())
}

// header returns the header of a state.
func (p *Pipe) header(s state) *trace.Header {
	o := &p.recorder.options
	return &trace.Header{
		Version: trace.Version, Policy: p.name, Prefixed: o.Prefixed, Began: o.Began.UTC(),
		// A replay numbers the calls that draw from 1, so the calls that follow have the seed
		// of a later call.
		Seed:   pipeline.Seed(p.seed, s.drawn),
		Digest: trace.Digest(s.body), Sample: o.Sample, Redact: o.Redact.String(), Body: s.body,
	}
}

// shapeOf returns what is recorded of the calls of a plan.
func (r *Recorder) shapeOf(plan *pipeline.Plan) *shape {
	s := &shape{by: r.options.By}
	names := append(slices.Clone(r.options.Attributes), plan.Attributes()...)
	var costs []string
	for i := range plan.Len() {
		if len(s.by) == 0 {
			s.by = plan.Per(i)
		}
		if cost := plan.CostAttribute(i); cost != "" {
			costs = append(costs, cost)
		}
	}
	if len(s.by) == 0 {
		s.by = []string{"key"}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "key" {
			s.attributes = append(s.attributes, attribute{name, r.options.Redact.hashes(name), slices.Contains(costs, name)})
		}
	}
	return s
}

// Configure records that another plan is active from a mark on.
func (p *Pipe) Configure(at clock.Mark, plan *pipeline.Plan) {
	r := p.recorder
	p.shape.Store(r.shapeOf(plan))
	body := bodyOf(plan)
	r.mu.Lock()
	defer r.mu.Unlock()
	at = r.mark(at)
	line := append(appendHead(nil, at, "configure"), p.ofPolicy()...)
	line = append(append(append(line, `,"policy":`...), body...), "}\n"...)
	id := ""
	if p.prefix != nil {
		id = strconv.Quote(p.name)
	}
	line = decision.AppendLine(line, id, &decision.Decision{At: at, Kind: decision.Configured})
	if p.put(line, 2, false) {
		p.last = max(p.last, at)
	}
	p.latest.body = body
}

// ofPolicy returns the field id of an event that belongs to the policy.
func (p *Pipe) ofPolicy() string {
	if p.prefix == nil {
		return ""
	}
	return `,"id":` + strconv.Quote(p.name)
}

// put appends lines, or counts them as lost. The caller holds the lock.
func (p *Pipe) put(lines []byte, count uint64, isCall bool) bool {
	r := p.recorder
	if r.closed {
		return false // after the end, which is no loss
	}
	if !r.roomFor(len(lines), isCall) {
		if isCall {
			r.stats.LostCalls++
		} else {
			r.stats.LostLines += count
		}
		return false
	}
	before := len(r.current)
	r.current = append(r.current, lines...)
	r.added(count, before)
	return true
}

// Call records one call. A nil one records nothing.
type Call struct {
	pipe *Pipe
	id   uint64
	used uint64 // what the attempt that ends next has used, and 1; 0 for nothing
}

// Use notes what the attempt has used that the next Done ends.
func (c *Call) Use(used uint32) {
	if c != nil {
		c.used = uint64(used) + 1
	}
}

// Begin records the beginning of a call. It returns nil for a call that is not recorded.
// The caller has the deadline, clock.Never for none; draws says that the plan of the call draws
// numbers. Begin calls code of the user, so its caller holds no lock. The parameters are not
// fields of one struct, because it would escape.
func (p *Pipe) Begin(at, deadline clock.Mark, draws bool, key string, cost uint32, lookup func(attribute string) string) *Call {
	r, s := p.recorder, p.shape.Load()
	if r.options.Sample < 1 && !p.sampled(s, lookup) {
		return nil
	}
	var room [512]byte
	rest := room[:0]
	if key != "" {
		rest = append(rest, `,"key":`...)
		rest = r.appendValue(rest, key, r.options.Redact == RedactAll)
	}
	if cost != 1 {
		rest = strconv.AppendUint(append(rest, `,"cost":`...), uint64(cost), 10)
	}
	first := true
	for i := range s.attributes {
		a := &s.attributes[i]
		value := lookup(a.name)
		if value == "" {
			continue
		}
		if first {
			rest = append(rest, `,"attributes":{`...)
		} else {
			rest = append(rest, ',')
		}
		first = false
		rest = append(appendText(rest, a.name), ':')
		hashed := a.hashed
		if _, number := keyed.Number(value); number && a.cost {
			hashed = false // a replay needs the cost
		}
		rest = r.appendValue(rest, value, hashed)
	}
	if !first {
		rest = append(rest, '}')
	}
	if deadline != clock.Never {
		rest = append(rest, `,"deadline":"`...)
		rest = append(append(rest, max(0, deadline.Sub(at)).String()...), '"')
	}
	rest = append(rest, "}\n"...)

	c := &Call{pipe: p}
	var line [640]byte
	r.mu.Lock()
	defer r.mu.Unlock()
	c.id = p.latest.calls + 1
	mark := r.mark(at)
	text := append(c.appendID(appendHead(line[:0], mark, "call")), rest...)
	if !p.put(text, 1, true) {
		return nil
	}
	r.stats.Calls++
	if p.latest.calls = c.id; draws {
		p.latest.drawn++
	}
	p.last = max(p.last, mark)
	r.end = max(r.end, mark)
	return c
}

// sampled reports whether the calls of a key are recorded. It is the same in every
// process. Calls without a key are sampled one by one.
func (p *Pipe) sampled(s *shape, lookup func(string) string) bool {
	key, _ := keyed.Join(s.by, lookup)
	if key == "" {
		key = strconv.FormatUint(p.unkeyed.Add(1), 10)
	}
	h := fnv.New64a()
	// A hash accepts all bytes.
	_, _ = h.Write([]byte(key))
	return float64(mix(h.Sum64()))/(1<<64) < p.recorder.options.Sample
}

// mix is the output function of SplitMix64. The high bits of FNV-1a depend little on the
// last bytes.
func mix(v uint64) uint64 {
	v ^= v >> 30
	v *= 0xbf58476d1ce4e5b9
	v ^= v >> 27
	v *= 0x94d049bb133111eb
	return v ^ v>>31
}

// appendHead appends the beginning of the line of an event.
func appendHead(dst []byte, at clock.Mark, op string) []byte {
	dst = append(append(dst, `{"at":"`...), time.Duration(at).String()...)
	return append(append(append(dst, `","op":"`...), op...), '"')
}

// appendID appends the field id.
func (c *Call) appendID(dst []byte) []byte {
	return c.appendName(append(dst, `,"id":`...))
}

func (c *Call) appendName(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, c.pipe.prefix...), c.id, 10)
	if c.pipe.prefix != nil {
		dst = append(dst, '"')
	}
	return dst
}

// Decide records a decision about the call.
func (c *Call) Decide(d *decision.Decision) {
	if c == nil {
		return
	}
	p := c.pipe
	r := p.recorder
	x := *d
	x.At = r.mark(d.At)
	if x.Until != clock.Never {
		x.Until = r.mark(d.Until)
	}
	var name [96]byte
	var room [512]byte
	line := decision.AppendLine(room[:0], string(c.appendName(name[:0])), &x)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = max(r.end, x.At)
	if x.At <= p.last {
		p.put(line, 1, false)
		return
	}
	// Time brought the decision: the reader of the events gets to know that it passed.
	var tick [128]byte
	lines := append(appendHead(tick[:0], x.At, "tick"), p.ofPolicy()...)
	lines = append(append(lines, "}\n"...), line...)
	if p.put(lines, 2, false) {
		p.last = x.At
	}
}

// Done records that an attempt ended. attempt is 0 for the only one that runs.
func (c *Call) Done(at clock.Mark, attempt uint32, o reducer.Outcome, told bool, retryAfter time.Duration) {
	if c == nil {
		return
	}
	if o == reducer.Cancelled {
		c.Cancel(at)
		return
	}
	used := c.used
	c.used = 0
	var room [256]byte
	at = c.pipe.recorder.mark(at)
	line := c.appendID(appendHead(room[:0], at, "done"))
	line = append(append(append(line, `,"outcome":"`...), o.String()...), '"')
	if attempt != 0 {
		line = strconv.AppendUint(append(line, `,"attempt":`...), uint64(attempt), 10)
	}
	if told {
		line = append(append(append(line, `,"retry_after":"`...), retryAfter.String()...), '"')
	}
	if used != 0 {
		line = strconv.AppendUint(append(line, `,"used":`...), used-1, 10)
	}
	c.event(at, line)
}

// Cancel records that the caller gave up.
func (c *Call) Cancel(at clock.Mark) {
	if c == nil {
		return
	}
	var room [256]byte
	at = c.pipe.recorder.mark(at)
	c.event(at, c.appendID(appendHead(room[:0], at, "cancel")))
}

// Renew records that an attempt extended its leases.
func (c *Call) Renew(at clock.Mark, attempt uint32) {
	if c == nil {
		return
	}
	var room [256]byte
	at = c.pipe.recorder.mark(at)
	line := c.appendID(appendHead(room[:0], at, "renew"))
	if attempt != 0 {
		line = strconv.AppendUint(append(line, `,"attempt":`...), uint64(attempt), 10)
	}
	c.event(at, line)
}

// event appends the line of an event, whose end is missing.
func (c *Call) event(at clock.Mark, line []byte) {
	line = append(line, "}\n"...)
	p := c.pipe
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.recorder.end = max(p.recorder.end, at)
	if p.put(line, 1, false) {
		p.last = max(p.last, at)
	}
}
