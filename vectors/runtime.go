package vectors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/wasm/abi"
)

// Instance is a module that implements the wasm module's ABI, wherever it runs.
// Views are valid until the next call.
type Instance interface {
	// Call calls an export. Parameters are bits: of an f64 the bits of math.Float64bits.
	Call(export string, parameters ...uint64) (int32, error)
	// Slots returns a view of the slots.
	Slots() []byte
	// Buffer returns a view of size bytes of the buffer.
	Buffer(size uint32) []byte
	// Records returns a view of size bytes of the records.
	Records(size uint32) []byte
}

// Offsets of slots, and sizes.
const (
	slotExact      = unsafe.Offsetof(abi.Slots{}.Exact)
	slotSize       = unsafe.Offsetof(abi.Slots{}.Size)
	slotCount      = unsafe.Offsetof(abi.Slots{}.Count)
	slotRecords    = unsafe.Offsetof(abi.Slots{}.Records)
	slotBuffer     = unsafe.Offsetof(abi.Slots{}.Buffer)
	slotNow        = unsafe.Offsetof(abi.Slots{}.Now)
	slotSpan       = unsafe.Offsetof(abi.Slots{}.Span)
	slotSlot       = unsafe.Offsetof(abi.Slots{}.Slot)
	slotGeneration = unsafe.Offsetof(abi.Slots{}.Generation)
	slotKeys       = unsafe.Offsetof(abi.Slots{}.Keys)
	slotPriced     = unsafe.Offsetof(abi.Slots{}.Priced)
	slotCosts      = unsafe.Offsetof(abi.Slots{}.Costs)
	slotSpent      = unsafe.Offsetof(abi.Slots{}.Spent)
	slotUsed       = unsafe.Offsetof(abi.Slots{}.Used)
	slotApplies    = unsafe.Offsetof(abi.Slots{}.Applies)
	slotDecides    = unsafe.Offsetof(abi.Slots{}.Decides)
	slotsSize      = uint32(unsafe.Sizeof(abi.Slots{}))
	recordSize     = uint32(unsafe.Sizeof(abi.Decision{}))
)

// player plays steps on an instance.
type player struct {
	i      Instance
	digest digest
}

var nan = math.Float64bits(math.NaN())

// failed is the error of a call.
func (p *player) failed(export string, code int32) error {
	text := ""
	if size := binary.LittleEndian.Uint32(p.i.Slots()[slotSize:]); size > 0 {
		text = string(p.i.Buffer(size))
	}
	return fmt.Errorf("%s: %d: %s", export, code, text)
}

// call calls an export that must not fail.
func (p *player) call(export string, parameters ...uint64) (uint32, error) {
	code, err := p.i.Call(export, parameters...)
	if err == nil && code < 0 {
		err = p.failed(export, code)
	}
	return uint32(code), err
}

// write puts bytes into the buffer.
func (p *player) write(src []byte) error {
	if _, err := p.call("buffer", uint64(len(src))); err != nil {
		return err
	}
	copy(p.i.Buffer(uint32(len(src))), src)
	return nil
}

func (p *player) left() []byte {
	return p.i.Buffer(binary.LittleEndian.Uint32(p.i.Slots()[slotSize:]))
}

// compile returns the plan of a policy.
func (p *player) compile(body []byte) (uint32, error) {
	if err := p.write(body); err != nil {
		return 0, err
	}
	return p.call("body", uint64(len(body)))
}

// Replay plays all suites on an instance. The error is a Difference where the instance comes to
// other bytes, or the error of the instance.
func (f *File) Replay(i Instance) error {
	for n := range f.Suites {
		s := &f.Suites[n]
		if err := s.said(); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		digests, err := s.play(i)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		for k, d := range digests {
			if k >= len(s.Digests) || d != s.Digests[k] {
				return &Difference{Suite: s.Name, From: k * stride, To: min((k+1)*stride, s.Count)}
			}
		}
		if len(digests) != len(s.Digests) {
			return fmt.Errorf("%s: %w: %d digests, %d steps", s.Name, errFormat, len(s.Digests), s.Count)
		}
	}
	return nil
}

// Difference says between which steps a runtime first came to other bytes.
type Difference struct {
	Suite    string
	From, To int
}

// Error implements error.
func (d *Difference) Error() string {
	return fmt.Sprintf("%s: steps %d to %d came to other bytes", d.Suite, d.From, d.To)
}

// play plays a suite and returns its digests.
func (s *Suite) play(i Instance) ([]uint32, error) {
	p := &player{i: i, digest: seed}
	if s.Pipeline {
		return p.events(s)
	}
	return p.steps(s)
}

// step is a step of a cell.
type step struct {
	kind, flags, outcome uint8
	delta                int64
	cost                 uint32
	ref                  int
	permit               []byte
	before, value        uint64
	deadline             int64
	priority             uint8
}

func (r *reader) step() (s step) {
	s.kind, s.flags, s.cost = r.u8(), r.u8(), 1
	s.delta = r.signed()
	if s.flags&hasCost != 0 {
		s.cost = uint32(r.varint())
	}
	if s.flags&hasOutcome != 0 {
		s.outcome = r.u8()
	}
	if s.flags&hasRef != 0 {
		s.ref = int(r.varint())
	}
	if s.flags&hasPermit != 0 {
		s.permit = r.bytes(24)
	}
	if s.flags&hasBefore != 0 {
		s.before = r.varint()
	}
	if s.flags&hasValue != 0 {
		s.value = r.varint()
	}
	if s.flags&hasDeadline != 0 {
		s.deadline = r.signed()
	}
	if s.flags&hasPriority != 0 {
		s.priority = r.u8()
	}
	return s
}

func (s *step) append(dst []byte) []byte {
	dst = binary.AppendVarint(append(dst, s.kind, s.flags), s.delta)
	if s.flags&hasCost != 0 {
		dst = binary.AppendUvarint(dst, uint64(s.cost))
	}
	if s.flags&hasOutcome != 0 {
		dst = append(dst, s.outcome)
	}
	if s.flags&hasRef != 0 {
		dst = binary.AppendUvarint(dst, uint64(s.ref))
	}
	if s.flags&hasPermit != 0 {
		dst = append(dst, s.permit...)
	}
	if s.flags&hasBefore != 0 {
		dst = binary.AppendUvarint(dst, s.before)
	}
	if s.flags&hasValue != 0 {
		dst = binary.AppendUvarint(dst, s.value)
	}
	if s.flags&hasDeadline != 0 {
		dst = binary.AppendVarint(dst, s.deadline)
	}
	if s.flags&hasPriority != 0 {
		dst = append(dst, s.priority)
	}
	return dst
}

var errReference = errors.New("a step names a permit or a call that does not exist")

// cellPlayer plays steps of one cell.
type cellPlayer struct {
	*player
	maker uint32
	mark  int64
	n     uint64
	state []byte
	seen  [][24]byte
}

// take plays a step and returns what reduce left.
func (c *cellPlayer) take(s *step) ([]byte, error) {
	c.mark += s.delta
	in := binary.LittleEndian.AppendUint64(nil, uint64(c.mark))
	bits := uint8(0)
	if s.flags&hasDeadline != 0 {
		bits = 1
	}
	in = append(in, s.kind, s.outcome, s.priority, bits)
	in = binary.LittleEndian.AppendUint32(in, s.cost)
	var permit [24]byte
	binary.LittleEndian.PutUint64(permit[8:], c.n)
	if s.flags&hasRef != 0 {
		if s.ref < 1 || s.ref > len(c.seen) {
			return nil, errReference
		}
		permit = c.seen[len(c.seen)-s.ref]
	}
	if s.flags&hasPermit != 0 {
		copy(permit[:], s.permit)
	}
	if s.flags&hasBefore != 0 {
		binary.LittleEndian.PutUint64(permit[16:], uint64(c.mark)-s.before)
	}
	if s.flags&hasDeadline != 0 {
		binary.LittleEndian.PutUint64(permit[16:], uint64(c.mark+s.deadline))
	}
	in = binary.LittleEndian.AppendUint64(append(in, permit[:]...), s.value)
	in = append(in, c.state...)
	if err := c.write(in); err != nil {
		return nil, err
	}
	if _, err := c.call("reduce", uint64(c.maker), uint64(len(in))); err != nil {
		return nil, err
	}
	left := c.left()
	r := reader{rest: left}
	c.state = append(c.state[:0], r.bytes(int(r.u32()))...)
	const admit, wait, grant = 2, 4, 1
	answer := r.bytes(32)
	if r.err == nil && (answer[0] == admit || answer[0] == wait) {
		c.seen = append(c.seen, [24]byte(answer[8:]))
	}
	for range r.u32() {
		other := r.bytes(40)
		if r.err != nil {
			break
		}
		if other[0] == grant {
			c.seen = append(c.seen, [24]byte(other[16:]))
		}
	}
	c.n++
	return left, r.err
}

func (p *player) cell(s *Suite) (*cellPlayer, error) {
	plan, err := p.compile(s.Policies[0])
	if err != nil {
		return nil, err
	}
	maker, err := p.call("maker", uint64(plan), uint64(s.Step))
	return &cellPlayer{player: p, maker: maker}, err
}

func (p *player) steps(s *Suite) (digests []uint32, err error) {
	c, err := p.cell(s)
	if err != nil {
		return nil, err
	}
	r := reader{rest: s.Steps}
	for n := range s.Count {
		step := r.step()
		if r.err != nil {
			return nil, r.err
		}
		left, err := c.take(&step)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", n, err)
		}
		p.digest.add(left)
		if (n+1)%stride == 0 || n+1 == s.Count {
			digests = append(digests, uint32(p.digest))
		}
	}
	return digests, nil
}

// event is one of a pipeline.
type event struct {
	op, flags, outcome, key, attempt uint8
	of                               uint8 // the pipeline
	delta, span                      int64
	cost, used                       uint32
	ref, set                         int
}

// event reads an event, of one of several pipelines where some are joined.
func (r *reader) event(joined bool) (e event) {
	e.op, e.flags, e.cost = r.u8(), r.u8(), 1
	e.delta = r.signed()
	if joined {
		e.of = r.u8()
	}
	if e.flags&hasCost != 0 {
		e.cost = uint32(r.varint())
	}
	if e.flags&hasOutcome != 0 {
		e.outcome = r.u8()
	}
	if e.flags&hasSpan != 0 {
		e.span = r.signed()
	}
	if e.flags&hasKey != 0 {
		e.key = r.u8()
	}
	if e.flags&hasAttempt != 0 {
		e.attempt = r.u8()
	}
	switch {
	case e.op == opBegin && e.flags&hasSet != 0:
		e.set = int(r.varint())
	case e.op == opDone && e.flags&hasUsed != 0:
		e.used = uint32(r.varint())
	}
	if e.op >= opDone {
		e.ref = int(r.varint())
	}
	return e
}

func (e *event) append(dst []byte, joined bool) []byte {
	dst = binary.AppendVarint(append(dst, e.op, e.flags), e.delta)
	if joined {
		dst = append(dst, e.of)
	}
	if e.flags&hasCost != 0 {
		dst = binary.AppendUvarint(dst, uint64(e.cost))
	}
	if e.flags&hasOutcome != 0 {
		dst = append(dst, e.outcome)
	}
	if e.flags&hasSpan != 0 {
		dst = binary.AppendVarint(dst, e.span)
	}
	if e.flags&hasKey != 0 {
		dst = append(dst, e.key)
	}
	if e.flags&hasAttempt != 0 {
		dst = append(dst, e.attempt)
	}
	switch {
	case e.op == opBegin && e.flags&hasSet != 0:
		dst = binary.AppendUvarint(dst, uint64(e.set))
	case e.op == opDone && e.flags&hasUsed != 0:
		dst = binary.AppendUvarint(dst, uint64(e.used))
	}
	if e.op >= opDone {
		dst = binary.AppendUvarint(dst, uint64(e.ref))
	}
	return dst
}

// eventPlayer plays events of pipelines, of which those behind the first one are joined
// to it.
type eventPlayer struct {
	*player
	suite     *Suite
	plans     []uint32
	pipelines []played
	mark      int64
	calls     [][2]uint32
}

// played is a pipeline.
type played struct {
	handle uint32
	plan   int // index of the active one
}

func (p *player) pipeline(s *Suite) (*eventPlayer, error) {
	e := &eventPlayer{player: p, suite: s}
	for _, body := range s.Policies {
		plan, err := p.compile(body)
		if err != nil {
			return nil, err
		}
		e.plans = append(e.plans, plan)
	}
	if len(e.plans) <= int(s.Joined) {
		return nil, errReference
	}
	first, err := p.call("pipeline", uint64(e.plans[0]), s.Seed&(1<<32-1), s.Seed>>32)
	e.pipelines = append(e.pipelines, played{handle: first})
	for n := 1; n <= int(s.Joined) && err == nil; n++ {
		e.pipelines = append(e.pipelines, played{plan: n})
		err = e.join(n, 0)
	}
	if s.Joined > 0 && err == nil {
		_, err = p.call("observe", uint64(first), 1)
	}
	return e, err
}

// join makes pipeline n, beside another one.
func (p *eventPlayer) join(n, beside int) (err error) {
	is := &p.pipelines[n]
	is.handle, err = p.call("join", uint64(p.pipelines[beside].handle), uint64(p.plans[is.plan]), uint64(uint32(p.suite.Seed)+uint32(n)), p.suite.Seed>>32)
	return err
}

// take plays an event and returns the code and the records.
func (p *eventPlayer) take(e *event) (int32, []byte, error) {
	p.mark += e.delta
	slots := p.i.Slots()
	put := func(slot uintptr, word uint32) { binary.LittleEndian.PutUint32(slots[slot:], word) }
	exact := uint32(1)
	binary.LittleEndian.PutUint64(slots[slotNow:], uint64(p.mark))
	if e.flags&hasSpan != 0 {
		exact = 3
		binary.LittleEndian.PutUint64(slots[slotSpan:], uint64(e.span))
	}
	put(slotExact, exact)
	key := uint32(e.key)
	if e.flags&lacksKey != 0 {
		key |= abi.KeyMissing
	}
	for i := range uintptr(pipeline.MaxSteps) {
		put(slotKeys+4*i, key)
	}
	if int(e.of) >= len(p.pipelines) || (e.op == opConfigure || e.op == opJoin) && e.ref >= len(p.plans) || e.op == opJoin && len(p.pipelines) == 1 {
		return 0, nil, errReference
	}
	of := &p.pipelines[e.of]
	var call [2]uint32
	if e.op == opDone || e.op == opCancel || e.op == opRenew {
		if e.ref < 1 || e.ref > len(p.calls) {
			return 0, nil, errReference
		}
		call = p.calls[len(p.calls)-e.ref]
	}
	handle, slot, generation, attempt := uint64(of.handle), uint64(call[0]), uint64(call[1]), uint64(e.attempt)
	var code int32
	var err error
	switch e.op {
	case opAdvance:
		code, err = p.i.Call("advance", handle, nan)
	case opBegin:
		if e.flags&hasSet != 0 {
			if e.set >= len(p.suite.Sets) {
				return 0, nil, errReference
			}
			said := &p.suite.Sets[e.set].Says[of.plan]
			put(slotApplies, said.Applies)
			put(slotDecides, said.Decides)
			put(slotPriced, said.Priced)
			for n, left := 0, said.Priced; left != 0; n, left = n+1, left&(left-1) {
				put(slotCosts+4*uintptr(bits.TrailingZeros32(left)), said.Costs[n])
			}
		}
		code, err = p.i.Call("begin", handle, uint64(e.cost), uint64(e.flags&noHedge/noHedge), nan, nan)
		slots = p.i.Slots()
		p.calls = append(p.calls, [2]uint32{binary.LittleEndian.Uint32(slots[slotSlot:]), binary.LittleEndian.Uint32(slots[slotGeneration:])})
	case opDone:
		if e.flags&hasUsed != 0 {
			put(slotSpent, 1)
			put(slotUsed, e.used)
		}
		code, err = p.i.Call("done", handle, slot, generation, attempt, uint64(e.outcome), nan, nan)
	case opCancel:
		code, err = p.i.Call("cancel", handle, slot, generation, nan)
	case opRenew:
		code, err = p.i.Call("renew", handle, slot, generation, attempt, nan)
	case opConfigure:
		of.plan = e.ref
		code, err = p.i.Call("configure", handle, uint64(p.plans[e.ref]), nan)
	case opJoin:
		if code, err = p.i.Call("free", handle); err == nil && code >= 0 {
			of.plan = e.ref
			return code, nil, p.join(int(e.of), (int(e.of)+1)%len(p.pipelines))
		}
	default:
		err = errFormat
	}
	if err == nil && code < 0 && code != abi.Stale {
		err = p.failed("an event", code)
	}
	if err != nil {
		return 0, nil, err
	}
	return code, p.i.Records(recordSize * binary.LittleEndian.Uint32(p.i.Slots()[slotCount:])), nil
}

// states adds the states of all cells to the digest.
func (p *eventPlayer) states() error {
	for i := range p.pipelines {
		of := &p.pipelines[i]
		for step := uint64(0); ; step++ {
			size, err := p.call("describe", uint64(p.plans[of.plan]), step)
			if err != nil {
				return err
			}
			if size == 0 {
				break
			}
			for key := range uint64(4) {
				size, err := p.call("save", uint64(of.handle), step, key)
				if err != nil {
					return err
				}
				p.digest.u32(size)
				p.digest.add(p.i.Buffer(size))
			}
		}
	}
	return nil
}

func (p *player) events(s *Suite) (digests []uint32, err error) {
	e, err := p.pipeline(s)
	if err != nil {
		return nil, err
	}
	r := reader{rest: s.Steps}
	for n := range s.Count {
		event := r.event(s.Joined > 0)
		if r.err != nil {
			return nil, r.err
		}
		code, records, err := e.take(&event)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", n, err)
		}
		p.digest.u32(uint32(code))
		p.digest.add(records)
		if (n+1)%stride == 0 || n+1 == s.Count {
			if err := e.states(); err != nil {
				return nil, err
			}
			digests = append(digests, uint32(p.digest))
		}
	}
	return digests, nil
}
