package drive

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/internal/sorting"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// Request has the properties of a call.
type Request struct {
	// Cost in permits; 0 passes every limiter and takes nothing.
	Cost uint32
	// Deadline after which the call is cut, as by an outermost timeout step.
	// Negative for none.
	Deadline time.Duration
	// Keys has, for each step of the active plan whose cells are kept per some
	// attributes, the number of their values; 0 where all are missing. The caller
	// assigns the numbers, see Keys.
	Keys [pipeline.MaxSteps]uint32
	// Costs that attributes have, nil for none; see Keys.Price. The driver does not keep
	// them.
	Costs *pipeline.Costs
	// Conditions that attributes say, nil for none; see Keys.Price. The driver does not keep
	// them.
	Conditions *pipeline.Conditions
	// Missing has a bit for each step with an attribute for which the call has no
	// value.
	Missing uint16
	// NoHedge says that no attempt of the call may start while another one runs.
	NoHedge bool
}

// call is a pipeline.Call with what the driver holds for it.
type call struct {
	pipeline.Call
	driver  *Driver
	layout  *layout
	nodes   [pipeline.MaxSteps]*node   // of the steps that the call passes itself
	tries   [][pipeline.MaxSteps]*node // of those that the attempts of a hedged round pass
	keys    [pipeline.MaxSteps]uint32  // 0 for a step with one cell for all
	missing uint16                     // steps with an attribute for which the call has no value
	number  uint64
	handle  decision.Handle
	wake    entry
	keeps   bool    // its attempt ends by DoneKeeping
	keeper  uint8   // that attempt
	kept    []place // beyond its end, until Cancel
}

// place is one of a bulkhead, with the action that returns it.
type place struct {
	node   *node
	action reducer.Action
}

// Loop is the time, the calls and the cells of one driver, or of several that share
// mechanisms.
type Loop struct {
	drivers []*Driver
	shared  []*pool // of mechanisms that policies share
	calls   []*call
	free    []uint32
	heap    heap
	out     reducer.Out
	// items and unsorted are memory of sort.
	items    []sorting.Item
	unsorted reducer.Out
	now      clock.Mark
	number   uint64
	nodes    uint64
	uses     []uint32 // by the number of a key
	state    []byte   // memory of report

	// Describe, where it is not nil, returns decision.Decision.State.
	Describe func(c cell.Cell, now clock.Mark) string
	// Changes says that Decisions has the changes of breakers, too. Such a decision
	// concerns no call: the slot of its Call is the number of the cell's key. There is one
	// for each driver that has the breaker.
	Changes bool
	// Steps, where it is not nil, is called after each step of a cell, with the name of
	// the policy's step, or of the shared mechanism, as Cell and the number of the cell's
	// key. Where there are several drivers, the name of the policy and a slash are before
	// the name of the step. The entry is valid until Steps returns, which must not use the driver. What a
	// cell does without a step is not reported: it adopts another configuration, or is
	// evicted.
	Steps func(e *reducer.Entry, key uint32)
	// Decisions since the caller last emptied the slice.
	Decisions []decision.Decision
}

// Driver runs the calls of a policy and the cells of its steps in one thread
// and in virtual time.
type Driver struct {
	*Loop
	layout *layout
	index  uint16 // in the loop
	seed   uint64
	drawn  uint64 // calls that began under a plan that draws, for their seeds
}

// New returns a driver at mark 0.
func New(plan *pipeline.Plan, seed uint64) *Driver {
	return newDriver(&Loop{}, plan, seed)
}

// Join returns a driver of another policy with the time and the decisions of d. Steps of
// both that share a mechanism have one state; the one that is configured last configures
// it. The numbers of keys belong to the loop, too. A call is known to every driver of
// the loop.
func (d *Driver) Join(plan *pipeline.Plan, seed uint64) *Driver { return newDriver(d.Loop, plan, seed) }

func newDriver(l *Loop, plan *pipeline.Plan, seed uint64) *Driver {
	d := &Driver{Loop: l, index: uint16(len(l.drivers)), seed: seed}
	l.drivers = append(l.drivers, d)
	d.layout = d.newLayout(plan, nil)
	d.configure(plan, true)
	return d
}

// Index returns the number of the driver in its loop, from 0 in the order of Join. It is
// decision.Decision.Policy where a decision concerns no call.
func (d *Driver) Index() int { return int(d.index) }

// Now returns the mark of the last event.
func (d *Loop) Now() clock.Mark { return d.now }

// NextWake returns the next mark at which something is due for Advance if no other
// event occurs, clock.Never for none.
func (d *Loop) NextWake() clock.Mark {
	if len(d.heap) == 0 {
		return clock.Never
	}
	return d.heap[0].at
}

// Plan returns the active plan.
func (d *Driver) Plan() *pipeline.Plan { return d.layout.plan }

// Advance moves time to now: everything due at or before now happens, in order.
func (d *Loop) Advance(now clock.Mark) {
	for len(d.heap) > 0 && d.heap[0].at <= now {
		e := d.heap[0]
		d.now = max(d.now, e.at)
		d.fire(e)
	}
	d.now = max(d.now, now)
}

// catchUp is Advance to the present mark.
func (d *Loop) catchUp() {
	if d.NextWake() <= d.now {
		d.Advance(d.now)
	}
}

func (d *Loop) fire(e *entry) {
	switch e.class {
	case ends:
		d.endCall(e.call)
	case resumes:
		d.resume(e.call)
	case injects:
		d.inject(e.call)
	case serves:
		d.push(e.node, &reducer.Action{Kind: reducer.Serve})
	case leases:
		d.lapse()
	default:
		d.push(e.node, &reducer.Action{Kind: reducer.Tick})
	}
}

// lapse ends the leases of all cells that are due at this mark and reports them call
// by call.
func (d *Loop) lapse() {
	for len(d.heap) > 0 && d.heap[0].class == leases && d.heap[0].at <= d.now {
		var answer reducer.Answer
		d.touch(&answer, d.heap[0].node, &reducer.Action{Kind: reducer.Tick})
	}
	d.deliverInOrder()
}

// deliverInOrder is deliver call by call, the outermost step first.
func (d *Loop) deliverInOrder() {
	if len(d.out) > 1 {
		d.sort()
	}
	d.deliver()
}

// sort puts the effects in the order of their calls.
func (d *Loop) sort() {
	d.items, d.unsorted = d.items[:0], append(d.unsorted[:0], d.out...)
	for i := range d.out {
		d.items = append(d.items, sorting.Item{Key: d.order(&d.out[i]), Index: uint32(i)})
	}
	sorting.Sort(d.items)
	for i := range d.items {
		d.out[i] = d.unsorted[d.items[i].Index]
	}
}

func (d *Loop) order(e *reducer.Effect) uint64 {
	if e.Kind == reducer.Change {
		return 0 // no call is affected, and there may be no calls
	}
	return d.calls[caller(e.Caller).slot()].number<<placeBits | e.Caller&placeMask
}

// Begin starts a call at the present mark. It does not keep r.
func (d *Driver) Begin(r *Request) decision.Handle {
	d.number++
	c, layout := d.take(), d.layout
	plan := layout.plan
	c.driver, c.number, c.layout, c.missing = d, d.number, layout, r.Missing
	layout.calls++
	if keyed := plan.Keyed(); keyed != 0 {
		d.keep(c, keyed, &r.Keys)
	}
	deadline := clock.Never
	if r.Deadline >= 0 {
		deadline = d.now.Add(r.Deadline)
	}
	if plan.Random() {
		d.drawn++
	}
	handle := c.handle
	begun := plan.Begin(&c.Call, r.Cost, deadline, pipeline.Seed(d.seed, d.drawn))
	if r.Costs != nil {
		plan.Price(&c.Call, r.Costs)
	}
	if r.Conditions != nil {
		begun = plan.Apply(&c.Call, r.Conditions)
	}
	c.NoHedge = r.NoHedge
	plan.Take(c, &c.Call, begun, d.now)
	d.settle(c)
	d.catchUp()
	return handle
}

// keep keeps the keys of a call for the steps of a mask.
func (d *Driver) keep(c *call, keyed uint16, keys *[pipeline.MaxSteps]uint32) {
	for ; keyed != 0; keyed &= keyed - 1 {
		i := bits.TrailingZeros16(keyed)
		if c.keys[i] = keys[i]; keys[i] != 0 {
			d.count(keys[i])
		}
	}
}

// Result is how an attempt ended.
type Result struct {
	// Attempt is the number of the attempt, 0 for the lowest one that runs.
	Attempt uint32
	Outcome reducer.Outcome
	// Told says that the answer had a RetryAfter; a negative one asks for no retry.
	Told       bool
	RetryAfter time.Duration
	// HasUsed says that Used holds: what the attempt has used, for limits that settle.
	HasUsed bool
	Used    uint32
}

// Kept is what is left of a call that ended by DoneKeeping.
type Kept struct {
	// Places is how many places of bulkheads the call still has.
	Places int
	// Cut is the mark at which a timeout would have cut the attempt, clock.Never for none.
	Cut clock.Mark
	// Step is the index of that timeout, pipeline.CallDeadline for the call's own.
	Step int
}

// Done ends a running attempt of a call. It returns false, and does nothing, when
// the attempt does not run.
func (d *Loop) Done(h decision.Handle, r Result) bool {
	_, live := d.done(h, r, false)
	return live
}

// DoneKeeping is Done for an attempt whose answer is still read. Where the call ends with
// it, the places that the call has at bulkheads are kept until Cancel.
func (d *Loop) DoneKeeping(h decision.Handle, r Result) (left Kept, live bool) {
	return d.done(h, r, true)
}

func (d *Loop) done(h decision.Handle, r Result, keeps bool) (left Kept, live bool) {
	left = Kept{Cut: clock.Never}
	c := d.find(h)
	if c == nil {
		return left, false
	}
	plan := c.layout.plan
	k, runs := plan.Find(&c.Call, r.Attempt)
	if !runs {
		return left, false
	}
	if r.HasUsed {
		plan.Use(&c.Call, k, uint64(r.Used))
	}
	cut := clock.Never
	if keeps {
		c.keeps, c.keeper, cut = true, k, plan.CutAt(&c.Call, k)
		left.Step = plan.CutBy(&c.Call, k)
	}
	plan.Finish(c, &c.Call, k, r.Outcome, r.Told, r.RetryAfter, d.now)
	if c.keeps {
		c.keeps = false
		if c.Phase == pipeline.Over {
			left.Places, left.Cut = len(c.kept), cut
		} else {
			d.giveBack(c)
		}
	}
	if left.Places > 0 {
		d.heap.remove(&c.wake)
	} else {
		d.settle(c)
	}
	d.catchUp()
	return left, true
}

// giveBack returns the places that a call keeps.
func (d *Loop) giveBack(c *call) {
	for i := range c.kept {
		if p := &c.kept[i]; !p.node.gone {
			d.push(p.node, &p.action)
		}
	}
	clear(c.kept)
	c.kept = c.kept[:0]
}

// Vote gives the outcome of the running attempt of a call to the cells that record
// outcomes, before the attempt ends, see pipeline.Plan.Vote. It returns false, and does
// nothing, when the attempt does not run.
func (d *Loop) Vote(h decision.Handle, outcome reducer.Outcome, after time.Duration) bool {
	c := d.find(h)
	if c == nil || c.Phase != pipeline.Running || c.layout.plan.Held(&c.Call, 0) {
		return false
	}
	c.layout.plan.Vote(c, &c.Call, outcome, after)
	d.catchUp()
	return true
}

// Cancel cancels a call, whatever its phase, or returns the places that it has kept. It
// returns false when the call is over and keeps nothing.
func (d *Loop) Cancel(h decision.Handle) bool {
	c := d.find(h)
	if c == nil {
		return false
	}
	d.cancel(c)
	d.catchUp()
	return true
}

func (d *Loop) cancel(c *call) {
	if c.Phase == pipeline.Over {
		d.giveBack(c)
		d.settle(c)
		return
	}
	d.happen(c, &pipeline.Event{Kind: pipeline.Abandoned})
}

// Renew extends the leases that a running attempt holds, the lowest one that runs
// for number 0. It returns false when the attempt does not run.
func (d *Loop) Renew(h decision.Handle, attempt uint32) bool {
	c := d.find(h)
	if c == nil {
		return false
	}
	plan := c.layout.plan
	k, runs := plan.Find(&c.Call, attempt)
	if !runs {
		return false
	}
	for left := plan.Holds(&c.Call, k, pipeline.MaxSteps, 0); left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		if n := *c.node(k, i); plan.Leases(i) && !n.gone {
			d.push(n, &reducer.Action{Kind: reducer.Renew, Permit: plan.PermitOf(&c.Call, k, i)})
		}
	}
	return true
}

// Live reports whether a call is not over, or keeps places.
func (d *Loop) Live(h decision.Handle) bool { return d.find(h) != nil }

// Close forgets all calls and cells, so that what still refers to one of them keeps no
// other in memory. Nothing may be called afterwards. Beside other drivers of its loop it
// cancels the calls of this one, which may let waiters of others begin, and forgets what
// no other driver has.
func (d *Driver) Close() {
	if len(d.drivers) > 1 {
		d.leave()
		return
	}
	for _, c := range d.calls {
		if c.layout != nil {
			c.layout.clear()
		}
		*c = call{}
	}
	d.layout.clear()
	*d.Loop = Loop{}
	*d = Driver{Loop: d.Loop}
}

// leave is Close beside other drivers.
func (d *Driver) leave() {
	for _, c := range d.calls {
		if c.layout != nil && c.driver == d {
			d.cancel(c)
		}
	}
	old := d.layout
	d.layout = nil
	d.release(old)
	d.unshare()
	d.drivers = append(d.drivers[:d.index:d.index], d.drivers[d.index+1:]...)
	for i, other := range d.drivers {
		other.index = uint16(i)
	}
}

// Idle reports whether the next call takes the memory of one that is over.
func (d *Loop) Idle() bool { return len(d.free) > 0 }

// NextSlot returns the slot that the next call will have.
func (d *Loop) NextSlot() uint32 {
	if n := len(d.free); n > 0 {
		return d.free[n-1]
	}
	return uint32(len(d.calls))
}

func (d *Loop) find(h decision.Handle) *call {
	if uint(h.Slot()) >= uint(len(d.calls)) {
		return nil
	}
	if c := d.calls[h.Slot()]; c.handle == h && c.layout != nil {
		return c
	}
	return nil
}

func (d *Loop) take() *call {
	if n := len(d.free); n > 0 {
		c := d.calls[d.free[n-1]]
		d.free = d.free[:n-1]
		return c
	}
	c := &call{handle: decision.HandleOf(uint32(len(d.calls)), 1)}
	c.wake.call = c
	d.calls = append(d.calls, c)
	return c
}

// drop frees the slot of a call that is over.
func (d *Loop) drop(c *call) {
	d.heap.remove(&c.wake)
	plan := c.layout.plan
	for i := range plan.Len() {
		if c.nodes[i] != nil { // clear is slower for these few elements
			c.nodes[i] = nil
		}
	}
	c.tries = c.tries[:0]
	for left := plan.Keyed(); left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		if c.keys[i] != 0 {
			d.uses[c.keys[i]]--
		}
		c.keys[i] = 0
	}
	if c.layout.calls--; c.layout.calls == 0 && c.layout != c.driver.layout {
		d.release(c.layout)
	}
	c.layout = nil
	if c.handle.Generation() == 1<<32-1 {
		return // a slot whose generations are used up is not used again
	}
	c.handle = decision.HandleOf(c.handle.Slot(), c.handle.Generation()+1)
	d.free = append(d.free, c.handle.Slot())
}
