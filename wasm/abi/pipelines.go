package abi

import (
	"math/bits"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// Decision is a line of the decision log: 48 bytes.
type Decision struct {
	At         clock.Mark // 0
	Value      int64      // 8, the mark of until, the nanoseconds of retry_after, or a number
	Millis     float64    // 16, Value in milliseconds
	Slot       uint32     // 24
	Generation uint32     // 28
	Attempt    uint32     // 32
	Event      uint32     // 36, of a batch
	Kind       uint8      // 40
	Outcome    uint8      // 41
	Reason     uint8      // 42
	Step       uint8      // 43, the index; NoStep and Deadline
	Flags      uint8      // 44
	_          uint8
	Policy     uint16 // 46, of a change: which of the pipelines that were joined
}

// The steps that are none of the plan's.
const (
	NoStep   = 255
	Deadline = 254
	// Denied: the condition of the policy on calls that it denies.
	Denied = 253
)

// The bits of Decision.Flags.
const (
	Shadow   = 1
	Fallback = 2
	Last     = 4
	HasValue = 8
	// Held: an admitted attempt does not call the dependency yet.
	Held = 16
)

// Pipeline makes the driver of a plan. seed is the seed of all jitter.
func (m *Module) Pipeline(planHandle, seedLow, seedHigh uint32) int32 {
	plan := m.get(planHandle).plan
	if plan == nil {
		return m.lost()
	}
	if m.noRoomFor(plan) {
		return NoMemory
	}
	return m.putDriver(drive.New(plan, seedOf(seedLow, seedHigh)), plan)
}

// Join makes the driver of another plan beside the driver of a pipeline: steps that name one
// mechanism share its cells, and the keys of both have one set of numbers. What happens to one
// of them may decide about calls of the other.
func (m *Module) Join(handle, planHandle, seedLow, seedHigh uint32) int32 {
	plan := m.get(planHandle).plan
	if plan == nil {
		return m.lost()
	}
	d := m.get(handle).driver
	if d == nil {
		return m.lost()
	}
	if m.noRoomFor(plan) {
		return NoMemory
	}
	return m.putDriver(d.Join(plan, seedOf(seedLow, seedHigh)), plan)
}

// noRoomFor reports that there is no memory for a driver of a plan.
func (m *Module) noRoomFor(plan *pipeline.Plan) bool {
	return m.short(4*objectBytes+planBytes(plan), objectBytes, forObject)
}

func seedOf(low, high uint32) uint64 { return uint64(high)<<32 | uint64(low) }

// putDriver returns the handle of the driver of a plan.
func (m *Module) putDriver(d *drive.Driver, plan *pipeline.Plan) int32 {
	m.closeDriver = (*drive.Driver).Close
	o := object{driver: d, promised: firstBytes(plan)}
	m.Memory.owed -= int32(o.promised)
	return m.put(o)
}

// moved returns the driver of a handle, moved to now.
func (m *Module) moved(handle uint32, now float64) *drive.Driver {
	d := m.get(handle).driver
	if d == nil {
		m.lost()
		return nil
	}
	m.move(d, now)
	return d
}

// move moves a driver to now. What is refused is refused before it: decisions that
// became due would be lost.
func (m *Module) move(d *drive.Driver, now float64) {
	d.Decisions = d.Decisions[:0]
	m.Decisions = m.Decisions[:0]
	d.Advance(m.mark(now, d.Now()))
}

// grow makes room for twice as many records. It is a function apart from decided, which
// every call uses.
func (m *Module) grow() {
	room := make([]Decision, len(m.Decisions), max(8, 2*cap(m.Decisions)))
	copy(room, m.Decisions)
	m.Decisions = room
}

// decided leaves the decisions as records and returns how many there are.
func (m *Module) decided(d *drive.Driver, event uint32) int32 {
	for i := range d.Decisions {
		x := &d.Decisions[i]
		if len(m.Decisions) == cap(m.Decisions) {
			m.grow()
		}
		m.Decisions = m.Decisions[:len(m.Decisions)+1]
		r := &m.Decisions[len(m.Decisions)-1]
		r.At, r.Slot, r.Generation = x.At, x.Call.Slot(), x.Call.Generation()
		r.Attempt, r.Event = x.Attempt, event
		r.Kind, r.Outcome, r.Reason, r.Policy = uint8(x.Kind), uint8(x.Outcome), uint8(x.Reason), x.Policy
		r.Value, r.Millis, r.Step, r.Flags = 0, 0, uint8(x.Index), 0
		if x.Index == pipeline.CallDeadline && x.Step != "" {
			r.Step = Deadline
		}
		switch {
		case x.Kind == decision.Reject && x.RetryAfter >= 0, x.Kind == decision.Inject && x.RetryAfter >= 0:
			r.Value, r.Flags = int64(x.RetryAfter), HasValue
		case x.Won > 0:
			r.Value, r.Flags = int64(x.Won), HasValue
		case (x.Kind == decision.Wait || x.Kind == decision.Retry || x.Kind == decision.Inject) && x.Until != clock.Never:
			r.Value, r.Flags = int64(x.Until), HasValue
		case x.Kind == decision.Clamped:
			r.Value, r.Flags = int64(x.Dropped), HasValue
		case x.Kind == decision.Change:
			r.Value, r.Flags = int64(x.Mode), HasValue
		}
		if r.Flags != 0 {
			r.Millis = millisOf(r.Value)
		}
		if x.Shadow {
			r.Flags |= Shadow
		}
		if x.Fallback {
			r.Flags |= Fallback
		}
		if x.Last {
			r.Flags |= Last
		}
		if x.Held {
			r.Flags |= Held
		}
	}
	d.Decisions = d.Decisions[:0]
	if m.Slots.Count = uint32(len(m.Decisions)); m.Slots.Count > 0 {
		m.Slots.Records = address(unsafe.Pointer(&m.Decisions[0]))
	}
	m.wakes(d.NextWake())
	return int32(m.Slots.Count)
}

// BeginNoHedge is the bit of the flags of Begin that keeps the call from starting
// an attempt beside another.
const BeginNoHedge = 1

// Begin starts a call, which Slots.Slot and Slots.Generation name. deadline is
// NaN for none. Steps with keys have their numbers in Slots.Keys, those whose cost an
// attribute has their costs in Slots.Costs, and what its attributes say about the steps is in
// Slots.Applies. Like all that
// happens to a pipeline it returns how many decisions there are.
func (m *Module) Begin(handle, cost, flags uint32, deadline, now float64) int32 {
	o := m.get(handle)
	d := o.driver
	if d == nil {
		return m.lost()
	}
	if flags > BeginNoHedge {
		return m.fail(BadArgument, "no such flags")
	}
	r := drive.Request{Cost: cost, Deadline: -1, NoHedge: flags&BeginNoHedge != 0}
	if span, ok := m.span(deadline); ok {
		if span < 0 {
			return m.fail(BadArgument, "a deadline is 0 or more")
		}
		r.Deadline = span
	}
	for keyed := d.Plan().Keyed(); keyed != 0; keyed &= keyed - 1 {
		i := bits.TrailingZeros16(keyed)
		if !setKey(&r, i, m.Slots.Keys[i]) {
			return m.keyTooGreat()
		}
	}
	if m.Slots.Priced != 0 {
		m.costs = pipeline.Costs{Known: uint16(m.Slots.Priced), Of: m.Slots.Costs}
		r.Costs, m.Slots.Priced = &m.costs, 0
	}
	if m.Slots.Decides&ConditionsHold != 0 {
		m.applies = conditionsOf(m.Slots.Applies, m.Slots.Decides)
		r.Conditions, m.Slots.Decides = &m.applies, 0
	}
	if o.promised > 0 {
		m.keep(&o.promised)
	} else if m.Memory.Tight && m.cannotBegin(d, &r) {
		return NoMemory
	}
	m.move(d, now)
	call := d.Begin(&r)
	m.Slots.Slot, m.Slots.Generation = call.Slot(), call.Generation()
	return m.decided(d, 0)
}

// setKey sets the key of a step, and reports whether its number is allowed.
func setKey(r *drive.Request, i int, key uint32) bool {
	if key&KeyMissing != 0 {
		r.Missing |= 1 << i
	}
	r.Keys[i] = key &^ KeyMissing
	return r.Keys[i] <= MaxKey
}

// DoneKeeps is the bit of the outcome of Done that keeps the places of bulkheads beyond the
// end of the call, where it ends with the attempt, until Cancel.
const DoneKeeps = 16

// Done ends a running attempt of a call with an outcome from ok to ignore: the attempt of the
// number, the lowest one that runs for 0. after is what the answer named as retry-after, NaN
// for nothing; Slots.Used is what the attempt has used. With DoneKeeps, Slots.Free is how many
// places the call keeps, Slots.Millis the time until a timeout would have cut it, -1 for none,
// and Slots.Step which.
func (m *Module) Done(handle, slot, generation, attempt, outcome uint32, after, now float64) int32 {
	keeps := outcome&DoneKeeps != 0
	outcome &^= DoneKeeps
	if outcome < uint32(reducer.OK) || outcome > uint32(reducer.Ignore) {
		return m.fail(BadArgument, "no such outcome")
	}
	d := m.moved(handle, now)
	if d == nil {
		return BadHandle
	}
	span, told := m.span(after)
	result := drive.Result{Attempt: attempt, Outcome: reducer.Outcome(outcome), Told: told, RetryAfter: span, HasUsed: m.Slots.Spent != 0, Used: m.Slots.Used}
	m.Slots.Spent = 0
	if !keeps {
		return m.settled(d, d.Done(decision.HandleOf(slot, generation), result))
	}
	left, live := d.DoneKeeping(decision.HandleOf(slot, generation), result)
	m.Slots.Free, m.Slots.Millis, m.Slots.Step = uint32(left.Places), millisUntil(left.Cut, d.Now()), uint32(uint8(left.Step))
	if left.Step == pipeline.CallDeadline {
		m.Slots.Step = Deadline
	}
	return m.settled(d, live)
}

// settled returns the result of an event, or that it was stale.
func (m *Module) settled(d *drive.Driver, live bool) int32 {
	n := m.decided(d, 0)
	if !live {
		return Stale
	}
	return n
}

// Cancel cancels a call, whatever it is doing, or returns the places that it has kept
// beyond its end.
func (m *Module) Cancel(handle, slot, generation uint32, now float64) int32 {
	d := m.moved(handle, now)
	if d == nil {
		return BadHandle
	}
	return m.settled(d, d.Cancel(decision.HandleOf(slot, generation)))
}

// Renew extends the leases of a running attempt, named as in Done.
func (m *Module) Renew(handle, slot, generation, attempt uint32, now float64) int32 {
	d := m.moved(handle, now)
	if d == nil {
		return BadHandle
	}
	return m.settled(d, d.Renew(decision.HandleOf(slot, generation), attempt))
}

// Advance lets time pass.
func (m *Module) Advance(handle uint32, now float64) int32 {
	d := m.moved(handle, now)
	if d == nil {
		return BadHandle
	}
	return m.decided(d, 0)
}

// Configure activates another plan.
func (m *Module) Configure(handle, planHandle uint32, now float64) int32 {
	plan := m.get(planHandle).plan
	if plan == nil {
		return m.lost()
	}
	d := m.get(handle).driver
	if d == nil {
		return m.lost()
	}
	if n := configureBytes(d, plan); m.short(n, objectBytes+planBytes(plan), forObject) {
		return NoMemory
	}
	m.move(d, now)
	d.Configure(plan)
	return m.decided(d, 0)
}

// Uses returns 1 while the number of a key means something to a cell or a call.
func (m *Module) Uses(handle, key uint32) int32 {
	d := m.get(handle).driver
	if d == nil {
		return m.lost()
	}
	if d.Uses(key) {
		return 1
	}
	return 0
}

// Observe says whether the changes of breakers are decisions, too.
func (m *Module) Observe(handle, on uint32) int32 {
	d := m.get(handle).driver
	if d == nil {
		return m.lost()
	}
	d.Changes = on != 0
	return 0
}

// Ask does something at a step's cell for the host itself, without a call: a peek, a
// tick, a transition, a reset or a drain. It returns the verdict, 0 where the key has no cell.
func (m *Module) Ask(handle, step, key, kind, cost uint32, now float64) int32 {
	d := m.moved(handle, now)
	if d == nil {
		return BadHandle
	}
	switch a := reducer.Kind(min(kind, 255)); {
	case key > MaxKey:
		return m.keyTooGreat()
	case a != reducer.Peek && a != reducer.Tick && a != reducer.Transition && a != reducer.Reset && a != reducer.Drain:
		return m.fail(BadArgument, "no such action on a step")
	case step >= uint32(d.Plan().Len()) || d.Plan().Maker(int(step)) == nil:
		return m.noCells()
	case a == reducer.Drain && d.Adds(int(step), key) && m.short(objectBytes+planBytes(d.Plan()), objectBytes, forObject):
		return NoMemory
	}
	answer, c := d.Ask(int(step), key, reducer.Action{Kind: reducer.Kind(kind), Cost: cost})
	s := &m.Slots
	s.Reason, s.Free, s.Millis = uint32(answer.Reason), answer.Free, -1
	if answer.Verdict == reducer.Reject {
		s.Millis = millisUntil(answer.Mark, d.Now())
	}
	if core := breaker.CoreOf(c); core != nil {
		s.Mode = uint32(core.Mode)
	}
	m.decided(d, 0)
	return int32(answer.Verdict)
}

// Block refuses the calls of a key at a step for a time, NaN to end that. It returns 1, or
// 0 where too many keys are blocked, or none was to be unblocked.
func (m *Module) Block(handle, step, key uint32, span, now float64) int32 {
	d := m.moved(handle, now)
	if d == nil {
		return BadHandle
	}
	if key > MaxKey {
		return m.keyTooGreat()
	}
	if step >= uint32(d.Plan().Len()) || len(d.Plan().Per(int(step))) == 0 {
		return m.fail(BadArgument, "the step has no keys")
	}
	ok := false
	if wait, blocks := m.span(span); !blocks {
		ok = d.Unblock(int(step), key)
	} else if m.short(objectBytes, objectBytes, forObject) {
		return NoMemory
	} else {
		ok = d.Block(int(step), key, wait)
	}
	m.decided(d, 0)
	if ok {
		return 1
	}
	return 0
}

// Evict forgets the cell of a key. It returns 1, or 0 where there is none or a call
// waits or holds something there.
func (m *Module) Evict(handle, step, key uint32) int32 {
	d := m.get(handle).driver
	if d == nil {
		return m.lost()
	}
	if d.Evict(int(step), key) {
		return 1
	}
	return 0
}

// Save leaves the state of a step's cell in the buffer and returns its size, 0
// where there is no such cell yet.
func (m *Module) Save(handle, step, key uint32) int32 {
	d := m.get(handle).driver
	if d == nil {
		return m.lost()
	}
	if n := objectBytes + 4*planBytes(d.Plan()); m.short(n, n, forCall) {
		return NoMemory
	}
	return m.give(d.AppendState(nil, int(step), key))
}

// Load is Restore for a step's cell, which begins now where there is none.
func (m *Module) Load(handle, step, key, size uint32, by, now float64) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	d := m.get(handle).driver
	if d == nil {
		return m.lost()
	}
	if key > MaxKey {
		return m.keyTooGreat()
	}
	n := objectBytes + 2*planBytes(d.Plan()) + 8*size
	what := uint32(forCall)
	if d.Adds(int(step), key) {
		what = forObject
	}
	if m.short(n, n, what) {
		return NoMemory
	}
	m.move(d, now)
	shift, _ := m.span(by)
	if err := d.Revive(int(step), key, src, shift); err != nil {
		return m.failed(BadBytes, err)
	}
	return m.decided(d, 0)
}
