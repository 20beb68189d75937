package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/abi"
)

// Op is what an Event is.
type Op uint8

// The operations.
const (
	// Tick lets time pass.
	Tick Op = abi.OpTick
	// Begin starts a call.
	Begin Op = abi.OpBegin
	// Done ends a running attempt of a call.
	Done Op = abi.OpDone
	// Cancel cancels a call.
	Cancel Op = abi.OpCancel
	// Renew extends the leases of a running attempt, by Result.Attempt.
	Renew Op = abi.OpRenew
)

// Event is one of a Batch.
type Event struct {
	Op Op
	// At is the mark of the event.
	At clock.Mark
	// Request of a Begin.
	Request Request
	// Result of a Done; of a Renew its Attempt.
	Result Result
	// Call that is done, cancelled or renewed. Batch fills in the call of a Begin.
	Call decision.Handle
	// Of, where it is not 0, names the call in place of Call: the call of the Begin which is
	// event Of-1 of the same batch.
	Of int

	// Stale is filled in: the event found no such call, or not running, and did
	// nothing.
	Stale bool
	// Decisions is filled in: how many of the decisions are of this event or of
	// what was due before it. They are in the order of the events.
	Decisions int
}

// Batch applies events, one after another, in one call of the module, which is
// useful where such a call is expensive. It appends the decisions to dst and fills
// in the results of each event. On an *Error nothing has happened.
func (p *Pipeline) Batch(dst []decision.Decision, events []Event) ([]decision.Decision, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.batch(dst, events)
}

func (p *Pipeline) batch(dst []decision.Decision, events []Event) ([]decision.Decision, error) {
	if len(events) == 0 {
		return dst, nil
	}
	p.encoded = p.encoded[:0]
	p.keys.batch++
	for i := range events {
		if err := p.encode(events, i); err != nil {
			return dst, err
		}
	}
	room, _, err := p.m.makeRoom(len(p.encoded))
	if err != nil {
		return dst, err
	}
	copy(room, p.encoded)
	code, err := p.m.raw(batch, uint64(p.handle), uint64(len(p.encoded)))
	if err != nil {
		return dst, err
	}
	if int32(code) < 0 {
		return dst, p.refused(code)
	}
	return p.decisions(dst, events)
}

// refused returns the error of events that the module refused. They are right, so that
// only a handle can be wrong, or the memory has reached its limit.
func (p *Pipeline) refused(code uint32) error {
	err := p.m.wrong(code)
	var wrong *Error
	if errors.As(err, &wrong) && wrong.Code != abi.BadHandle && wrong.Code != abi.NoMemory {
		return p.m.broken(errors.New("it refused events that are right: " + wrong.Text))
	}
	return err
}

// encode appends event i, or says what is wrong with it.
func (p *Pipeline) encode(events []Event, i int) error {
	e := &events[i]
	e.Stale, e.Decisions = false, 0
	wrong := func(text string) error {
		if len(events) > 1 {
			text = fmt.Sprintf("events[%d]: %s", i, text)
		}
		return &Error{Code: abi.BadArgument, Text: text}
	}
	var outcome reducer.Outcome
	var flags uint8
	var cost, slot, generation, used uint32
	var span time.Duration
	keys, said, err := p.check(e)
	if err != nil {
		return wrong(err.Text)
	}
	switch e.Op {
	case Tick:
	case Begin:
		cost = e.Request.Cost
		if span = e.Request.Deadline; span >= 0 {
			flags |= abi.EventSpan
		}
		if e.Request.NoHedge {
			flags |= abi.EventNoHedge
		}
		if keys != [pipeline.MaxSteps]uint32{} {
			flags |= abi.EventKeys
		}
		if said.costs.Known != 0 {
			flags |= abi.EventCosts
		}
		if p.plan.shape.Conditional() {
			flags |= abi.EventApplies
		}
	case Done, Cancel, Renew:
		slot, generation = e.Call.Slot(), e.Call.Generation()
		if e.Of != 0 {
			if e.Of < 0 || e.Of > i || events[e.Of-1].Op != Begin {
				return wrong("it names an event that is no begin before it")
			}
			flags |= abi.EventOf
			slot, generation = uint32(e.Of-1), 0
		}
		if e.Op != Done {
			break
		}
		outcome = e.Result.Outcome
		if e.Result.Told {
			span = e.Result.RetryAfter
			flags |= abi.EventSpan
		}
		if e.Result.HasUsed {
			used = e.Result.Used
			flags |= abi.EventUsed
		}
	default:
		return wrong("no such operation")
	}
	b := append(p.encoded, uint8(e.Op), uint8(outcome), flags, 0)
	b = binary.LittleEndian.AppendUint32(b, cost)
	b = binary.LittleEndian.AppendUint32(b, slot)
	b = binary.LittleEndian.AppendUint32(b, generation)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.At))
	b = binary.LittleEndian.AppendUint64(b, uint64(span))
	b = binary.LittleEndian.AppendUint32(b, e.Result.Attempt)
	b = binary.LittleEndian.AppendUint32(b, used)
	if flags&abi.EventKeys != 0 {
		for _, key := range keys {
			b = binary.LittleEndian.AppendUint32(b, key)
		}
	}
	if flags&abi.EventCosts != 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(said.costs.Known))
		for _, cost := range said.costs.Of {
			b = binary.LittleEndian.AppendUint32(b, cost)
		}
	}
	if flags&abi.EventApplies != 0 {
		applies, decides := abi.WordsOf(&said.conditions)
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, applies), decides)
	}
	p.encoded = b
	return nil
}

// nothing is the lookup of a call without attributes.
func nothing(string) string { return "" }

// said is what the attributes of an event say beside its keys.
type said struct {
	costs      pipeline.Costs
	conditions pipeline.Conditions
}

// check returns the numbers of the keys of an event and what its attributes say, or what is
// wrong with it.
func (p *Pipeline) check(e *Event) (keys [pipeline.MaxSteps]uint32, says said, err *Error) {
	switch e.Op {
	case Begin:
		if p.moved {
			return keys, says, errMoved
		}
		e.Call = decision.Handle{}
		lookup := e.Request.Lookup
		if lookup != nil {
			keys, says.costs = p.number(lookup), p.plan.shape.CostsBy(lookup)
		} else {
			lookup = nothing
		}
		says.conditions = p.plan.shape.ConditionsBy(lookup)
		for _, key := range keys {
			if key&^abi.KeyMissing > abi.MaxKey {
				return keys, says, errKeys
			}
		}
	case Done:
		if e.Result.Outcome < reducer.OK || e.Result.Outcome > reducer.Ignore {
			return keys, says, &Error{Code: abi.BadArgument, Text: "an attempt ends with OK, Fail, Throttle or Ignore"}
		}
	}
	return keys, says, nil
}

// The offsets of what a record of a decision has.
const (
	ofAt         = unsafe.Offsetof(abi.Decision{}.At)
	ofValue      = unsafe.Offsetof(abi.Decision{}.Value)
	ofSlot       = unsafe.Offsetof(abi.Decision{}.Slot)
	ofGeneration = unsafe.Offsetof(abi.Decision{}.Generation)
	ofAttempt    = unsafe.Offsetof(abi.Decision{}.Attempt)
	ofEvent      = unsafe.Offsetof(abi.Decision{}.Event)
	ofKind       = unsafe.Offsetof(abi.Decision{}.Kind)
	ofOutcome    = unsafe.Offsetof(abi.Decision{}.Outcome)
	ofReason     = unsafe.Offsetof(abi.Decision{}.Reason)
	ofStep       = unsafe.Offsetof(abi.Decision{}.Step)
	ofFlags      = unsafe.Offsetof(abi.Decision{}.Flags)
	ofPolicy     = unsafe.Offsetof(abi.Decision{}.Policy)
	recordSize   = unsafe.Sizeof(abi.Decision{})
)

// decisions appends the decisions of the last call and fills in its events. What was
// kept comes first.
func (p *Pipeline) decisions(dst []decision.Decision, events []Event) ([]decision.Decision, error) {
	if n := len(p.kept); n > 0 {
		dst, p.kept = append(dst, p.kept...), nil
		if events != nil {
			events[0].Decisions += n
		}
	}
	memory, err := p.m.memory()
	if err != nil {
		return dst, err
	}
	p.wake = clock.Mark(p.m.read64(memory, atWake))
	count := p.m.read32(memory, atCount)
	if count == 0 {
		return dst, nil
	}
	records, err := p.m.part(memory, p.m.read32(memory, atRecords), uint64(count)*uint64(recordSize))
	for ; len(records) > 0 && err == nil; records = records[recordSize:] {
		var event *Event
		if events != nil {
			n := binary.LittleEndian.Uint32(records[ofEvent:])
			if uint64(n) >= uint64(len(events)) {
				return dst, p.m.broken(errors.New("it decided an event that is not there"))
			}
			event = &events[n]
		}
		dst, err = p.decision(dst, records, event)
	}
	return dst, err
}

// decision appends the decision of a record.
func (p *Pipeline) decision(dst []decision.Decision, record []byte, event *Event) ([]decision.Decision, error) {
	_ = record[recordSize-1]
	kind := decision.Kind(record[ofKind])
	if kind == abi.StaleKind && event != nil {
		event.Stale = true
		return dst, nil
	}
	if kind > decision.Drop && kind != decision.Inject && kind != decision.Start && kind != decision.Clamped {
		return dst, p.m.broken(errors.New("it decided something unknown"))
	}
	flags := record[ofFlags]
	d := decision.Decision{
		At: clock.Mark(binary.LittleEndian.Uint64(record[ofAt:])), Kind: kind, Index: -1,
		Shadow: flags&abi.Shadow != 0, Fallback: flags&abi.Fallback != 0, Last: flags&abi.Last != 0, Held: flags&abi.Held != 0,
		Outcome: reducer.Outcome(record[ofOutcome]), Reason: reducer.Reason(record[ofReason]),
		Attempt: binary.LittleEndian.Uint32(record[ofAttempt:]),
	}
	if kind == decision.Configured {
		if d.Policy = binary.LittleEndian.Uint16(record[ofPolicy:]); int(d.Policy) >= len(p.pipelines) {
			return dst, p.m.broken(errors.New("it configured a pipeline that is not there"))
		}
	} else {
		d.Call = decision.HandleOf(binary.LittleEndian.Uint32(record[ofSlot:]), binary.LittleEndian.Uint32(record[ofGeneration:]))
		plan := p.planOf(d.Call, event)
		if plan == nil {
			return dst, p.m.broken(errors.New("it decided about a call that did not begin"))
		}
		switch i := record[ofStep]; {
		case i == abi.Deadline:
			d.Step = pipeline.Deadline
		case i == abi.Denied:
			d.Step, d.Index = pipeline.Denial, pipeline.Denied
		case int(i) < len(plan.steps):
			d.Step, d.Index = plan.steps[i].Name, int(i)
		case i != abi.NoStep:
			return dst, p.m.broken(errors.New("it decided by a step that is not there"))
		}
	}
	value, known := int64(binary.LittleEndian.Uint64(record[ofValue:])), flags&abi.HasValue != 0
	switch kind {
	case decision.Wait, decision.Retry:
		if d.Until = clock.Never; known {
			d.Until = clock.Mark(value)
		}
	case decision.End:
		if known {
			d.Won = uint32(value)
		}
	case decision.Clamped:
		d.Dropped = uint64(value)
	case decision.Inject:
		switch d.Until, d.RetryAfter = clock.Never, -1; {
		case known && d.Outcome == 0:
			d.Until = clock.Mark(value)
		case known:
			d.RetryAfter = time.Duration(value)
		}
	case decision.Reject:
		if d.RetryAfter = -1; known {
			d.RetryAfter = time.Duration(value)
		}
	}
	if event != nil {
		event.Decisions++
	}
	return append(dst, d), nil
}

// planOf returns the plan of a call, nil for one that cannot be. The first
// decision about a call is always one of the event that begins it, and a slot
// that is not used again is the next one.
func (p *Pipeline) planOf(call decision.Handle, event *Event) *Plan {
	slot := int(call.Slot())
	if slot < len(p.calls) && p.calls[slot].generation == call.Generation() {
		return p.calls[slot].plan
	}
	if event == nil || event.Op != Begin || event.Call != (decision.Handle{}) || slot > len(p.calls) {
		return nil
	}
	if slot == len(p.calls) {
		p.calls = append(p.calls, begun{})
	}
	p.calls[slot] = begun{call.Generation(), p, p.plan}
	event.Call = call
	return p.plan
}
