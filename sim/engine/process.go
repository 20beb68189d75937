package engine

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/scenario"
)

// seedStep is between the seeds of two processes' policies.
const seedStep = 1 << 56

// process decides calls by a policy of its own, or sends them straight to a service.
type process struct {
	sim  *simulation
	name string
	// send passes an attempt on.
	send func(*job)
	// driver is nil for a process without a policy.
	driver *drive.Driver
	keys   drive.Keys
	live   []*call // by the slot of the driver
	wake   event
	// ahead is by how much the clock of the process differs.
	ahead  clock.Mark
	number uint64
	log    *log
	// changes of breakers, for the timeline; nil where it has none.
	changes *[]BreakerChange
	// lines of the timeline for the steps that gauges read.
	lines   *[]StepLine
	gauges  []gauge
	sampler *sampler // nil where no events are sampled
}

// newProcess returns the next process. The policy is nil for none.
func newProcess(sim *simulation, name string, policy *document.Policy, send func(*job)) *process {
	p := &process{sim: sim, name: name, send: send}
	index := uint64(len(sim.processes))
	sim.processes = append(sim.processes, p)
	if policy == nil {
		return p
	}
	p.driver = drive.New(compile(policy), sim.seed+seedStep*index)
	p.driver.Changes = true
	p.wake = event{process: p, fire: func(e *event) { e.process.due() }}
	return p
}

// compile returns the plan of a policy of the scenario.
func compile(policy *document.Policy) *pipeline.Plan {
	plan, err := pipeline.Compile(policy.Policy)
	if err != nil { // the reader of the scenario accepts no such policy
		panic(err)
	}
	return plan
}

// call is a call of a process.
type call struct {
	request
	process  *process
	handle   decision.Handle
	id       string
	began    clock.Mark
	attempts uint32
	counted  bool
	part     int                        // of the timeline, of its arrival
	keys     *[pipeline.MaxSteps]uint32 // of the driver, for samples
	jobs     []*job                     // attempts that run
	// One of these is set: the client that made the call, the request whose handler
	// did, the request that a service has not admitted yet, or code outside of the run.
	client  *client
	user    *user
	handler *job
	waiting *job
	outside func(end) // by value, so that no end of a call is allocated
	live    *LiveCall // of a client, where code outside makes the call
	patient event
	// overdue ends the call at its deadline where no policy does.
	overdue event
}

// request is what a call says of itself. The calls that a service makes for it say the
// same.
type request struct {
	from       *client
	key        int // -1 for none
	attributes [scenario.MaxAttributes]int32
	cost       uint32
	number     uint64 // of the call of the client
	// until is the deadline of the client's call, clock.Never for none. Every call
	// that services make for it ends there, too.
	until clock.Mark
}

// left returns how long the call may still take, negative for no deadline.
func (r *request) left(now clock.Mark) time.Duration {
	if r.until == clock.Never {
		return -1
	}
	return max(r.until.Sub(now), 0)
}

// end is how a call ended.
type end struct {
	outcome    reducer.Outcome // of what is not refused
	refused    bool
	step       string
	index      int
	reason     reducer.Reason
	retryAfter clock.Mark // negative for none
}

// local returns the present mark on the clock of the process.
func (p *process) local() clock.Mark {
	return max(p.driver.Now(), p.sim.now+p.ahead)
}

// start starts a call.
func (p *process) start(c *call) {
	p.number++
	c.process, c.began = p, p.sim.now
	if c.client == nil && c.left(p.sim.now) == 0 {
		p.expire(c) // a service starts no call whose deadline is over
		return
	}
	if p.driver == nil {
		p.admit(c)
		if c.until != clock.Never {
			c.overdue = event{call: c, fire: func(e *event) { e.call.process.expire(e.call) }}
			p.sim.at(&c.overdue, max(c.until, p.sim.now), wakes)
		}
		p.request(c, 1)
		return
	}
	now := p.advance()
	request := drive.Request{Cost: c.cost, Deadline: c.left(p.sim.now)}
	if p.driver.Plan().Keyed() != 0 {
		request.Keys, request.Missing = p.keys.Of(p.driver.Plan(), c.lookup, p.driver.Uses)
	}
	p.keys.Price(&request, p.driver.Plan(), c.lookup)
	if p.log != nil || p.sampler != nil {
		c.id = decimal(c.number)
	}
	if p.log != nil {
		p.log.call(now, c, request.Deadline)
	}
	if p.sampler != nil {
		keys := request.Keys
		c.keys = &keys
		p.sampler.begin(p, "call", c)
	}
	slot := p.driver.NextSlot()
	for int(slot) >= len(p.live) {
		p.live = append(p.live, nil)
	}
	p.live[slot] = c
	c.handle = p.driver.Begin(&request)
	p.drain()
	p.sampler.end(p)
	p.plan()
}

// answer gives the answer of an attempt to its call.
func (p *process) answer(j *job, outcome reducer.Outcome, retryAfter clock.Mark) {
	c := j.call
	if p.driver == nil {
		c.forget(j)
		p.ended(c, end{outcome: outcome, index: -1, retryAfter: retryAfter})
		return
	}
	now := p.advance()
	if j.call == nil {
		return // the attempt ended with what was due
	}
	result := drive.Result{Attempt: j.attempt, Outcome: outcome}
	if retryAfter >= 0 {
		result.Told, result.RetryAfter = true, retryAfter.Sub(0)
	}
	if p.log != nil {
		p.log.done(now, c, &result)
	}
	c.forget(j)
	if p.sampler != nil {
		p.sampler.begin(p, outcome.String(), c)
	}
	p.driver.Done(c.handle, result)
	p.drain()
	p.sampler.end(p)
	p.plan()
}

// cancel ends a call for its caller.
func (p *process) cancel(c *call) {
	if c.live != nil {
		c.live.lostPatience()
		return
	}
	if p.driver == nil {
		p.ended(c, end{outcome: reducer.Cancelled, index: -1, retryAfter: -1})
		return
	}
	handle := c.handle
	now := p.advance()
	if !p.driver.Live(handle) {
		return
	}
	if p.log != nil {
		p.log.cancel(now, c)
	}
	p.sampler.begin(p, "cancel", c)
	p.driver.Cancel(handle)
	p.drain()
	p.sampler.end(p)
	p.plan()
}

// expire ends a call at its deadline.
func (p *process) expire(c *call) {
	p.ended(c, end{outcome: reducer.Timeout, index: -1, retryAfter: -1})
}

// due lets time pass until now.
func (p *process) due() {
	p.advance()
	p.plan()
}

// advance lets time pass until now, and returns the mark on the clock of the process.
func (p *process) advance() clock.Mark {
	now := p.local()
	p.sampler.begin(p, "time", nil)
	p.driver.Advance(now)
	p.drain()
	p.sampler.end(p)
	return now
}

// finish is due at the end of the scenario.
func (p *process) finish() {
	if p.driver == nil {
		return
	}
	p.due()
	if p.log != nil {
		p.log.tick(p.local())
	}
}

// plan plans when the policy has something due. An event that is too early does
// nothing, so that one which is not too late stays.
func (p *process) plan() {
	next := p.driver.NextWake()
	if next == clock.Never {
		return
	}
	at := max(next.Add(-time.Duration(p.ahead)), p.sim.now)
	if p.wake.place == 0 || at < p.sim.queue.list[p.wake.place-1].at {
		p.sim.at(&p.wake, at, wakes)
	}
}

// changed notes the change of a breaker.
func (p *process) changed(d *decision.Decision) {
	if p.changes == nil || len(*p.changes) == maxChanges {
		return
	}
	*p.changes = append(*p.changes, BreakerChange{At: p.sim.now, Step: d.Step, Key: d.Call.Slot(), Mode: modeOf(d)})
}

// modeOf returns the new state of a breaker.
func modeOf(d *decision.Decision) breaker.Mode { return breaker.Mode(d.Mode) }

// maxChanges is the most changes of breakers that a result has for one process.
const maxChanges = 10_000

// drain acts upon the decisions of the driver.
func (p *process) drain() {
	for i := 0; i < len(p.driver.Decisions); i++ {
		d := &p.driver.Decisions[i]
		switch d.Kind {
		case decision.Change:
			p.changed(d)
			p.observed(nil, d)
			p.sampler.decision(p, nil, d)
			continue
		case decision.Full:
			continue
		}
		c := p.live[d.Call.Slot()]
		if p.log != nil {
			p.log.decision(c.id, d)
		}
		p.observed(c, d)
		p.sampler.decision(p, c, d)
		if d.Shadow {
			continue
		}
		p.act(c, d)
	}
	p.driver.Decisions = p.driver.Decisions[:0]
}

// act does what one decision says.
func (p *process) act(c *call, d *decision.Decision) {
	switch d.Kind {
	case decision.Admit:
		p.admit(c)
		if !d.Held {
			p.request(c, d.Attempt)
		}
	case decision.Start:
		p.request(c, d.Attempt)
	case decision.Failed, decision.Cancel:
		c.giveUp(d.Attempt)
	case decision.Retry:
		c.giveUpAll()
	case decision.End:
		p.live[d.Call.Slot()] = nil
		p.ended(c, end{outcome: d.Outcome, index: -1, retryAfter: -1})
	case decision.Reject, decision.Expire:
		p.live[d.Call.Slot()] = nil
		e := end{refused: true, step: d.Step, index: d.Index, reason: d.Reason, retryAfter: -1}
		if d.Kind == decision.Reject && d.RetryAfter >= 0 {
			e.retryAfter = clock.Mark(d.RetryAfter)
		}
		p.ended(c, e)
	}
}

// admit counts an attempt.
func (p *process) admit(c *call) {
	c.attempts++
	if c.client != nil {
		c.client.attempted(c)
	}
}

// request sends an attempt to its service.
func (p *process) request(c *call, attempt uint32) {
	if p.sim.over {
		return
	}
	j := p.sim.jobs.take()
	*j = job{call: c, request: c.request, attempt: attempt}
	c.jobs = append(c.jobs, j)
	p.send(j)
}

// ended ends a call and notifies the caller that made it.
func (p *process) ended(c *call, e end) {
	c.giveUpAll()
	p.sim.queue.remove(&c.patient)
	p.sim.queue.remove(&c.overdue)
	jobs := c.jobs
	switch {
	case c.client != nil:
		c.client.ended(c, &e)
	case c.outside != nil:
		c.outside(e)
	case c.handler != nil:
		c.handler.service.returned(c, &e)
	default:
		c.waiting.service.decided(c, &e)
	}
	*c = call{jobs: jobs[:0]}
	p.sim.calls.give(c)
}

// forget takes an attempt that is over from its call.
func (c *call) forget(j *job) {
	for i, one := range c.jobs {
		if one == j {
			c.jobs = append(c.jobs[:i], c.jobs[i+1:]...)
			break
		}
	}
	j.call = nil
}

// giveUp ends an attempt whose answer the call does not want any more.
func (c *call) giveUp(attempt uint32) {
	for _, j := range c.jobs {
		if j.attempt == attempt {
			c.forget(j)
			j.service.abandoned(j)
			return
		}
	}
}

func (c *call) giveUpAll() {
	for len(c.jobs) > 0 {
		j := c.jobs[0]
		c.forget(j)
		j.service.abandoned(j)
	}
}

// lookup returns the value of an attribute.
func (r *request) lookup(attribute string) string {
	if attribute == "key" {
		return r.keyText()
	}
	for i := range r.from.config.Attributes {
		if one := &r.from.config.Attributes[i]; one.Name == attribute {
			return one.Values.Value(int(r.attributes[i]))
		}
	}
	return ""
}

func (r *request) keyText() string {
	if r.key < 0 {
		return ""
	}
	return r.from.keyText(r.key)
}
