package shared

import (
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// Process is one of the processes that share cells by a store, and has what its hosts have in
// common. Its fields do not change after the first Host.
type Process struct {
	Store Store
	// Prefix begins the keys of all values.
	Prefix string
	// Seed of the hashes of keys. All processes of the store have the same, see SharedSeed.
	Seed Seed
	// Slots is how many keys of a step have a cell of their own, at most. A plan may allow
	// fewer.
	Slots uint32
	// Member names the process in leases. No other process of the store has the number.
	Member uint32

	waiting map[string]*int // calls that wait, by the mechanism that policies share
}

// Host takes the calls of one policy through its plan, over cells that several processes share.
// A wait at a limit is a reservation: the permits are taken at once, and the call goes on at the
// mark from which they may be used. Where nothing can be reserved, as at a window or at a
// bulkhead, the call asks again. A Host is for one goroutine at a time.
type Host struct {
	process *Process
	plan    *pipeline.Plan
	steps   [pipeline.MaxSteps]step
	waiting []*Call // in the order in which they came
	begun   uint64  // calls, for their seeds
	records bool    // a step counts outcomes, and needs the mark at which a call begins
	decided func(*Call, *decision.Decision)
}

// step is a step of the plan with its cells.
type step struct {
	cells *cells
	wait  time.Duration // the longest, 0 for a step at which no call waits
	queue int           // how many calls of this process may wait
	here  *int          // how many do, calls of other policies that share the mechanism included
	renew time.Duration // how often this process renews its leases, 0 for none
	last  clock.Mark    // when it has
	held  held          // under a lease
}

// Call is a call on its way through the plan. Its zero value is ready for Begin, and it may be
// used again when it is over.
type Call struct {
	// ID is the caller's. The host does not read it.
	ID uint64

	state   pipeline.Call
	host    *Host
	keys    [pipeline.MaxSteps]Key // of the steps with keys
	missing uint16
	omits   uint16
	now     clock.Mark // of the last step of a cell
	base    clock.Mark // that the plan was given
	told    decision.Decision
	waits   [pipeline.MaxSteps]wait
}

// wait is the wait of a call at a step.
type wait struct {
	turn     clock.Mark // when the call asks again, or may use what it has reserved
	ends     clock.Mark
	reserved bool
	permit   reducer.Permit // reserved
}

// Host returns a host of a plan, or the error of a step that Check refuses. Two processes share the cells of steps of one
// name in policies of one name, and the cells of one shared mechanism. decided receives the
// decisions of calls at their time; it does not use the host, and the decision is valid until it
// returns.
func (p *Process) Host(plan *pipeline.Plan, decided func(*Call, *decision.Decision)) (*Host, error) {
	h := &Host{process: p, plan: plan, decided: decided}
	// The permits of a step are never returned where no step below it refuses.
	final := plan.Len() - 1
	for final > 0 && plan.Shadow(final) {
		final--
	}
	for i := range plan.Len() {
		k, found, allowed := keep(plan.Settings(i))
		if found != "" {
			return nil, &reducer.ConfigError{Field: plan.StepName(i), Value: found, Allowed: allowed}
		}
		h.steps[i] = h.step(i, &k, i >= final && !plan.SettlesAt(i))
		h.records = h.records || plan.Records(i)
	}
	return h, nil
}

// ofMechanisms is in place of the name of a policy, which has no such character.
const ofMechanisms = "*"

// kindMark separates the name of a step from its mechanism in the key of a value.
const kindMark = ":"

func (h *Host) step(i int, k *kept, final bool) (s step) {
	p, plan, of := h.process, h.plan, h.plan.Settings(i)
	s.wait, s.queue, s.renew, s.here = k.Wait, int(k.Queue), k.Lease/3, new(int)
	name := plan.Name() + "/" + of.Name
	if shared := plan.Shares(i); shared != "" {
		// A refusal may end before its mark: another policy may return permits.
		name, final = ofMechanisms+"/"+shared, false
		if here := p.waiting[shared]; here != nil {
			s.here = here
		} else {
			if p.waiting == nil {
				p.waiting = map[string]*int{}
			}
			p.waiting[shared] = s.here
		}
	}
	c := config{
		name:  p.Prefix + name + kindMark + strconv.Itoa(int(of.Kind())),
		form:  k.form,
		maker: k.maker,
		seed:  p.Seed,
		final: final && s.wait == 0 && !cell.Blocks(k.maker),
	}
	if len(of.Per) > 0 {
		c.slots, c.whenFull = min(p.Slots, plan.Keys(i).Keys), of.WhenFull
		c.name += "/" + strconv.Itoa(int(c.slots))
	}
	s.cells = newCells(p.Store, c)
	return s
}

// Begin takes a call through the steps until it is decided or waits. The cost is in permits, at
// the steps without one of their own. lookup returns the value of an attribute, empty for none;
// it may be nil where the plan reads none.
func (h *Host) Begin(c *Call, cost uint32, lookup func(attribute string) string) {
	var now clock.Mark // the cells read the clock themselves
	if h.records {
		now = h.process.Store.Now()
	}
	c.host, c.missing, c.now, c.base = h, 0, now, now
	for left := h.plan.Keyed(); left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		value, lacks := keyed.Join(h.plan.Per(i), lookup)
		if c.keys[i] = h.steps[i].cells.keyOf(value); lacks {
			c.missing |= 1 << i
		}
	}
	c.omits = h.plan.Unasked(c.missing)
	h.begun++
	effect := h.plan.Begin(&c.state, cost, clock.Never, pipeline.Seed(1, h.begun))
	if h.plan.Priced() != 0 {
		costs := h.plan.CostsBy(lookup)
		h.plan.Price(&c.state, &costs)
	}
	if h.plan.Conditional() {
		applies := h.plan.ConditionsBy(lookup)
		effect = h.plan.Apply(&c.state, &applies)
		c.omits |= applies.Omits()
	}
	h.plan.Take((*call)(c), &c.state, effect, now)
	h.park(c)
}

// park keeps a call among those that wait, if it does.
func (h *Host) park(c *Call) {
	if c.state.Phase == pipeline.Waiting {
		h.waiting = append(h.waiting, c)
		*h.steps[c.state.At].here++
	}
}

// unpark takes a call out of those that wait.
func (h *Host) unpark(c *Call) {
	h.waiting = slices.DeleteFunc(h.waiting, func(other *Call) bool { return other == c })
	*h.steps[c.state.At].here--
}

// Omits returns the steps that a call passes without a permit, as a mask: by their conditions,
// and where it lacks an attribute.
func (c *Call) Omits() uint16 { return c.omits }

// Vote tells the steps that record outcomes how a call will end, before its end. after is the
// retry-after of the answer, 0 for none.
func (h *Host) Vote(c *Call, o reducer.Outcome, after time.Duration) {
	h.plan.Vote((*call)(c), &c.state, o, after)
}

// End ends a call that passed with its outcome, or a wait. It does nothing for a call that was
// refused.
func (h *Host) End(c *Call, o reducer.Outcome) {
	if c.state.Phase == pipeline.Waiting {
		h.unpark(c)
		h.plan.Happen((*call)(c), &c.state, &pipeline.Event{Kind: pipeline.Abandoned}, c.now)
		return
	}
	h.plan.Finish((*call)(c), &c.state, 0, o, false, 0, c.now)
}

// Waiting returns how many calls wait.
func (h *Host) Waiting() int { return len(h.waiting) }

// Renews returns how often Tick has to be called for the leases that the process holds.
func (h *Host) Renews() time.Duration {
	least := mechanism.Forever
	for i := range h.steps {
		if s := &h.steps[i]; len(s.held.list) > 0 {
			least = min(least, s.renew)
		}
	}
	return least
}

// Tick lets time pass: it tries again what could not be written, renews leases, and continues
// the calls whose turn has come. went is called for each call that no longer waits, when all is
// decided about it.
func (h *Host) Tick(went func(*Call)) {
	now := h.process.Store.Now()
	for i := range h.plan.Len() {
		h.steps[i].cells.flush()
		h.steps[i].renewAll(now)
	}
	for _, c := range slices.Clone(h.waiting) {
		// went may have ended other calls that waited.
		if c.state.Phase != pipeline.Waiting {
			continue
		}
		if w := &c.waits[c.state.At]; (w.turn <= now || w.ends <= now) && h.retry(c, now) {
			went(c)
		}
	}
}

// retry continues a call whose turn has come, or ends its wait. It reports whether the call no
// longer waits.
func (h *Host) retry(c *Call, now clock.Mark) bool {
	i := int(c.state.At)
	w := &c.waits[i]
	event := pipeline.Event{Kind: pipeline.Granted, Step: c.state.At, Answer: reducer.Admitted(w.permit)}
	if !w.reserved {
		answer, at := h.Ask(c, i, reducer.Action{Kind: reducer.TryAcquire, Cost: h.plan.CostOf(&c.state, i)})
		switch {
		case answer.Verdict == reducer.Admit:
			event.Answer = answer
		case at < w.ends:
			w.turn = turnOf(&answer, at)
			return false
		default:
			event.Kind = pipeline.Dropped
			event.Answer = reducer.Rejected(reducer.ReasonWait, clock.Never)
		}
	}
	h.unpark(c)
	*w = wait{}
	c.base = now
	h.plan.Happen((*call)(c), &c.state, &event, now)
	h.park(c)
	return c.state.Phase != pipeline.Waiting
}

// turnOf returns when a refused call that waits asks again: at the mark of the answer, or with
// the next Tick.
func turnOf(answer *reducer.Answer, now clock.Mark) clock.Mark {
	if at, ok := answer.RetryAt(); ok {
		return at
	}
	return now
}

// Ask steps the cell that a call has at a step, beside what the plan asks: as a Peek. It returns
// the mark of the answer.
func (h *Host) Ask(c *Call, i int, a reducer.Action) (reducer.Answer, clock.Mark) {
	if a.Kind == reducer.Acquire || a.Kind == reducer.TryAcquire {
		a.ID = uint64(h.process.Member)
	}
	s, key := &h.steps[i], h.key(c, i)
	answer, now := s.cells.step(key, a)
	if s.renew > 0 && a.Kind != reducer.Peek {
		s.held.note(key, &a, &answer)
	}
	c.now = now
	return answer, now
}

// key returns the key of a call at a step, nil for a step without keys.
func (h *Host) key(c *Call, i int) *Key {
	if h.plan.Keyed()&(1<<i) == 0 {
		return nil
	}
	return &c.keys[i]
}

// Text returns the state of the cell that a call has at a step, in a line for people.
func (h *Host) Text(c *Call, i int) string { return h.steps[i].cells.text(h.key(c, i)) }

// Counts returns what this process has counted at a step.
func (h *Host) Counts(i int) Counts { return h.steps[i].cells.counts }

// call is what the plan calls of a Call.
type call Call

var _ pipeline.Host = (*call)(nil)

// Admit implements pipeline.Host.
func (c *call) Admit(uint8, int) (p reducer.Permit, ok bool) { return p, false }

// Exit implements pipeline.Host.
func (c *call) Exit(uint8, int, reducer.Permit) bool { return false }

// Ask implements pipeline.Host.
func (c *call) Ask(_ uint8, i int, a reducer.Action) reducer.Answer {
	h, of := c.host, (*Call)(c)
	s := &h.steps[i]
	if a.Kind != reducer.Acquire || s.wait == 0 {
		answer, _ := h.Ask(of, i, a)
		return answer
	}
	try := a
	try.Kind = reducer.TryAcquire
	answer, now := h.Ask(of, i, try)
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
		got, _ := h.Ask(of, i, reducer.Action{Kind: reducer.Reserve, Cost: a.Cost, Permit: reducer.Permit{Mark: w.turn}})
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
	h := c.host
	if a.Kind == reducer.Leave {
		w := c.waits[i]
		c.waits[i] = wait{}
		if !w.reserved || w.turn <= h.process.Store.Now() {
			return 0, false
		}
		// Its place in the queue is a reservation.
		a = reducer.Action{Kind: reducer.Cancel, Cost: h.plan.CostOf(&c.state, i), Permit: w.permit}
	}
	answer, _ := h.Ask((*Call)(c), i, a)
	return pipeline.Left(a.Kind, &answer)
}

// Missing implements pipeline.Host.
func (c *call) Missing(i int) bool { return c.missing&(1<<i) != 0 }

// Start implements pipeline.Host: the caller goes on after the decision.
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
	if d.Kind == decision.Reject && d.RetryAfter >= 0 {
		// The cell has read the clock after the plan was given its mark.
		d.RetryAfter = max(0, c.base.Add(d.RetryAfter).Sub(c.now))
	}
	c.host.decided((*Call)(c), d)
}
