package abi

import (
	"encoding/binary"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// EventSize is the size of an event of a batch in bytes, without keys.
const EventSize = 40

// The operations of events.
const (
	OpTick = iota
	OpBegin
	OpDone
	OpCancel
	OpRenew
)

// The bits of an event's flags.
const (
	// EventSpan: the span holds, a deadline or a retry-after.
	EventSpan = 1
	// EventOf: the slot is the index of an event of this batch that began the call.
	EventOf = 2
	// EventKeys: 64 bytes of numbers of keys follow the event.
	EventKeys = 4
	// EventNoHedge: no attempt of the call that begins starts beside another.
	EventNoHedge = 8
	// EventCosts: 68 bytes follow the event and its keys: Slots.Priced and Slots.Costs.
	EventCosts = 16
	// EventUsed: the attempt has used what the last word says.
	EventUsed = 32
	// EventApplies: 8 bytes follow the event, its keys and its costs: Slots.Applies and
	// Slots.Decides.
	EventApplies = 64
)

const (
	keysSize    = 4 * pipeline.MaxSteps
	costsSize   = 4 + 4*pipeline.MaxSteps
	appliesSize = 8
)

// begun is the call of an event of a batch.
type begun = decision.Handle

// Batch lets events happen, one after another: size bytes in the buffer, each
// event with op, outcome, flags and a zero in a byte each, cost, slot and
// generation in 4, mark and span in 8, the attempt and what it has used in 4. Begins get the slot and the
// generation of their call there. What comes before a wrong event has happened.
// It returns how many decisions there are; a stale event leaves one of the kind
// StaleKind.
func (m *Module) Batch(handle, size uint32) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	o := m.get(handle)
	d := o.driver
	if d == nil {
		return m.lost()
	}
	if m.cannotPlay(o, src) {
		return NoMemory
	}
	m.Decisions, d.Decisions = m.Decisions[:0], d.Decisions[:0]
	m.batch = m.batch[:0]
	n := m.decided(d, 0)
	for event := uint32(0); len(src) > 0; event++ {
		used, code := m.happen(d, src, event)
		if code < 0 {
			m.decided(d, event)
			return code
		}
		src = src[used:]
		n = m.decided(d, event)
	}
	return n
}

// StaleKind is the kind of the decision about a stale event of a batch.
const StaleKind = 255

// happen lets one event happen and returns its size.
func (m *Module) happen(d *drive.Driver, src []byte, event uint32) (used int, code int32) {
	if len(src) < EventSize || src[3] != 0 || src[2]&EventUsed == 0 && binary.LittleEndian.Uint32(src[36:]) != 0 {
		return 0, m.fail(BadBytes, "an event is cut off or has bytes that are not zero")
	}
	op, outcome, flags := src[0], src[1], src[2]
	cost, slot, generation := binary.LittleEndian.Uint32(src[4:]), binary.LittleEndian.Uint32(src[8:]), binary.LittleEndian.Uint32(src[12:])
	span := time.Duration(binary.LittleEndian.Uint64(src[24:]))
	attempt := binary.LittleEndian.Uint32(src[32:])
	used = EventSize
	request := drive.Request{Cost: cost, Deadline: -1, NoHedge: flags&EventNoHedge != 0}
	if flags&EventKeys != 0 {
		for i := range request.Keys {
			if len(src) < used+4 {
				return 0, m.fail(BadBytes, "the keys of an event are cut off")
			}
			key := binary.LittleEndian.Uint32(src[used:])
			used += 4
			if !setKey(&request, i, key) {
				return 0, m.keyTooGreat()
			}
		}
	}
	if flags&EventCosts != 0 {
		if len(src) < used+costsSize {
			return 0, m.fail(BadBytes, "the costs of an event are cut off")
		}
		m.costs.Known = uint16(binary.LittleEndian.Uint32(src[used:]))
		request.Costs = &m.costs
		used += 4
		for i := range m.costs.Of {
			m.costs.Of[i] = binary.LittleEndian.Uint32(src[used:])
			used += 4
		}
	}
	if flags&EventApplies != 0 {
		if len(src) < used+appliesSize {
			return 0, m.fail(BadBytes, "the conditions of an event are cut off")
		}
		m.applies = conditionsOf(binary.LittleEndian.Uint32(src[used:]), binary.LittleEndian.Uint32(src[used+4:]))
		request.Conditions = &m.applies
		used += appliesSize
	}
	call := decision.HandleOf(slot, generation)
	if flags&EventOf != 0 {
		if slot >= uint32(len(m.batch)) {
			return 0, m.fail(BadArgument, "an event names a later one")
		}
		call = m.batch[slot]
	}
	if op > OpRenew || op == OpDone && (outcome < uint8(reducer.OK) || outcome > uint8(reducer.Ignore)) || op == OpBegin && flags&EventSpan != 0 && span < 0 {
		return 0, m.fail(BadArgument, "no such event")
	}
	d.Advance(onLine(clock.Mark(binary.LittleEndian.Uint64(src[16:]))))
	live := true
	switch op {
	case OpBegin:
		if flags&EventSpan != 0 {
			request.Deadline = span
		}
		call = d.Begin(&request)
		binary.LittleEndian.PutUint32(src[8:], call.Slot())
		binary.LittleEndian.PutUint32(src[12:], call.Generation())
	case OpDone:
		live = d.Done(call, drive.Result{Attempt: attempt, Outcome: reducer.Outcome(outcome), Told: flags&EventSpan != 0, RetryAfter: span, HasUsed: flags&EventUsed != 0, Used: binary.LittleEndian.Uint32(src[36:])})
	case OpCancel:
		live = d.Cancel(call)
	case OpRenew:
		live = d.Renew(call, attempt)
	}
	m.batch = append(m.batch, call)
	if !live {
		m.decided(d, event)
		m.Decisions = append(m.Decisions, Decision{At: d.Now(), Slot: call.Slot(), Generation: call.Generation(), Event: event, Kind: StaleKind, Step: NoStep})
	}
	return used, 0
}
