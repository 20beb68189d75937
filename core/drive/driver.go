package drive

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// Request is what a call brings with it.
type Request struct {
	// Cost in permits; 0 passes every limiter and takes nothing.
	Cost uint32
	// Deadline after which the call is cut, as by an outermost timeout step.
	// Negative for none.
	Deadline time.Duration
	// Keys has, for each step of the plan in force whose cells are kept per
	// some attributes, the number of their values; 0 where all are missing. What
	// has which number is the caller's affair, see Keys.
	Keys [pipeline.MaxSteps]uint32
}

// call is a pipeline.Call with what the driver holds for it.
type call struct {
	pipeline.Call
	layout *layout
	nodes  [pipeline.MaxSteps]*node
	keys   [pipeline.MaxSteps]uint32 // 0 for a step with one cell for all
	number uint64
	handle decision.Handle
	wake   entry
}

// Driver runs the calls of a policy and the cells of its steps in one thread
// and in virtual time.
type Driver struct {
	layout *layout
	calls  []*call
	free   []uint32
	heap   heap
	out    reducer.Out
	now    clock.Mark
	seed   uint64
	number uint64
	nodes  uint64
	uses   []uint32 // by the number of a key

	// Describe, where it is not nil, says what decision.Decision.State is.
	Describe func(c cell.Cell, now clock.Mark) string
	// Decisions since the caller last emptied it.
	Decisions []decision.Decision
}

// New returns a driver at mark 0.
func New(plan *pipeline.Plan, seed uint64) *Driver {
	d := &Driver{seed: seed}
	d.layout = d.newLayout(plan, nil)
	return d
}

// Now returns the mark of the last event.
func (d *Driver) Now() clock.Mark { return d.now }

// NextWake returns the mark at which Advance next has something to do if
// nothing else happens, clock.Never for none.
func (d *Driver) NextWake() clock.Mark {
	if len(d.heap) == 0 {
		return clock.Never
	}
	return d.heap[0].at
}

// Plan returns the plan in force.
func (d *Driver) Plan() *pipeline.Plan { return d.layout.plan }

// Advance lets time pass: everything due at or before now happens, in order.
func (d *Driver) Advance(now clock.Mark) {
	for len(d.heap) > 0 && d.heap[0].at <= now {
		e := d.heap[0]
		d.now = max(d.now, e.at)
		d.fire(e)
	}
	d.now = max(d.now, now)
}

func (d *Driver) fire(e *entry) {
	switch e.class {
	case ends:
		d.endCall(e.call)
	case resumes:
		d.advance(e.call, &pipeline.Event{Kind: pipeline.Resumed})
	case serves:
		d.step(e.node, reducer.Action{Kind: reducer.Serve})
	case leases:
		d.lapse()
	default:
		d.step(e.node, reducer.Action{Kind: reducer.Tick})
	}
}

// lapse ends the leases of all cells that are due at this mark and tells of
// them call by call.
func (d *Driver) lapse() {
	for len(d.heap) > 0 && d.heap[0].class == leases && d.heap[0].at <= d.now {
		d.touch(d.heap[0].node, reducer.Action{Kind: reducer.Tick})
	}
	d.deliverInOrder()
}

// deliverInOrder is deliver call by call, the outermost step first (shell sort,
// with the gaps of Knuth: there are few effects as a rule, and at most as many
// as places of bulkheads).
func (d *Driver) deliverInOrder() {
	out := d.out
	gap := 1
	for gap < len(out) {
		gap = 3*gap + 1
	}
	for ; gap > 0; gap /= 3 {
		for i := gap; i < len(out); i++ {
			for j := i - gap; j >= 0 && d.order(&out[j]) > d.order(&out[j+gap]); j -= gap {
				out[j], out[j+gap] = out[j+gap], out[j]
			}
		}
	}
	d.deliver()
}

func (d *Driver) order(e *reducer.Effect) uint64 {
	if e.Kind == reducer.Change {
		return 0 // concerns no call, and there may be none
	}
	return d.caller(e.Caller).number<<4 | e.Caller&15
}

// Begin starts a call at the present mark.
func (d *Driver) Begin(r Request) decision.Handle {
	d.number++
	c := d.take()
	c.number, c.layout = d.number, d.layout
	if keyed := d.layout.plan.Keyed(); keyed != 0 {
		d.keep(c, keyed, r.Keys)
	}
	deadline := clock.Never
	if r.Deadline >= 0 {
		deadline = d.now.Add(r.Deadline)
	}
	handle := c.handle
	d.run(c, c.layout.plan.Begin(&c.Call, r.Cost, deadline, d.seed+d.number<<32))
	d.Advance(d.now)
	return handle
}

// keep keeps the keys of a call for the steps of a mask.
func (d *Driver) keep(c *call, keyed uint16, keys [pipeline.MaxSteps]uint32) {
	for ; keyed != 0; keyed &= keyed - 1 {
		i := bits.TrailingZeros16(keyed)
		if c.keys[i] = keys[i]; keys[i] != 0 {
			d.use(keys[i])
		}
	}
}

// Done ends the running attempt of a call. told says that the answer named a
// retryAfter. It returns false, and does nothing, when no attempt is running.
func (d *Driver) Done(h decision.Handle, outcome reducer.Outcome, told bool, retryAfter time.Duration) bool {
	c := d.find(h)
	if c == nil || c.Phase != pipeline.Running {
		return false
	}
	d.advance(c, &pipeline.Event{Kind: pipeline.Finished, Outcome: outcome, Told: told, RetryAfter: retryAfter})
	d.Advance(d.now)
	return true
}

// Cancel gives a call up, whatever it is doing. It returns false when the call
// is over.
func (d *Driver) Cancel(h decision.Handle) bool {
	c := d.find(h)
	if c == nil {
		return false
	}
	d.advance(c, &pipeline.Event{Kind: pipeline.GaveUp})
	d.Advance(d.now)
	return true
}

// Renew extends the leases that a running call holds. It returns false when no
// attempt is running.
func (d *Driver) Renew(h decision.Handle) bool {
	c := d.find(h)
	if c == nil || c.Phase != pipeline.Running {
		return false
	}
	for left := c.Held; left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		if n := c.nodes[i]; n.pool.kind == pipeline.Bulkhead {
			d.step(n, reducer.Action{Kind: reducer.Renew, Permit: c.Slots[i]})
		}
	}
	return true
}

// Live reports whether a call is not over.
func (d *Driver) Live(h decision.Handle) bool { return d.find(h) != nil }

// NextSlot returns the slot that the next call will have.
func (d *Driver) NextSlot() uint32 {
	if n := len(d.free); n > 0 {
		return d.free[n-1]
	}
	return uint32(len(d.calls))
}

func (d *Driver) find(h decision.Handle) *call {
	if uint(h.Slot()) >= uint(len(d.calls)) {
		return nil
	}
	if c := d.calls[h.Slot()]; c.handle == h && c.layout != nil {
		return c
	}
	return nil
}

func (d *Driver) take() *call {
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
func (d *Driver) drop(c *call) {
	d.heap.remove(&c.wake)
	plan := c.layout.plan
	for i := range plan.Len() {
		if n := c.nodes[i]; n != nil {
			n.refs--
			c.nodes[i] = nil
		}
	}
	for left := plan.Keyed(); left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		if c.keys[i] != 0 {
			d.uses[c.keys[i]]--
		}
		c.keys[i] = 0
	}
	c.layout = nil
	c.handle = decision.HandleOf(c.handle.Slot(), c.handle.Generation()+1)
	d.free = append(d.free, c.handle.Slot())
}

// advance tells the plan what happened to a call, and does what follows.
func (d *Driver) advance(c *call, e *pipeline.Event) {
	d.run(c, c.layout.plan.Advance(&c.Call, e, d.now))
}
