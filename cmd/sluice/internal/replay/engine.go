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
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/trace"
)

// item is something that happens at a mark: a recorded event, or the end of an attempt.
type item struct {
	at     clock.Mark
	seq    int
	event  *trace.Event // nil for the end of an attempt
	call   int          // -1 for none
	policy string
	number uint32   // of the attempt that ends
	of     *Machine // where it happens
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
// name, each under the policy of its own name, which in a log of events is that with which its
// id begins, or of the route that it matches, or under the only one.
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
	for _, name := range []string{c.Policy, c.prefix} {
		if p := d.document.Lookup(name); name != "" && p != nil {
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
	// Configured keeps the recorded events configure under a document, too: of the policy that
	// they name, or that decides all calls.
	Configured bool
	// watch is called before and after everything that happens in a group: before it with
	// the call that it concerns, -1 for what is due, and after it with what was decided,
	// changes of breakers included. nil for nothing.
	watch func(g *group, before bool, call int, decided []decision.Decision)
}

// Machine is one policy of a run.
type Machine struct {
	Name   string
	Driver *drive.Driver
	*group

	plan     *pipeline.Plan // the first one
	seed     uint64
	outcomes *policy.Outcomes
}

// group is the policies that decide together, because they share mechanisms: one, or several
// with one time. Groups decide one after another.
type group struct {
	run     *Run
	result  *Result
	several bool       // the run has several policies
	members []*Machine // by the number of the driver
	owners  []*Machine // by call, nil for one that no policy decides
	loop    *drive.Loop
	script  []item
	keys    drive.Keys
	pending items
	slots   []int // the index of the call, by slot
	handles map[int]decision.Handle
	ids     map[string]struct{} // the written ids of the calls that are not over
	written map[int]string      // the written ids, by call
	text    []byte
}

// machines has the machines of a run, in the order in which they were made.
type machines struct {
	epoch  func() time.Duration // of the recording
	order  []*Machine
	byName map[string]*Machine
}

// of returns the machine of a policy, which may be a new one.
func (all *machines) of(name string, p *policy.Policy, seed uint64) (*Machine, error) {
	if m := all.byName[name]; m != nil {
		return m, nil
	}
	plan, err := pipeline.Compile(p.Policy.WithEpoch(all.epoch))
	if err != nil {
		return nil, err
	}
	m := &Machine{Name: name, plan: plan, seed: seed, outcomes: &p.Outcomes}
	all.order, all.byName[name] = append(all.order, m), m
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
	all := &machines{epoch: r.Recording.epoch, byName: map[string]*Machine{}}
	if err := r.first(all); err != nil {
		return nil, err
	}
	owners := make([]*Machine, len(rec.Calls))
	var script []item
	for _, it := range rec.script {
		begins := it.call >= 0 && it.event.Op == "call"
		if begins || it.call < 0 {
			m, err := r.machine(all, &it, result)
			if err != nil {
				return nil, err
			}
			it.of = m
		}
		if begins {
			owners[it.call] = it.of
		} else if it.call >= 0 {
			it.of = owners[it.call]
		}
		switch {
		case it.of == nil && begins:
			result.Unmatched++
		case it.of == nil || !r.keeps(it.event):
		default:
			script = append(script, it)
		}
	}
	if r.Events != nil && len(all.order) > 1 {
		return nil, &SeveralError{Policies: names(all.order)}
	}
	for _, g := range r.groups(all.order, script, owners, result) {
		if err := g.play(rec.end); err != nil {
			return nil, err
		}
	}
	result.finish()
	return result, nil
}

// first makes the machines that there are whatever the calls are.
func (r *Run) first(all *machines) error {
	if p := r.Deciders.only; p != nil {
		_, err := all.of(p.Policy.Name, p, r.Seed)
		return err
	}
	if r.Deciders.document != nil {
		return nil
	}
	for i := range r.Recording.Headers {
		h := &r.Recording.Headers[i]
		p, err := policy.ParseOne("body", h.Body)
		if err == nil {
			_, err = all.of(h.Policy, p, h.Seed)
		}
		if err != nil {
			return fmt.Errorf("the policy %q of the trace: %w", h.Policy, err)
		}
	}
	return nil
}

// machine returns the machine of a call that begins, or of an event without a call, nil for
// none.
func (r *Run) machine(all *machines, it *item, result *Result) (*Machine, error) {
	d := r.Deciders
	switch {
	case d.document == nil:
		return all.byName[it.policy], nil
	case it.call >= 0:
		p, route, ok := d.of(&r.Recording.Calls[it.call])
		if route != "" {
			result.routes[it.call] = route
		}
		if !ok {
			return nil, nil
		}
		return all.of(p.Policy.Name, p, r.Seed)
	case d.only != nil:
		return all.byName[d.only.Policy.Name], nil
	}
	if p := d.document.Lookup(nameOf(it.event.ID)); p != nil {
		return all.of(p.Policy.Name, p, r.Seed)
	}
	return nil, nil
}

// groups puts the machines that share a mechanism with a state into one group, and gives each
// group its part of the script.
func (r *Run) groups(order []*Machine, script []item, owners []*Machine, result *Result) (list []*group) {
	with := map[*Machine]*Machine{} // the first machine of the group, or one nearer to it
	head := func(m *Machine) *Machine {
		for with[m] != nil {
			m = with[m]
		}
		return m
	}
	users := map[string]*Machine{}
	share := func(m *Machine, steps []pipeline.Step) {
		for i := range steps {
			name := steps[i].Mechanism
			if row := mechanisms.Row(steps[i].Kind()); name == "" || row.Stateless != nil && row.Stateless(steps[i].Config) != "" {
				continue
			}
			if users[name] == nil {
				users[name] = m
			}
			a, b := head(users[name]), head(m)
			if slices.Index(order, a) > slices.Index(order, b) {
				a, b = b, a
			}
			if a != b {
				with[b] = a
			}
		}
	}
	for _, m := range order {
		share(m, m.plan.Policy().Steps)
	}
	for i := range script {
		if e := script[i].event; e.Op == "configure" {
			// Where it cannot be read, the group says so when it comes to it.
			if p, err := policy.ParseOne("body", e.Policy); err == nil {
				share(script[i].of, p.Steps)
			}
		}
	}
	for _, m := range order {
		first := head(m)
		if first == m {
			m.Driver = drive.New(m.plan, m.seed)
			m.group = &group{
				run: r, result: result, several: len(order) > 1, owners: owners, loop: m.Driver.Loop,
				handles: map[int]decision.Handle{}, ids: map[string]struct{}{}, written: map[int]string{},
			}
			m.loop.Changes = r.watch != nil
			list = append(list, m.group)
		} else {
			m.Driver, m.group = first.Driver.Join(m.plan, m.seed), first.group
		}
		m.members = append(m.members, m)
	}
	for _, it := range script {
		it.of.script = append(it.of.script, it)
	}
	return list
}

// keeps reports whether a recorded event happens again as it was.
func (r *Run) keeps(e *trace.Event) bool {
	switch e.Op {
	case "done", "renew":
		return r.Verbatim
	case "configure":
		return r.Deciders.document == nil || r.Configured
	}
	return true
}

// play lets happen what the script and its calls bring, up to a mark.
func (g *group) play(end clock.Mark) error {
	script := g.script
	// next returns where the next item is: the script or what is pending.
	next := func() (ofScript bool, at clock.Mark) {
		switch {
		case len(g.pending) == 0:
			return true, script[0].at
		case len(script) == 0 || !before(&script[0], &g.pending[0]):
			return false, g.pending[0].at
		}
		return true, script[0].at
	}
	for len(script) > 0 || len(g.pending) > 0 {
		_, at := next()
		if err := g.advance(at); err != nil {
			return err
		}
		// What was due at the mark may have begun attempts that end at the same mark.
		var it item
		if ofScript, _ := next(); ofScript {
			it, script = script[0], script[1:]
		} else {
			it = heap.Pop(&g.pending).(item)
		}
		if err := g.happen(&it); err != nil {
			return err
		}
	}
	if err := g.advance(max(end, g.loop.Now())); err != nil {
		return err
	}
	// What came due after the last event comes due in sluice eval as well.
	return g.write(&eventLine{Op: "tick"})
}

func before(a, b *item) bool { return a.at < b.at || a.at == b.at && a.seq <= b.seq }

// advance lets time pass, mark by mark: at a mark what is due comes before the ends of
// attempts.
func (g *group) advance(to clock.Mark) error {
	for {
		due, ends := g.loop.NextWake(), clock.Never
		if len(g.pending) > 0 {
			ends = g.pending[0].at
		}
		switch {
		case due <= to && due <= ends:
			g.watch(true, -1, nil)
			g.loop.Advance(max(due, g.loop.Now()))
			if err := g.decided(); err != nil {
				return err
			}
		case ends < to:
			next := heap.Pop(&g.pending).(item)
			g.loop.Advance(next.at)
			if err := g.happen(&next); err != nil {
				return err
			}
		default:
			g.loop.Advance(to)
			return nil
		}
	}
}

func (g *group) watch(isBefore bool, call int, list []decision.Decision) {
	if g.run.watch != nil {
		g.run.watch(g, isBefore, call, list)
	}
}

// happen does one thing at the present mark.
func (g *group) happen(it *item) error {
	g.watch(true, it.call, nil)
	d := g.loop
	h, live := g.handles[it.call]
	var line *eventLine
	switch {
	case it.event == nil:
		a := g.attemptOf(it.call, it.number)
		r := drive.Result{Attempt: it.number, Outcome: a.outcome, Told: a.told, RetryAfter: a.retryAfter, HasUsed: a.hasUsed, Used: a.used}
		if live && d.Done(h, r) {
			line = doneOf(g.written[it.call], &r)
		}
	case it.event.Op == "call":
		line = callOf(it.event, g.identify(it.call))
		g.begin(it)
	case !live:
	case it.event.Op == "cancel":
		if d.Cancel(h) {
			line = plainOf(it.event, g.written[it.call])
		}
	case it.event.Op == "renew":
		if d.Renew(h, it.event.Attempt) {
			line = plainOf(it.event, g.written[it.call])
		}
	case it.event.Op == "done":
		e := it.event
		r := drive.Result{Attempt: e.Attempt, Outcome: e.Outcome, Told: e.Told, RetryAfter: e.RetryAfter, HasUsed: e.HasUsed, Used: e.Used}
		if d.Done(h, r) {
			line = doneOf(g.written[it.call], &r)
		}
	}
	if it.call < 0 && it.event.Op == "configure" {
		p, err := policy.ParseOne("policy", it.event.Policy)
		if err != nil {
			return fmt.Errorf("a configure at %s: %w", time.Duration(it.at), err)
		}
		plan, err := pipeline.Compile(p.Policy.WithEpoch(g.run.Recording.epoch))
		if err != nil {
			return fmt.Errorf("a configure at %s: %w", time.Duration(it.at), err)
		}
		it.of.Driver.Configure(plan)
		line = plainOf(it.event, "")
	}
	if err := g.write(line); err != nil {
		return err
	}
	return g.decided()
}

// begin begins a call.
func (g *group) begin(it *item) {
	d, e := it.of.Driver, it.event
	request := drive.Request{Cost: e.Cost, Deadline: e.Deadline}
	if d.Plan().Keyed() != 0 {
		request.Keys, request.Missing = g.keys.Of(d.Plan(), e.Lookup, d.Uses)
	}
	g.keys.Price(&request, d.Plan(), e.Lookup)
	slot := int(d.NextSlot())
	for slot >= len(g.slots) {
		g.slots = append(g.slots, 0)
	}
	g.slots[slot] = it.call
	h := d.Begin(&request)
	if d.Live(h) {
		g.handles[it.call] = h
	}
	g.result.began(it.call, it.of.Name, d.Plan())
}

// identify gives a call the id with which it is written: its own, or, while another call
// with this id is not over, one with a number behind. That other call may have ended earlier
// when it was recorded.
func (g *group) identify(call int) string {
	c := &g.run.Recording.Calls[call]
	id := c.ID
	for n := 2; ; n++ {
		if _, taken := g.ids[id]; !taken {
			g.ids[id], g.written[call] = struct{}{}, id
			return id
		}
		id = strconv.Quote(c.Name() + "#" + strconv.Itoa(n))
	}
}

// callOf returns the index of the call of a decision, -1 for one about no call.
func (g *group) callOf(d *decision.Decision) int {
	if d.Kind == decision.Configured || d.Kind == decision.Change || int(d.Call.Slot()) >= len(g.slots) {
		return -1
	}
	return g.slots[d.Call.Slot()]
}

// decided takes in what the driver has decided.
func (g *group) decided() error {
	list := g.loop.Decisions
	g.watch(false, -1, list)
	for i := range list {
		x := &list[i]
		call := g.callOf(x)
		id := ""
		if call >= 0 {
			if id = g.written[call]; id == "" {
				id = g.run.Recording.Calls[call].ID // a place of a call that is over
			}
			g.result.decide(call, x)
			if starts := x.Kind == decision.Start || x.Kind == decision.Admit && !x.Held; starts && !g.run.Verbatim {
				g.schedule(call, x)
			}
			if x.Last {
				delete(g.handles, call)
				delete(g.ids, id)
				delete(g.written, call)
			}
		} else if x.Kind == decision.Configured && g.several {
			id = strconv.Quote(g.members[x.Policy].Name)
		}
		if g.run.Log != nil && x.Kind != decision.Change {
			g.text = decision.AppendLine(g.text[:0], id, x)
			if _, err := g.run.Log.Write(g.text); err != nil {
				return err
			}
		}
	}
	clear(list)
	g.loop.Decisions = list[:0]
	return nil
}

// schedule has an attempt that calls the dependency end.
func (g *group) schedule(call int, x *decision.Decision) {
	c := &g.run.Recording.Calls[call]
	a := g.attemptOf(call, x.Attempt)
	for _, n := range a.renewals {
		renew := &trace.Event{Op: "renew", ID: c.ID, Attempt: x.Attempt}
		heap.Push(&g.pending, item{at: x.At.Add(n.after), seq: max(n.seq, c.seq), event: renew, call: call})
	}
	if a.known {
		heap.Push(&g.pending, item{at: x.At.Add(a.took), seq: max(a.seq, c.seq), call: call, number: x.Attempt})
	}
}

// attemptOf returns how the attempt of a number ends. It is not known for one that ran
// when the recording ended, or when its caller gave up. One whose result was injected ends
// as is assumed of those that the recording does not have.
func (g *group) attemptOf(call int, number uint32) attempt {
	c := &g.run.Recording.Calls[call]
	assumed := attempt{known: true, took: g.run.Assumed.Took, outcome: g.run.Assumed.Outcome}
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
		a.outcome = g.owners[call].outcomes.OfStatus(a.status)
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
