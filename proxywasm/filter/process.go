package filter

import (
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/reducer"
)

// process is the engine whose cells all workers of the process share. A wait at a limit
// is a reservation: the permits are taken at once, and the request goes on at the mark
// from which they may be used. Where nothing can be reserved, as at a window or at a
// bulkhead, the request asks again.
type process struct {
	plan    *pipeline.Plan
	policy  *policy
	store   shared.Store
	steps   [pipeline.MaxSteps]sharedStep
	parked  []*call // in the order in which they came
	idle    []*call
	member  uint32
	begun   uint64 // calls, for their seeds
	metrics *metrics
}

// sharedStep is a step with cells.
type sharedStep struct {
	cells *shared.Cells
	wait  time.Duration // the longest, 0 for a step at which no request waits
	queue int           // how many requests of this worker may wait
	here  *int          // how many do, those of other policies that share the mechanism included
	// Of a bulkhead.
	renew  time.Duration // how often this worker renews its leases
	last   clock.Mark    // when it has
	places map[shared.Key]places
}

// places are those that this worker holds in a cell.
type places struct {
	count  int
	permit reducer.Permit // the latest
}

// held notes what became of a place. The key of a step without keys is the zero one.
func (s *sharedStep) held(of *shared.Key, a *reducer.Action, answer *reducer.Answer) {
	var key shared.Key
	if of != nil {
		key = *of
	}
	h := s.places[key]
	switch {
	case answer.Verdict == reducer.Admit:
		h.count++
		h.permit = answer.Permit
		s.places[key] = h
	case a.Kind != reducer.Release && a.Kind != reducer.Cancel:
	case h.count > 1:
		h.count--
		s.places[key] = h
	default:
		delete(s.places, key)
	}
}

// renewAll renews the leases of this worker. A place that a lease has lost meanwhile stays
// lost.
func (s *sharedStep) renewAll(now clock.Mark) {
	if len(s.places) == 0 || now.Sub(s.last) < s.renew {
		return
	}
	s.last = now
	for key, h := range s.places {
		of := &key
		if key == (shared.Key{}) {
			of = nil
		}
		s.cells.Step(of, reducer.Action{Kind: reducer.Renew, Permit: h.permit})
	}
}

// call is a request on its way through the plan.
type call struct {
	pipeline.Call
	engine  *process
	stream  *stream
	keys    [pipeline.MaxSteps]shared.Key // of the steps with a key
	missing uint16
	now     clock.Mark // of the last step of a cell
	base    clock.Mark // that the plan was given
	verdict verdict
	told    decision.Decision
	waits   [pipeline.MaxSteps]wait
}

// wait is the wait of a request at a step.
type wait struct {
	turn     clock.Mark // when it asks again, or may use what it has reserved
	ends     clock.Mark
	reserved bool
	permit   reducer.Permit // reserved
}

// newProcess returns the engine of a policy. Its shared values have names that begin with
// the prefix. waiting is how many requests of this worker wait at each mechanism that
// policies share.
func newProcess(p *policy, prefix string, store shared.Store, seed shared.Seed, slots, member uint32, waiting map[string]*int, m *metrics) *process {
	e := &process{plan: p.plan, policy: p, store: store, member: member, metrics: m}
	for i := range e.plan.Len() {
		if e.plan.Maker(i) != nil {
			e.steps[i] = newShared(p, i, prefix, store, seed, slots)
			e.steps[i].here = new(int)
			if name := e.plan.Shares(i); name != "" && waiting[name] != nil {
				e.steps[i].here = waiting[name]
			} else if name != "" {
				waiting[name] = e.steps[i].here
			}
		}
	}
	return e
}

// ofMechanisms is in place of the name of a policy, which has no such character.
const ofMechanisms = "*"

func newShared(p *policy, i int, prefix string, store shared.Store, seed shared.Seed, slots uint32) (s sharedStep) {
	step := p.plan.Step(i)
	// A refusal of a shared mechanism may end before its mark: another policy may return
	// permits.
	name, final := p.Name+"/"+step.Name, p.final&(1<<i) != 0
	if shared := p.plan.Shares(i); shared != "" {
		name, final = ofMechanisms+"/"+shared, false
	}
	switch c := step.Config.(type) {
	case limiter.Config:
		s.wait, s.queue = c.Wait, int(c.Queue)
		final = final && c.Block.After == 0 // which counts refusals
	case bulkhead.Config:
		s.wait, s.queue = c.Wait, int(c.Queue)
		if s.queue > 0 && s.wait == 0 {
			s.wait = 1<<63 - 1
		}
		if s.renew = c.Lease / 3; c.Lease == 0 {
			s.renew = shared.DefaultLease / 3
		}
		s.places = map[shared.Key]places{}
	}
	config := shared.Config{
		Name:  prefix + name + kindMark + strconv.Itoa(int(step.Kind())),
		Form:  shared.Form(step),
		Seed:  seed,
		Final: final && s.wait == 0,
	}
	if len(step.Per) > 0 {
		config.Slots = min(slots, p.plan.Keys(i).Keys)
		config.WhenFull = step.WhenFull
		config.Name += "/" + strconv.Itoa(int(config.Slots))
	}
	s.cells = shared.New(store, config)
	return s
}

// kindMark separates the name of a step from its mechanism in the name of a value.
const kindMark = ":"

func (e *process) take(s *stream) *call {
	n := len(e.idle)
	if n == 0 {
		c := &call{engine: e, stream: s}
		s.call = c
		return c
	}
	c := e.idle[n-1]
	e.idle = e.idle[:n-1]
	c.stream, c.missing = s, 0
	s.call = c
	return c
}

// drop frees a call that is over.
func (e *process) drop(c *call) {
	c.stream.call, c.stream = nil, nil
	e.idle = append(e.idle, c)
}

func (e *process) begin(s *stream, q *request) verdict {
	c := e.take(s)
	steps(e.plan.Keyed(), func(i int) {
		value, lacks := q.key(e.plan.Per(i))
		c.keys[i] = e.steps[i].cells.KeyOf(value)
		if lacks {
			c.missing |= 1 << i
		}
	})
	s.omits = e.plan.Unasked(c.missing)
	c.verdict, c.now = verdict{}, 0
	if !e.policy.instant {
		// When the attempt begins. Otherwise no step needs it, and the cells read the
		// clock themselves.
		c.now = e.store.Now()
	}
	c.base = c.now
	e.begun++
	effect := e.plan.Begin(&c.Call, q.cost, clock.Never, pipeline.Seed(1, e.begun))
	if e.plan.Priced() != 0 {
		costs := e.plan.CostsBy(q.lookup)
		e.plan.Price(&c.Call, &costs)
	}
	if e.plan.Conditional() {
		applies := e.plan.ConditionsBy(q.lookup)
		effect = e.plan.Apply(&c.Call, &applies)
		s.omits |= applies.Omits()
	}
	e.plan.Take(c, &c.Call, effect, c.base)
	return e.settle(c)
}

// settle returns what was decided about a call, and keeps it among those that wait.
func (e *process) settle(c *call) verdict {
	if c.Phase == pipeline.Waiting {
		e.parked = append(e.parked, c)
		*e.steps[c.At].here++
	}
	return c.verdict
}

func (e *process) vote(s *stream, o reducer.Outcome, after time.Duration) {
	e.plan.Vote(s.call, &s.call.Call, o, after)
}

func (e *process) end(s *stream, o reducer.Outcome) {
	c := s.call
	if c == nil {
		return
	}
	if c.Phase == pipeline.Waiting {
		e.unpark(c)
		e.plan.Happen(c, &c.Call, &pipeline.Event{Kind: pipeline.Abandoned}, c.now)
	} else {
		e.plan.Finish(c, &c.Call, 0, o, false, 0, c.now)
	}
	e.drop(c)
}

// unpark takes a call out of those that wait.
func (e *process) unpark(c *call) {
	e.parked = slices.DeleteFunc(e.parked, func(other *call) bool { return other == c })
	*e.steps[c.At].here--
}

func (e *process) waiting() int { return len(e.parked) }

func (e *process) every() time.Duration {
	least := time.Duration(1<<63 - 1)
	for i := range e.steps {
		if s := &e.steps[i]; len(s.places) > 0 {
			least = min(least, s.renew)
		}
	}
	return least
}

func (e *process) tick(decided func(*stream, verdict)) {
	now := e.store.Now()
	for i := range e.steps {
		if s := &e.steps[i]; s.cells != nil {
			s.cells.Flush()
			s.renewAll(now)
		}
	}
	for _, c := range slices.Clone(e.parked) {
		if w := &c.waits[c.At]; w.turn > now && w.ends > now {
			continue
		}
		s := c.stream
		if v := e.retry(c, now); v.what != waits {
			decided(s, v)
		}
	}
}

// retry continues a call whose turn has come, or ends its wait.
func (e *process) retry(c *call, now clock.Mark) verdict {
	i := int(c.At)
	w := &c.waits[i]
	event := pipeline.Event{Kind: pipeline.Granted, Step: c.At, Answer: reducer.Admitted(w.permit)}
	if !w.reserved {
		answer, at := e.ask(c, i, reducer.Action{Kind: reducer.TryAcquire, Cost: e.plan.CostOf(&c.Call, i)})
		switch {
		case answer.Verdict == reducer.Admit:
			event.Answer = answer
		case at < w.ends:
			w.turn = turnOf(&answer, at)
			return verdict{}
		default:
			event.Kind = pipeline.Dropped
			event.Answer = reducer.Rejected(reducer.ReasonWait, clock.Never)
		}
	}
	e.unpark(c)
	*w = wait{}
	c.verdict, c.base = verdict{}, now
	e.plan.Happen(c, &c.Call, &event, now)
	return e.settle(c)
}

// turnOf returns when a refused request that waits asks again: at the mark of the answer,
// or with the next tick.
func turnOf(answer *reducer.Answer, now clock.Mark) clock.Mark {
	if at, ok := answer.RetryAt(); ok {
		return at
	}
	return now
}

// ask steps the cell of a step for a call.
func (e *process) ask(c *call, i int, a reducer.Action) (reducer.Answer, clock.Mark) {
	a.ID = e.idOf(a)
	s, key := &e.steps[i], c.key(i)
	answer, now := s.cells.Step(key, a)
	if s.places != nil && a.Kind != reducer.Peek {
		s.held(key, &a, &answer)
	}
	c.now = now
	return answer, now
}

// key returns that of a step, nil for a step without keys.
func (c *call) key(i int) *shared.Key {
	if c.engine.plan.Keyed()&(1<<i) == 0 {
		return nil
	}
	return &c.keys[i]
}

func (e *process) state(s *stream, step int) string {
	return e.steps[step].cells.Text(s.call.key(step))
}

// idOf returns the caller of an Acquire, which is the worker; other actions keep their
// permit.
func (e *process) idOf(a reducer.Action) uint64 {
	if a.Kind == reducer.Acquire || a.Kind == reducer.TryAcquire {
		return uint64(e.member)
	}
	return a.ID
}

// Admit implements pipeline.Host.
func (c *call) Admit(uint8, int) (p reducer.Permit, ok bool) { return p, false }

// Exit implements pipeline.Host.
func (c *call) Exit(uint8, int, reducer.Permit) bool { return false }

// Ask implements pipeline.Host.
func (c *call) Ask(_ uint8, i int, a reducer.Action) reducer.Answer {
	e := c.engine
	s := &e.steps[i]
	if a.Kind != reducer.Acquire || s.wait == 0 {
		answer, _ := e.ask(c, i, a)
		return answer
	}
	try := a
	try.Kind = reducer.TryAcquire
	answer, now := e.ask(c, i, try)
	if answer.Verdict == reducer.Admit || answer.Reason == reducer.ReasonCapacity {
		return answer
	}
	ends := now.Add(s.wait)
	turn, known := answer.RetryAt()
	switch {
	case known && turn > ends:
		return reducer.Rejected(reducer.ReasonWait, turn)
	case *s.here >= s.queue:
		return reducer.Rejected(reducer.ReasonFull, answer.Mark)
	}
	w := wait{turn: turnOf(&answer, now), ends: ends}
	for known {
		// No later than the turn that was told: others may have reserved since.
		got, _ := e.ask(c, i, reducer.Action{Kind: reducer.Reserve, Cost: a.Cost, Permit: reducer.Permit{Mark: w.turn}})
		if got.Verdict == reducer.Admit {
			w.permit, w.reserved, w.ends = got.Permit, true, clock.Never
			break
		}
		turn, known = got.RetryAt()
		switch {
		case !known || turn == w.turn: // such a limit reserves nothing
			known = false
		case turn > ends:
			return reducer.Rejected(reducer.ReasonWait, turn)
		default:
			w.turn = turn
		}
	}
	c.waits[i] = w
	return reducer.Waiting(0, w.turn, w.ends)
}

// Leave implements pipeline.Host.
func (c *call) Leave(_ uint8, i int, a reducer.Action) (dropped uint64, settled bool) {
	if a.Kind == reducer.Leave {
		w := c.waits[i]
		c.waits[i] = wait{}
		if !w.reserved || w.turn <= c.engine.store.Now() {
			return 0, false
		}
		// Its place in the queue is a reservation.
		a = reducer.Action{Kind: reducer.Cancel, Cost: c.engine.plan.CostOf(&c.Call, i), Permit: w.permit}
	}
	answer, _ := c.engine.ask(c, i, a)
	return pipeline.Left(a.Kind, &answer)
}

// Missing implements pipeline.Host.
func (c *call) Missing(i int) bool { return c.missing&(1<<i) != 0 }

// Start implements pipeline.Host: the stream goes on after the decision.
func (c *call) Start(uint8) {}

// Stop implements pipeline.Host.
func (c *call) Stop(uint8) {}

// Decision implements pipeline.Host.
func (c *call) Decision(kind decision.Kind, i int) *decision.Decision {
	c.told = decision.Decision{Kind: kind, Index: i}
	return &c.told
}

// Tell implements pipeline.Host.
func (c *call) Tell(d *decision.Decision) {
	c.engine.metrics.decided(c.engine.policy, d)
	if d.Kind == decision.Reject && d.RetryAfter >= 0 {
		// The cell has read the clock after the plan was given its mark.
		d.RetryAfter = max(0, c.base.Add(d.RetryAfter).Sub(c.now))
	}
	if v, ok := verdictOf(d); ok {
		c.verdict = v
	}
}

// verdictOf returns what a decision means for a request, and false where it means
// nothing.
func verdictOf(d *decision.Decision) (v verdict, ok bool) {
	switch {
	case d.Shadow:
		return v, false
	case d.Kind == decision.Admit:
		return verdict{what: passes, reason: d.Reason}, true
	case d.Kind == decision.Reject:
		return verdict{what: refused, step: d.Index, reason: d.Reason, after: d.RetryAfter}, true
	case d.Kind == decision.Expire:
		return verdict{what: refused, step: d.Index, reason: d.Reason, after: -1, expired: true}, true
	}
	return v, false
}

func (e *process) room(s *stream, step int) room {
	c := s.call
	return roomOf(e.policy, step, func(cost uint32) (reducer.Answer, time.Duration) {
		answer, now := e.ask(c, step, reducer.Action{Kind: reducer.Peek, Cost: cost})
		after, _ := answer.RetryAfter(now)
		return answer, after
	})
}

func (e *process) count(m *metrics) {
	for i := range e.steps {
		if x := e.steps[i].cells; x != nil {
			m.counts(e.policy, i, &x.Counts)
		}
	}
}
