package filtertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/proxywasm/config"
	"github.com/sluice-go/sluice/proxywasm/host"
	"github.com/sluice-go/sluice/reducer"
)

// performed are the mechanisms of the filter.
var performed = []pipeline.Kind{mechanism.Limit, mechanism.Breaker, mechanism.Bulkhead}

// TestWorkerAsEval and TestProcessAsEval send the requests of random logs through random
// policies, and several that share mechanisms, in each state: each request is decided as by sluice eval
// at the same mark, and so is what steps in shadow count.
func TestWorkerAsEval(t *testing.T)  { asEval(t, document.WorkerState) }
func TestProcessAsEval(t *testing.T) { asEval(t, document.ProcessState) }

func asEval(t *testing.T, state document.ProxyState) {
	t.Parallel()
	decided := map[string]int{}
	refused, compared := 0, 0
	for d := range testenv.Draws(t, 80) {
		c := drawCase(rand.New(rand.NewPCG(d.Seed, uint64(d.Case))), state)
		if c.performable(t) {
			refused++
		}
		want, ok := c.want(t)
		if !ok {
			continue // two calls of one policy have one id
		}
		compared++
		for _, w := range want.requests {
			decided[w.kind+" "+w.reason]++
		}
		if diff := c.differs(t, want); diff != "" {
			events := c.shrink(t)
			c.events = events
			want, _ = c.want(t)
			t.Fatalf("SLUICE_SEED=%d, case %d, state %s:\n%s\n%s\n%s", d.Seed, d.Case, c.stateName(), c.document(), generate.EventsJSON(events), c.differs(t, want))
		}
	}
	t.Logf("%d compared, %d refused; %v", compared, refused, decided)
	if testenv.Seed() != 1 {
		return // few cases of another seed may lack one
	}
	require.Equal(t, state == document.ProcessState, refused > 0)
	for _, kind := range []string{"admit ", "reject rate", "reject open", "reject probes", "reject full", "reject capacity", "reject denied", "reject missing"} {
		require.Positive(t, decided[kind], kind)
	}
}

// filterCase is a random set of policies with a log.
type filterCase struct {
	state    document.ProxyState
	records  bool
	policies []pipeline.Policy
	events   []oracle.Event
}

// drawCase draws one of what requests can say: the filter has no log of changes, and a
// client cannot say how many attempts it makes.
func drawCase(r *rand.Rand, state document.ProxyState) *filterCase {
	p, events := generate.GenerateOf(r, 1, performed...)
	events = slices.DeleteFunc(events, func(e oracle.Event) bool { return e.Op == "configure" || e.Op == "renew" })
	c := &filterCase{state: state, policies: []pipeline.Policy{p}}
	if r.IntN(3) == 0 {
		c.policies, events = generate.Spread(r, p, events)
	} else {
		for i := range events {
			if events[i].ID != "" {
				events[i].ID = strconv.Quote("p/" + strings.Trim(events[i].ID, `"`))
			}
		}
	}
	last := int64(0)
	for _, e := range events {
		last = max(last, e.At)
		e.At, e.Deadline, e.Attempt, e.Used = last, nil, 0, nil
		switch e.Op {
		case "call":
			e.Cost = max(e.Cost, 1)
			attributes := maps.Clone(e.Attributes)
			if attributes == nil {
				attributes = map[string]string{}
			}
			attributes["ip"] = addressOf(attributes["ip"])
			e.Attributes = attributes
		case "done":
			if e.RetryAfter != nil {
				whole := max(1, (*e.RetryAfter+int64(time.Second)-1)/int64(time.Second)) * int64(time.Second)
				if e.RetryAfter = &whole; whole == int64(time.Second) && r.IntN(2) == 0 {
					e.RetryAfter = nil
				}
			}
		}
		c.events = append(c.events, e)
	}
	return c
}

// addressOf returns the address of a client as the filter has it.
func addressOf(text string) string {
	text, _, _ = strings.Cut(text, "/")
	if ip, ok := keyed.ParseHop(text); ok {
		return ip.Text(32, 64)
	}
	return "127.0.0.1"
}

func (c *filterCase) stateName() string {
	if c.state == document.WorkerState {
		return "worker"
	}
	return "process"
}

// document is the configuration of the filter.
func (c *filterCase) document() string {
	var doc map[string]any
	if err := json.Unmarshal(generate.SetJSON(c.policies), &doc); err != nil {
		panic(err)
	}
	var routes []any
	for _, p := range c.policies {
		routes = append(routes, map[string]any{"path": "/" + p.Name, "policy": p.Name})
	}
	doc["routes"] = routes
	proxy := map[string]any{"state": c.stateName(), "key": "header:x-key", "cost": "header:x-cost"}
	if c.records {
		proxy["trace"] = "record"
	}
	doc["proxy"] = proxy
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// refused reports whether the filter refuses the document, as config.Check does: at its load,
// with the same words.
func (c *filterCase) refused(t *testing.T) bool {
	t.Helper()
	doc, err := policy.Parse("policy.json", []byte(c.document()))
	require.NoError(t, err, c.document())
	wrong := config.Check("policy", doc)
	p := host.NewProcess(host.Config{Workers: 1})
	defer p.Close()
	_, err = p.Load(plugin(c.document()))
	require.Equal(t, len(wrong) > 0, err != nil, "%v\n%v\n%s", wrong, p.Logs(), c.document())
	for i, one := range wrong {
		require.Contains(t, p.LogText("sluice"), one.Error(), "error %d", i)
	}
	return len(wrong) > 0
}

// performable takes out of the policies what the filter refuses, and what eval cannot tell. It
// returns whether the filter refused any.
func (c *filterCase) performable(t *testing.T) (refused bool) {
	t.Helper()
	if refused = c.refused(t); refused {
		c.accept()
		require.False(t, c.refused(t), c.document())
	}
	c.compare()
	return refused
}

// accept takes out of the policies what the filter refuses in state process.
func (c *filterCase) accept() {
	c.change(func(s *pipeline.Step) {
		pipeline.Edit(s, func(c *limiter.Config) { c.Order = limiter.Oldest })
		pipeline.Edit(s, func(c *bulkhead.Config) {
			c.Order = limiter.Oldest
			if c.Lease < time.Second {
				c.Lease = 0
			}
		})
	})
}

// compare takes out what state process performs in another way, as docs/runtimes.md says:
// waits are reservations, keys share groups of cells, and leases belong to workers.
func (c *filterCase) compare() {
	if c.state != document.ProcessState {
		return
	}
	c.change(func(s *pipeline.Step) {
		s.Keys = 0
		pipeline.Edit(s, func(c *limiter.Config) { c.Wait, c.Queue = 0, 0 })
		pipeline.Edit(s, func(c *bulkhead.Config) { c.Wait, c.Queue, c.Lease = 0, 0, 0 })
	})
}

// change changes all steps of the policies, of which those that share a mechanism are alike.
func (c *filterCase) change(of func(*pipeline.Step)) {
	for i := range c.policies {
		p := &c.policies[i]
		p.Steps = slices.Clone(p.Steps)
		for j := range p.Steps {
			of(&p.Steps[j])
		}
	}
}

// told is what a request was told.
type told struct {
	kind, reason string
	at           time.Duration
	after        string
}

func (d told) String() string {
	if d.kind == "admit" {
		return fmt.Sprintf("admit %s at %v", d.reason, d.at)
	}
	return fmt.Sprintf("%s at %v, retry after %q", d.reason, d.at, d.after)
}

// results are the decisions of a log.
type results struct {
	requests map[int]told // by the event of the call
	counts   map[string]int
	marks    []time.Duration
}

// want returns what eval decides.
func (c *filterCase) want(t *testing.T) (r results, ok bool) {
	t.Helper()
	doc, err := policy.Parse("policy.json", []byte(c.document()))
	require.NoError(t, err)
	policies := make([]pipeline.Policy, len(doc.Policies))
	for i := range doc.Policies {
		policies[i] = doc.Policies[i].Policy
	}
	var out bytes.Buffer
	if err := eval.RunAll(policies, eval.Options{Seed: 1}, bytes.NewReader(generate.EventsJSON(c.events)), &out); err != nil {
		return r, false
	}
	r = results{requests: map[int]told{}, counts: map[string]int{}}
	last, next := map[string]int{}, 0
	for line := range bytes.Lines(out.Bytes()) {
		var l struct {
			At, ID, Decision, Step, Reason string
			RetryAfter                     string `json:"retry_after"`
			Shadow                         bool
		}
		require.NoError(t, json.Unmarshal(line, &l), "%s", line)
		at, err := time.ParseDuration(l.At)
		require.NoError(t, err)
		r.marks = append(r.marks, at)
		// An id may be used again: which call a line belongs to follows from its mark.
		for ; next < len(c.events) && time.Duration(c.events[next].At) <= at; next++ {
			if e := &c.events[next]; e.Op == "call" {
				id := strings.Trim(e.ID, `"`)
				if _, again := last[id]; again && time.Duration(e.At) == at {
					return r, false // within one mark it does not
				}
				last[id] = next
			}
		}
		name, _, _ := strings.Cut(l.ID, "/")
		switch l.Decision {
		case "wait", "reject", "expire":
			word := l.Decision
			if l.Shadow {
				word = "shadow_" + word
			}
			if l.Reason != "" {
				word += "." + l.Reason
			}
			r.counts[name+"."+l.Step+"."+word]++
		case "admit":
			r.counts[name+".admit"]++
		}
		if l.Shadow || l.Decision != "admit" && l.Decision != "reject" && l.Decision != "expire" {
			continue
		}
		d := told{kind: "reject", reason: l.Reason, at: at}
		if l.Decision == "admit" {
			d = told{kind: "admit", at: at}
		} else {
			after := time.Duration(-1)
			if l.RetryAfter != "" {
				after, err = time.ParseDuration(l.RetryAfter)
				require.NoError(t, err)
			}
			if seconds, comes := refusals.ComeBack(reasonNamed(l.Reason), after); comes {
				d.after = strconv.FormatInt(seconds, 10)
			}
		}
		r.requests[last[l.ID]] = d
	}
	return r, true
}

// reasonNamed returns the reason of a name.
func reasonNamed(name string) reducer.Reason {
	for r := reducer.NoReason; ; r++ {
		if r.String() == name {
			return r
		}
	}
}

// sentRequest is a request of a log.
type sentRequest struct {
	stream *host.Stream
	told   *told
	left   bool
}

// run is a log on its way through the filter.
type run struct {
	*envoy
	script *filterCase
	sent   map[int]*sentRequest
	live   map[string]*sentRequest
}

// differs returns how the filter differs from eval, empty for nowhere.
func (c *filterCase) differs(t *testing.T, want results) string {
	t.Helper()
	require.NoError(t, errFilter)
	p := host.NewProcess(host.Config{Workers: 1, Wall: time.Unix(0, 0)})
	defer p.Close()
	x := c.start(t, p)
	x.perform(want)
	if err := x.filter.Worker(0).Failed(); err != nil {
		return err.Error()
	}
	for i := range c.events {
		if c.events[i].Op != "call" {
			continue
		}
		w, known := want.requests[i]
		s := x.sent[i]
		switch {
		case s.told == nil && !known, s.told != nil && known && *s.told == w:
		case s.told == nil:
			return fmt.Sprintf("event %d: eval: %v; the filter: nothing", i, w)
		case !known:
			return fmt.Sprintf("event %d: eval: nothing; the filter: %v", i, *s.told)
		default:
			return fmt.Sprintf("event %d: eval: %v; the filter: %v", i, w, *s.told)
		}
	}
	return x.miscounts(want)
}

// start loads the filter in a process whose marks begin at 0.
func (c *filterCase) start(t *testing.T, p *host.Process) *run {
	t.Helper()
	p.SetMonotonic(0)
	x := &run{envoy: &envoy{Process: p}, script: c, sent: map[int]*sentRequest{}, live: map[string]*sentRequest{}}
	x.push(t, c.document())
	return x
}

// perform is the whole log, with a tick at each mark at which eval decides something.
func (x *run) perform(want results) {
	marks := want.marks
	for i := range x.script.events {
		e := &x.script.events[i]
		at := time.Duration(e.At)
		for ; len(marks) > 0 && marks[0] < at; marks = marks[1:] {
			x.until(marks[0])
		}
		x.until(at)
		x.event(i, e)
		x.tick()
	}
}

// until lets time pass.
func (x *run) until(at time.Duration) {
	// The worker holds places while it renews them.
	for x.script.state == document.ProcessState && x.holds() && at-x.Monotonic() > renews {
		x.Advance(renews)
		x.tick()
	}
	if by := at - x.Monotonic(); by > 0 {
		x.Advance(by)
	}
	x.tick()
}

// renews is how often a worker renews the places of a bulkhead without a lease.
const renews = 10 * time.Second

// holds reports whether a request is under way.
func (x *run) holds() bool {
	for _, s := range x.live {
		if !s.stream.Ended() {
			return true
		}
	}
	return false
}

func (x *run) tick() {
	x.filter.Worker(0).Tick()
	x.look()
}

// look notes what requests have been told.
func (x *run) look() {
	for _, s := range x.sent {
		if s.told != nil || s.left {
			continue
		}
		switch {
		case s.stream.Upstream() != nil:
			s.told = &told{kind: "admit", at: x.Monotonic()}
		case s.stream.Response() != nil:
			d := told{kind: "reject", at: x.Monotonic(), reason: reasonOf(s.stream), after: s.stream.Response().Headers.Value("retry-after")}
			s.told = &d
		}
	}
}

// event is an event of the log.
func (x *run) event(i int, e *oracle.Event) {
	s := x.live[e.ID]
	switch e.Op {
	case "call":
		name, _, _ := strings.Cut(strings.Trim(e.ID, `"`), "/")
		fields := []string{"x-cost", strconv.Itoa(int(e.Cost))}
		if e.Key != "" {
			fields = append(fields, "x-key", e.Key)
		}
		for attribute, value := range e.Attributes {
			if header, ok := strings.CutPrefix(attribute, "header:"); ok && value != "" {
				fields = append(fields, header, value)
			}
		}
		address, _, _ := strings.Cut(e.Attributes["ip"], "/")
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		s = &sentRequest{stream: x.filter.Worker(0).Stream(host.StreamOptions{Source: address + ":4711"})}
		x.sent[i], x.live[e.ID] = s, s
		s.stream.RequestHeaders(host.Get("/"+name, fields...), host.End)
	case "done":
		if s == nil || s.stream.Upstream() == nil || s.stream.Ended() {
			return
		}
		fields := host.Answer(map[string]int{"ok": 200, "fail": 500, "throttle": 429, "ignore": 404}[e.Outcome])
		if e.RetryAfter != nil {
			fields = append(fields, [2]string{"retry-after", strconv.FormatInt(*e.RetryAfter/int64(time.Second), 10)})
		}
		s.stream.ResponseHeaders(fields, host.End)
	case "cancel":
		if s != nil && !s.stream.Ended() {
			s.left = s.told == nil
			s.stream.Reset()
		}
	}
	x.look()
}

// miscounts returns how the counters of the filter differ.
func (x *run) miscounts(want results) string {
	for range 2 * int(time.Second/waitTick) {
		x.filter.Worker(0).Tick()
	}
	got := map[string]int{}
	for _, m := range x.Metrics() {
		name := strings.TrimPrefix(strings.TrimPrefix(m.Name, "wasmcustom."), "sluice.")
		if strings.HasSuffix(name, ".admit") || strings.Contains(name, "wait") || strings.Contains(name, "reject.") || strings.Contains(name, "expire.") {
			got[name] = int(m.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.counts)) {
		if got[name] != want.counts[name] {
			return fmt.Sprintf("%s: eval counts %d, the filter %d", name, want.counts[name], got[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want.counts[name] == 0 {
			return fmt.Sprintf("%s: eval counts none, the filter %d", name, got[name])
		}
	}
	return ""
}

// shrink returns the fewest events that differ.
func (c *filterCase) shrink(t *testing.T) []oracle.Event {
	t.Helper()
	events := c.events
	for n := len(events) / 2; n > 0; n /= 2 {
		for at := 0; at < len(events); {
			rest := slices.Delete(slices.Clone(events), at, min(at+n, len(events)))
			c.events = rest
			if want, ok := c.want(t); ok && c.differs(t, want) != "" {
				events = rest
			} else {
				at += n
			}
		}
	}
	return events
}
