package host

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/abi"
)

// Pipeline runs the calls of a policy and the cells of its steps, as a
// drive.Driver does. The events bring the time: before an event at a mark,
// everything that is due at or before it happens. A mark before the last one counts
// as the last one.
//
// Methods with dst append to it what was decided, of any call, and return it.
type Pipeline struct {
	object
	*loop
	plan    *Plan
	moved   bool     // by Handover
	one     [1]Event // of the methods that are batches of one
	encoded []byte
}

// loop is what pipelines that are joined have in common.
type loop struct {
	pipelines []*Pipeline // by the number that decisions have
	// calls has, for each slot of a call, whose it is or was last.
	calls []begun
	wake  clock.Mark
	keys  keyring
	// kept is what was decided by a method that returns no decisions, for the next one that
	// does.
	kept []decision.Decision
}

// begun is a call, its pipeline and the plan under which it began.
type begun struct {
	generation uint32
	owner      *Pipeline
	plan       *Plan
}

// Request is what a call brings with it.
type Request struct {
	// Cost in permits; 0 passes every limiter and takes nothing.
	Cost uint32
	// Deadline after which the call is cut, as by an outermost timeout step.
	// Negative for none; 0 cuts it where it begins.
	Deadline time.Duration
	// Lookup returns the value of an attribute that a step has in its `per` or its `cost`,
	// empty for what is missing, as everything is without a Lookup. It must not
	// call the module.
	Lookup func(attribute string) string
	// NoHedge says that no attempt of the call may start beside another, as is
	// needed where the call must not be made twice.
	NoHedge bool
}

// Result is how an attempt ended.
type Result struct {
	// Attempt is the number of the attempt, 0 for the lowest one that runs.
	Attempt uint32
	// Outcome is OK, Fail, Throttle or Ignore.
	Outcome reducer.Outcome
	// Told says that the answer named RetryAfter, before which there is no
	// retry; negative when it said not to retry.
	Told       bool
	RetryAfter time.Duration
	// HasUsed says that Used holds: what the attempt has used, for limits that settle.
	HasUsed bool
	Used    uint32
}

// Pipeline makes the driver of a plan, at mark 0. The seed is the seed of all jitter.
func (m *Module) Pipeline(plan *Plan, seed uint64) (*Pipeline, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if plan.m != m {
		return nil, errOther
	}
	made, err := m.put(m.call(pipelineOf, uint64(plan.handle), seed&(1<<32-1), seed>>32))
	return added(&loop{wake: clock.Never}, made, plan, err)
}

// Join makes the driver of another plan beside p: steps of both that use one mechanism of
// their documents share its cells, and the one that is configured last configures them. Both
// have the same time, handles of calls and decisions: a method of one of them also returns what
// it decides about calls of the other, and what ends, cancels or renews a call takes it by
// either. The NextWake of one is the NextWake of all, and one Advance is enough.
func (p *Pipeline) Join(plan *Plan, seed uint64) (*Pipeline, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	switch {
	case plan.m != p.m:
		return nil, errOther
	case p.moved:
		return nil, errMoved
	}
	made, err := p.m.put(p.m.call(joinOf, uint64(p.handle), uint64(plan.handle), seed&(1<<32-1), seed>>32))
	if err != nil {
		return nil, err
	}
	// The cells may have other settings now, by which something is due.
	if err := p.aside(advance, uint64(p.handle), nan); err != nil {
		return nil, err
	}
	return added(p.loop, made, plan, nil)
}

// aside calls an export at the last mark, and keeps what it decides for the next method that
// returns decisions.
func (p *Pipeline) aside(e export, args ...uint64) error {
	memory, err := p.m.memory()
	if err != nil {
		return err
	}
	p.m.at(memory, clock.Always) // a mark before the last one counts as the last one
	code, err := p.m.raw(e, args...)
	switch {
	case err != nil:
		return err
	case int32(code) < 0 && int32(code) != abi.Stale:
		return p.m.wrong(code)
	}
	p.kept, err = p.decisions(nil, nil)
	return err
}

// added returns the pipeline of an object that the module has made.
func added(l *loop, made object, plan *Plan, err error) (*Pipeline, error) {
	if err != nil {
		return nil, err
	}
	p := &Pipeline{object: made, loop: l, plan: plan}
	l.pipelines = append(l.pipelines, p)
	return p, nil
}

// Close forgets the pipeline in the module; what is done with it later is an error. Where
// others are joined to it, its calls are cancelled first; what that decides, the next method
// of the others returns before its own decisions.
func (p *Pipeline) Close() error {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if len(p.pipelines) > 1 && p.m.lost == nil {
		if err := p.cancelAll(); err != nil {
			return err
		}
	}
	if err := p.m.free(&p.object); err != nil {
		return err
	}
	p.pipelines = slices.DeleteFunc(p.pipelines, func(other *Pipeline) bool { return other == p })
	return nil
}

// cancelAll cancels the calls of p.
func (p *Pipeline) cancelAll() error {
	for slot := range p.calls {
		if c := &p.calls[slot]; c.owner == p {
			if err := p.aside(cancel, uint64(p.handle), uint64(slot), uint64(c.generation), nan); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	errOther = &Error{Code: abi.BadHandle, Text: "the object belongs to another module"}
	errMoved = &Error{Code: abi.BadArgument, Text: "the pipeline was handed over"}
)

// Begin starts a call and returns its handle.
func (p *Pipeline) Begin(dst []decision.Decision, r Request, now clock.Mark) (decision.Handle, []decision.Decision, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.one[0] = Event{Op: Begin, At: now, Request: r}
	dst, err := p.happen(dst)
	p.one[0].Request.Lookup = nil // what the caller has there may be large
	return p.one[0].Call, dst, err
}

// Done ends the running attempt of a call that the result names. The error is
// ErrStale when it does not run.
func (p *Pipeline) Done(dst []decision.Decision, call decision.Handle, r Result, now clock.Mark) ([]decision.Decision, error) {
	return p.single(dst, Event{Op: Done, At: now, Call: call, Result: r})
}

// Cancel gives a call up, whatever it is doing. The error is ErrStale when the
// call is over.
func (p *Pipeline) Cancel(dst []decision.Decision, call decision.Handle, now clock.Mark) ([]decision.Decision, error) {
	return p.single(dst, Event{Op: Cancel, At: now, Call: call})
}

// Renew extends the leases that a running attempt holds, the lowest one that runs
// for number 0. The error is ErrStale when it does not run.
func (p *Pipeline) Renew(dst []decision.Decision, call decision.Handle, attempt uint32, now clock.Mark) ([]decision.Decision, error) {
	return p.single(dst, Event{Op: Renew, At: now, Call: call, Result: Result{Attempt: attempt}})
}

// Advance lets time pass. A host with a timer calls it at NextWake.
func (p *Pipeline) Advance(dst []decision.Decision, now clock.Mark) ([]decision.Decision, error) {
	return p.single(dst, Event{Op: Tick, At: now})
}

// single lets one event happen.
func (p *Pipeline) single(dst []decision.Decision, e Event) ([]decision.Decision, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.one[0] = e
	dst, err := p.happen(dst)
	if err == nil && p.one[0].Stale {
		err = ErrStale
	}
	return dst, err
}

// happen lets the one event happen: as a batch of one, or by an export of its own,
// which takes a tenth less time where parameters cost nothing.
func (p *Pipeline) happen(dst []decision.Decision) ([]decision.Decision, error) {
	e := &p.one[0]
	if p.m.batches {
		return p.batch(dst, p.one[:])
	}
	p.keys.batch++
	keys, said, wrong := p.check(e)
	if wrong != nil {
		return dst, wrong
	}
	m := p.m
	memory, err := m.memory()
	if err != nil {
		return dst, err
	}
	m.at(memory, e.At)
	slot, generation := uint64(e.Call.Slot()), uint64(e.Call.Generation())
	var code uint32
	switch e.Op {
	case Tick:
		code, err = m.raw(advance, uint64(p.handle), nan)
	case Begin:
		code, err = p.begin(memory, &e.Request, &keys, &said)
	case Done:
		if e.Result.Told {
			m.by(memory, e.Result.RetryAfter)
		}
		if e.Result.HasUsed {
			binary.LittleEndian.PutUint32(memory[m.slots+atSpent:], 1)
			binary.LittleEndian.PutUint32(memory[m.slots+atUsed:], e.Result.Used)
		}
		code, err = m.raw(done, uint64(p.handle), slot, generation, uint64(e.Result.Attempt), uint64(e.Result.Outcome), nan, nan)
	case Cancel:
		code, err = m.raw(cancel, uint64(p.handle), slot, generation, nan)
	case Renew:
		code, err = m.raw(renew, uint64(p.handle), slot, generation, uint64(e.Result.Attempt), nan)
	}
	if err != nil {
		return dst, err
	}
	if e.Stale = int32(code) == abi.Stale; int32(code) < 0 && !e.Stale {
		return dst, p.refused(code)
	}
	return p.decisions(dst, p.one[:])
}

func (p *Pipeline) begin(memory []byte, r *Request, keys *[pipeline.MaxSteps]uint32, said *said) (uint32, error) {
	if r.Deadline >= 0 {
		p.m.by(memory, r.Deadline)
	}
	if p.plan.shape.Keyed() != 0 {
		for i, key := range keys {
			binary.LittleEndian.PutUint32(memory[p.m.slots+atKeys+uint32(4*i):], key)
		}
	}
	if p.plan.shape.Conditional() {
		applies, decides := abi.WordsOf(&said.conditions)
		binary.LittleEndian.PutUint32(memory[p.m.slots+atApplies:], applies)
		binary.LittleEndian.PutUint32(memory[p.m.slots+atDecides:], decides)
	}
	if said.costs.Known != 0 {
		binary.LittleEndian.PutUint32(memory[p.m.slots+atPriced:], uint32(said.costs.Known))
		for i, cost := range said.costs.Of {
			binary.LittleEndian.PutUint32(memory[p.m.slots+atCosts+uint32(4*i):], cost)
		}
	}
	flags := uint64(0)
	if r.NoHedge {
		flags = abi.BeginNoHedge
	}
	return p.m.raw(begin, uint64(p.handle), uint64(r.Cost), flags, nan, nan)
}

// Configure replaces the active plan. Calls that began before keep theirs;
// cells are matched by the names of their steps and keep their state as each
// mechanism says.
func (p *Pipeline) Configure(dst []decision.Decision, plan *Plan, now clock.Mark) ([]decision.Decision, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if plan.m != p.m {
		return dst, errOther
	}
	memory, err := p.m.memory()
	if err != nil {
		return dst, err
	}
	p.m.at(memory, now)
	if _, err := p.m.call(configure, uint64(p.handle), uint64(plan.handle), nan); err != nil {
		return dst, err
	}
	p.plan = plan
	return p.decisions(dst, nil)
}

// NextWake returns the mark at which Advance next has something to do if nothing
// else happens, clock.Never for none.
func (p *Pipeline) NextWake() clock.Mark {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.wake
}

// Plan returns the active plan.
func (p *Pipeline) Plan() *Plan {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.plan
}

// Save appends the stable binary form of the state of a step's cell, by the
// index of the step and, for one with `per`, the attributes. It appends nothing
// where there is no such cell yet.
func (p *Pipeline) Save(dst []byte, step int, lookup func(attribute string) string) ([]byte, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.save(dst, step, p.key(step, lookup))
}

func (p *Pipeline) save(dst []byte, step int, key uint32) ([]byte, error) {
	size, err := p.m.call(save, uint64(p.handle), uint64(uint32(step)), uint64(key))
	if err != nil || size == 0 {
		return dst, err
	}
	text, err := p.m.left()
	return append(dst, text...), err
}

// Load gives a step's cell the state that Save appended, here or in another
// process: its marks are shifted by by, and its waiters and holders are dropped. On an
// error only the time has changed. Load no cell at which calls of this pipeline wait or
// hold something.
func (p *Pipeline) Load(dst []decision.Decision, step int, lookup func(attribute string) string, src []byte, by time.Duration, now clock.Mark) ([]decision.Decision, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.load(dst, step, p.key(step, lookup), src, by, now)
}

func (p *Pipeline) load(dst []decision.Decision, step int, key uint32, src []byte, by time.Duration, now clock.Mark) ([]decision.Decision, error) {
	room, memory, err := p.m.makeRoom(len(src))
	if err != nil {
		return dst, err
	}
	copy(room, src)
	p.m.at(memory, now)
	p.m.by(memory, by)
	if _, err := p.m.call(load, uint64(p.handle), uint64(uint32(step)), uint64(key), uint64(len(src)), nan, nan); err != nil {
		return dst, err
	}
	return p.decisions(dst, nil)
}

// key returns the number of the key of a step for attributes.
func (p *Pipeline) key(step int, lookup func(string) string) uint32 {
	if lookup == nil || step < 0 || step >= pipeline.MaxSteps {
		return 0
	}
	return p.number(lookup)[step]
}
