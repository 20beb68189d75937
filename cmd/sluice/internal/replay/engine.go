package replay

import (
	"container/heap"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/routes"
	"github.com/sluice-go/sluice/reducer"
)

// item is something that happens at a mark: a recorded event, or the end of an attempt.
type item struct {
	at     clock.Mark
	seq    int
	event  *eval.Event // nil for the end of an attempt
	call   int         // -1 for none
	policy string
	number uint32 // of the attempt that ends
}

// items is a heap in the order of marks, then of the recording.
type items []item

func (h items) Len() int { return len(h) }
func (h items) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h items) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *items) Push(x any) { *h = append(*h, x.(item)) }

// Pop implements heap.Interface.
func (h *items) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// Assumed is how an attempt ends of whose call the recording has no attempt.
type Assumed struct {
	Took    time.Duration // negative for the median of the recording
	Outcome reducer.Outcome
}

// Deciders says under which policies calls are decided.
type Deciders struct {
	document *policy.Document // nil for the policies of the recording itself
	only     *policy.Policy   // for all calls; nil for several
	table    *routes.Table    // nil without routes
}

// Own decides each call under the policy of its recording, configure events included.
func Own() *Deciders { return &Deciders{} }

// Under decides under a document: all calls under the policy of a name, or, without a
// name, each under the policy of its own name, or of the route that it matches, or under
// the only one.
func Under(document *policy.Document, name string) *Deciders {
	d := &Deciders{document: document}
	switch {
	case name != "":
		d.only = document.Lookup(name)
	case len(document.Policies) == 1 && len(document.Routes) == 0:
		d.only = &document.Policies[0]
	}
	if len(document.Routes) > 0 {
		d.table = routes.New(document)
	}
	return d
}

// of returns the policy of a call and its route; ok is false for a call that no policy
// decides.
func (d *Deciders) of(c *Call) (p *policy.Policy, route string, ok bool) {
	if d.only != nil {
		return d.only, "", true
	}
	if c.Policy != "" {
		if p := d.document.Lookup(c.Policy); p != nil {
			return p, "", true
		}
	}
	if d.table == nil {
		if len(d.document.Policies) == 1 {
			return &d.document.Policies[0], "", true
		}
		return nil, "", false
	}
	method, path := c.Event.Lookup("method"), c.Event.Lookup("path")
	m, err := d.table.Match(c.Event.Lookup("host"), method, path)
	if err != nil || m.Route == nil {
		return nil, "", false
	}
	return d.document.Lookup(m.Route.Policy), m.Route.Path, true
}

// Run decides a recording.
type Run struct {
	Recording *Recording
	Deciders  *Deciders
	Seed      uint64
	// Verbatim keeps the recorded ends of attempts at their marks, whatever is decided.
	Verbatim bool
	Assumed  Assumed
	// Log receives the decisions, as `sluice eval` prints them; nil for nowhere.
	Log io.Writer
	// Events receives the events that the calls and their attempts are, for `sluice eval`,
	// which decides the same of them. Where several policies decide, Do is an error. nil
	// for nowhere.
	Events io.Writer
	// Configured keeps the recorded events configure of a policy that decides all calls.
	Configured bool
	// watch is called before and after everything that happens in a policy: before it with
	// the call that it concerns, -1 for what is due, and after it with what was decided,
	// changes of breakers included. nil for nothing.
	watch func(m *Machine, before bool, call int, decided []decision.Decision)
}

// Machine is one policy of a run.
type Machine struct {
	Name   string
	Driver *drive.Driver

	run      *Run
	keys     drive.Keys
	outcomes *policy.Outcomes
	pending  items
	slots    []int // the index of the call, by slot
	handles  map[int]decision.Handle
	ids      map[string]struct{} // the written ids of the calls that are not over
	written  map[int]string      // the written ids, by call
	result   *Result
	text     []byte
}

// newMachine makes the machine of a policy.
func (r *Run) newMachine(name string, p *policy.Policy, seed uint64, result *Result) (*Machine, error) {
	plan, err := pipeline.Compile(p.Policy)
	if err != nil {
		return nil, err
	}
	m := &Machine{
		Name: name, Driver: drive.New(plan, seed), run: r, outcomes: &p.Outcomes, handles: map[int]decision.Handle{},
		ids: map[string]struct{}{}, written: map[int]string{}, result: result,
	}
	m.Driver.Changes = r.watch != nil
	return m, nil
}

// Do decides the recording.
func (r *Run) Do() (*Result, error) {
	rec := r.Recording
	result := newResult(rec)
	if r.Assumed.Took < 0 {
		r.Assumed.Took = rec.median()
	}
	if r.Assumed.Outcome == 0 {
		r.Assumed.Outcome = reducer.OK
	}
	machines := map[string]*Machine{}
	var order []*Machine
	owners := make([]*Machine, len(rec.Calls))
	scripts := map[*Machine][]item{}
	if r.Deciders.document == nil {
		for i := range rec.Headers {
			h := &rec.Headers[i]
			p, err := policy.ParseOne("body", h.Body)
			if err != nil {
				return nil, fmt.Errorf("the policy %q of the trace: %w", h.Policy, err)
			}
			m, err := r.newMachine(h.Policy, p, h.Seed, result)
			if err != nil {
				return nil, fmt.Errorf("the policy %q of the trace: %w", h.Policy, err)
			}
			machines[h.Policy] = m
			order = append(order, m)
		}
	}
	if p := r.Deciders.only; p != nil {
		m, err := r.newMachine(p.Policy.Name, p, r.Seed, result)
		if err != nil {
			return nil, err
		}
		machines[p.Policy.Name], order = m, append(order, m)
	}
	for _, it := range rec.script {
		var m *Machine
		switch {
		case r.Deciders.document == nil:
			m = machines[it.policy]
		case it.call < 0:
			if r.Deciders.only != nil {
				m = machines[r.Deciders.only.Policy.Name]
			}
		case it.event.Op == "call":
			c := &rec.Calls[it.call]
			p, route, ok := r.Deciders.of(c)
			if route != "" {
				result.routes[it.call] = route
			}
			if ok {
				name := p.Policy.Name
				if m = machines[name]; m == nil {
					var err error
					if m, err = r.newMachine(name, p, r.Seed, result); err != nil {
						return nil, err
					}
					machines[name] = m
					order = append(order, m)
				}
			}
		}
		if it.call >= 0 {
			if it.event.Op == "call" {
				owners[it.call] = m
			}
			m = owners[it.call]
		}
		switch {
		case m == nil && it.event.Op == "call":
			result.Unmatched++
		case m == nil || !r.keeps(it.event):
		default:
			scripts[m] = append(scripts[m], it)
		}
	}
	if r.Events != nil && len(order) > 1 {
		return nil, &SeveralError{Policies: names(order)}
	}
	if err := separate(order, scripts); err != nil {
		return nil, err
	}
	for _, m := range order {
		if err := m.play(scripts[m], rec.end); err != nil {
			return nil, err
		}
	}
	result.finish()
	return result, nil
}

// separate returns an error where several machines share a mechanism, which have to decide
// one after another.
func separate(machines []*Machine, scripts map[*Machine][]item) error {
	users := map[string]*Machine{}
	share := func(m *Machine, steps []pipeline.Step) error {
		for i := range steps {
			name := steps[i].Mechanism
			if row := mechanisms.Row(steps[i].Kind()); name == "" || row.Stateless != nil && row.Stateless(steps[i].Config) != "" {
				continue
			}
			if other := users[name]; other != nil && other != m {
				return &SharedError{Mechanism: name, Policies: []string{other.Name, m.Name}}
			}
			users[name] = m
		}
		return nil
	}
	for _, m := range machines {
		if err := share(m, m.Driver.Plan().Policy().Steps); err != nil {
			return err
		}
		for i := range scripts[m] {
			e := scripts[m][i].event
			if e.Op != "configure" {
				continue
			}
			// Where it cannot be read, the machine says so when it comes to it.
			if p, err := policy.ParseOne("body", e.Policy); err == nil {
				if err := share(m, p.Steps); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keeps reports whether a recorded event happens again as it was.
func (r *Run) keeps(e *eval.Event) bool {
	switch e.Op {
	case "done", "renew":
		return r.Verbatim
	case "configure":
		return r.Deciders.document == nil || r.Configured
	}
	return true
}

// play lets happen what a script and its calls bring, up to a mark.
func (m *Machine) play(script []item, end clock.Mark) error {
	// next returns where the next item is: the script or what is pending.
	next := func() (ofScript bool, at clock.Mark) {
		switch {
		case len(m.pending) == 0:
			return true, script[0].at
		case len(script) == 0 || !before(&script[0], &m.pending[0]):
			return false, m.pending[0].at
		}
		return true, script[0].at
	}
	for len(script) > 0 || len(m.pending) > 0 {
		_, at := next()
		if err := m.advance(at); err != nil {
			return err
		}
		// What was due at the mark may have begun attempts that end at the same mark.
		var it item
		if ofScript, _ := next(); ofScript {
			it, script = script[0], script[1:]
		} else {
			it = heap.Pop(&m.pending).(item)
		}
		if err := m.happen(&it); err != nil {
			return err
		}
	}
	if err := m.advance(max(end, m.Driver.Now())); err != nil {
		return err
	}
	// What came due after the last event comes due in sluice eval as well.
	return m.write(&eventLine{Op: "tick"})
}

func before(a, b *item) bool { return a.at < b.at || a.at == b.at && a.seq <= b.seq }

// advance lets time pass, mark by mark: at a mark what is due comes before the ends of
// attempts.
func (m *Machine) advance(to clock.Mark) error {
	for {
		due, ends := m.Driver.NextWake(), clock.Never
		if len(m.pending) > 0 {
			ends = m.pending[0].at
		}
		switch {
		case due <= to && due <= ends:
			m.watch(true, -1, nil)
			m.Driver.Advance(max(due, m.Driver.Now()))
			if err := m.decided(); err != nil {
				return err
			}
		case ends < to:
			next := heap.Pop(&m.pending).(item)
			m.Driver.Advance(next.at)
			if err := m.happen(&next); err != nil {
				return err
			}
		default:
			m.Driver.Advance(to)
			return nil
		}
	}
}

func (m *Machine) watch(isBefore bool, call int, list []decision.Decision) {
	if m.run.watch != nil {
		m.run.watch(m, isBefore, call, list)
	}
}

// happen does one thing at the present mark.
func (m *Machine) happen(it *item) error {
	m.watch(true, it.call, nil)
	d := m.Driver
	var c *Call
	if it.call >= 0 {
		c = &m.run.Recording.Calls[it.call]
	}
	h, live := m.handles[it.call]
	var line *eventLine
	switch {
	case it.event == nil:
		a := c.attemptOf(it.number, m)
		r := drive.Result{Attempt: it.number, Outcome: a.outcome, Told: a.told, RetryAfter: a.retryAfter, HasUsed: a.hasUsed, Used: a.used}
		if live && d.Done(h, r) {
			line = doneOf(m.written[it.call], &r)
		}
	case it.event.Op == "call":
		line = callOf(it.event, m.identify(it.call))
		m.begin(it)
	case !live:
	case it.event.Op == "cancel":
		if d.Cancel(h) {
			line = plainOf(it.event, m.written[it.call])
		}
	case it.event.Op == "renew":
		if d.Renew(h, it.event.Attempt) {
			line = plainOf(it.event, m.written[it.call])
		}
	case it.event.Op == "done":
		e := it.event
		r := drive.Result{Attempt: e.Attempt, Outcome: e.Outcome, Told: e.Told, RetryAfter: e.RetryAfter, HasUsed: e.HasUsed, Used: e.Used}
		if d.Done(h, r) {
			line = doneOf(m.written[it.call], &r)
		}
	}
	if it.call < 0 && it.event.Op == "configure" {
		p, err := policy.ParseOne("policy", it.event.Policy)
		if err != nil {
			return fmt.Errorf("a configure at %s: %w", time.Duration(it.at), err)
		}
		plan, err := pipeline.Compile(p.Policy)
		if err != nil {
			return fmt.Errorf("a configure at %s: %w", time.Duration(it.at), err)
		}
		d.Configure(plan)
		line = plainOf(it.event, "")
	}
	if err := m.write(line); err != nil {
		return err
	}
	return m.decided()
}

// begin begins a call.
func (m *Machine) begin(it *item) {
	d, e := m.Driver, it.event
	request := drive.Request{Cost: e.Cost, Deadline: e.Deadline}
	if d.Plan().Keyed() != 0 {
		request.Keys, request.Missing = m.keys.Of(d.Plan(), e.Lookup, d.Uses)
	}
	m.keys.Price(&request, d.Plan(), e.Lookup)
	slot := int(d.NextSlot())
	for slot >= len(m.slots) {
		m.slots = append(m.slots, 0)
	}
	m.slots[slot] = it.call
	h := d.Begin(&request)
	if d.Live(h) {
		m.handles[it.call] = h
	}
	m.result.began(it.call, m.Name, d.Plan())
}

// identify gives a call the id with which it is written: its own, or, while another call
// with this id is not over, one with a number behind. That other call may have ended earlier
// when it was recorded.
func (m *Machine) identify(call int) string {
	c := &m.run.Recording.Calls[call]
	id := c.ID
	for n := 2; ; n++ {
		if _, taken := m.ids[id]; !taken {
			m.ids[id], m.written[call] = struct{}{}, id
			return id
		}
		id = strconv.Quote(c.Name() + "#" + strconv.Itoa(n))
	}
}

// callOf returns the index of the call of a decision, -1 for one about no call.
func (m *Machine) callOf(d *decision.Decision) int {
	if d.Kind == decision.Configured || d.Kind == decision.Change || int(d.Call.Slot()) >= len(m.slots) {
		return -1
	}
	return m.slots[d.Call.Slot()]
}

// decided takes in what the driver has decided.
func (m *Machine) decided() error {
	list := m.Driver.Decisions
	m.watch(false, -1, list)
	for i := range list {
		x := &list[i]
		call := m.callOf(x)
		id := ""
		if call >= 0 {
			if id = m.written[call]; id == "" {
				id = m.run.Recording.Calls[call].ID // a place of a call that is over
			}
			m.result.decide(call, x)
			if starts := x.Kind == decision.Start || x.Kind == decision.Admit && !x.Held; starts && !m.run.Verbatim {
				m.schedule(call, x)
			}
			if x.Last {
				delete(m.handles, call)
				delete(m.ids, id)
				delete(m.written, call)
			}
		}
		if m.run.Log != nil && x.Kind != decision.Change {
			m.text = decision.AppendLine(m.text[:0], id, x)
			if _, err := m.run.Log.Write(m.text); err != nil {
				return err
			}
		}
	}
	clear(list)
	m.Driver.Decisions = list[:0]
	return nil
}

// schedule has an attempt that calls the dependency end.
func (m *Machine) schedule(call int, x *decision.Decision) {
	c := &m.run.Recording.Calls[call]
	a := c.attemptOf(x.Attempt, m)
	for _, n := range a.renewals {
		renew := &eval.Event{Op: "renew", ID: c.ID, Attempt: x.Attempt}
		heap.Push(&m.pending, item{at: x.At.Add(n.after), seq: max(n.seq, c.seq), event: renew, call: call})
	}
	if a.known {
		heap.Push(&m.pending, item{at: x.At.Add(a.took), seq: max(a.seq, c.seq), call: call, number: x.Attempt})
	}
}

// attemptOf returns how the attempt of a number ends. It is not known for one that ran
// when the recording ended, or when its caller gave up. One whose result was injected ends
// as is assumed of those that the recording does not have.
func (c *Call) attemptOf(number uint32, m *Machine) attempt {
	assumed := attempt{known: true, took: m.run.Assumed.Took, outcome: m.run.Assumed.Outcome}
	a := assumed
	switch n := int(number); {
	case n <= len(c.attempts):
		a = c.attempts[n-1]
	case len(c.attempts) > 0:
		a = c.attempts[len(c.attempts)-1]
	}
	if a.injected {
		a = assumed
	}
	if a.status != 0 {
		a.outcome = m.outcomes.OfStatus(a.status)
	}
	return a
}

// median returns the median of the durations of attempts.
func (r *Recording) median() time.Duration {
	var all []time.Duration
	for i := range r.Calls {
		for _, a := range r.Calls[i].attempts {
			if a.known {
				all = append(all, a.took)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// states returns the state of the cell of each step of a plan for a call, for people; empty
// for a step without state, and for one that the active policy does not have any more.
func (m *Machine) states(plan *pipeline.Plan, c *Call) []string {
	active := m.Driver.Plan()
	keys, _ := m.keys.Of(active, c.Event.Lookup, m.Driver.Uses)
	texts := make([]string, plan.Len())
	for i := range texts {
		j := plan.Match(i, active)
		if j < 0 {
			continue
		}
		if _, at := m.Driver.Ask(j, keys[j], reducer.Action{Kind: reducer.Peek, Cost: 1}); at != nil {
			texts[i] = cell.Text(at, m.Driver.Now())
		}
	}
	return texts
}
