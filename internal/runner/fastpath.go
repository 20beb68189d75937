package runner

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/recording"
	"github.com/sluice-go/sluice/reducer"
)

// fastPath runs two kinds of calls without a run: one that every cell admits at once and whose
// function succeeds before any deadline, and one that a step without a queue refuses. It is a
// third of the size of a run. It decides nothing: on any other event a run continues the call.
type fastPath struct {
	pipeline *Pipeline
	layout   *binding
	ctx      context.Context
	attempt  *attempt.Context
	session  *session // in place of attempt where it may be held
	traced   *recording.Call
	id       string // of the request, for events
	seed     uint64
	began    clock.Mark
	deadline clock.Mark // the caller's own
	permits  [fastPathSteps]reducer.Permit
	handles  [fastPathKeys]keyed.Handle // of the steps with keys, in order
	changes  CellEvents                 // of cells of keys
	cost     uint32                     // of the call
	entered  uint8                      // of the binding's fastSteps, those that admitted it
	held     uint8                      // of these, those that it has not left
	open     bool                       // neither over nor continued by a run
	effects  bool                       // steps of cells have effects that are not delivered
	refused  bool                       // by the step entered of fastSteps
	twoPhase bool                       // the call has no function
	holds    bool                       // the session is held
	reason   reducer.Reason             // of the refusal
	// returned is when the function returned without an error, Always before; or
	// the retry-at of a refusal.
	returned clock.Mark
}

// fastPathSteps is how many cells a call on the fast path may pass. Policies that
// have more are rare, and a larger fastPath costs every call.
const fastPathSteps = 5

// fastPathKeys is how many of them may have keys.
const fastPathKeys = 2

// fastPathStep is a step whose cell a call on the fast path asks.
type fastPathStep struct {
	cell *LockedCell // nil with keys
	keys *StepCells  // nil without keys
	slot uint8       // of fastPath.handles
	// complete is set where the step treats a call that lacks an attribute of the key
	// differently.
	complete bool
	step     int // of the plan
	// refuses is set where a call that is not admitted is refused: in shadow it
	// goes on, and with a queue, or below a retry that waits for refusals, it may wait. A cell that was configured meanwhile
	// may have a queue all the same, which TryAcquire does not use.
	refuses bool
	// exits is set where the permit is also released after a success.
	exits bool
	// timed is set where the cell takes the time that the call has, which is at most bound,
	// 0 for none.
	timed bool
	bound time.Duration
	// single is set where the call takes one place, whatever its cost.
	single bool
	// place is set where that is a place, which a call of two phases keeps from Done to
	// Release, and a session for as long as it is held.
	place bool
}

// mostVariants is how many variants of a binding are kept. A call of another one has no
// fast path: clients may choose the attributes.
const mostVariants = 16

// variants are the bindings of calls to which different steps of a plan apply, made at the
// first call of each.
type variants struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*binding]
}

// of returns the variant of a binding for calls to which some steps do not apply, nil where
// there are too many.
func (v *variants) of(base *binding, skips uint16, own *sync.Mutex) *binding {
	if l := v.find(skips); l != nil {
		return l
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.find(skips); l != nil {
		return l
	}
	var list []*binding
	if known := v.list.Load(); known != nil {
		list = *known
	}
	if len(list) == mostVariants {
		return nil
	}
	l := *base
	l.variants, l.applied, l.skips = nil, true, skips
	l.planFastPath(own)
	list = append(list[:len(list):len(list)], &l)
	v.list.Store(&list)
	return &l
}

func (v *variants) find(skips uint16) *binding {
	if list := v.list.Load(); list != nil {
		for _, l := range *list {
			if l.skips == skips {
				return l
			}
		}
	}
	return nil
}

// planFastPaths makes the fast path of a binding whose plan allows one. Where steps apply to
// some calls alone, each variant has one or not.
func (l *binding) planFastPaths(own *sync.Mutex) {
	switch {
	case !l.plan.Fast():
	case l.plan.Conditional():
		l.variants = new(variants)
	default:
		l.planFastPath(own)
	}
}

// planFastPath makes the fast path of a binding with at most fastPathSteps cells, at most
// fastPathKeys of them with keys, not counting steps that do not apply.
func (l *binding) planFastPath(own *sync.Mutex) {
	_, budget := l.plan.Consults()
	if budget >= 0 && l.skips&(1<<budget) != 0 {
		budget = noStep
	}
	if budget >= 0 {
		l.budget, l.tallies = l.cells[budget], l.plan.Tallies()
	}
	var others []*StepCells
	var keys uint8
	for i := range l.plan.Len() {
		s := l.plan.Step(i)
		after, soft := l.plan.Cuts(i)
		switch {
		case l.skips&(1<<i) != 0:
		case after > 0:
			if !s.Shadow {
				if l.cut == 0 || after < l.cut {
					l.cut, l.cutStep = after, i
				}
			}
			l.due = sooner(l.due, sooner(after, soft))
		case l.plan.Asks(i):
			step := fastPathStep{
				cell: l.cells[i], step: i,
				refuses: !s.Shadow && !queues(s) && !l.plan.WaitsFor(i), exits: !l.plan.Refunds(i),
				single: l.plan.TakesOne(i), timed: l.plan.Timed(i), bound: l.plan.Bounds(i, l.skips), place: l.plan.Places(i),
			}
			if step.cell == nil {
				step.keys, step.slot, step.complete = l.steps[i], keys, s.Missing != keyed.MissingShare
				keys++
			} else if step.cell.mu == own {
				l.shares = true
			} else {
				others = append(others, l.steps[i])
			}
			l.exits, l.places = l.exits || step.exits, l.places || step.place
			l.fastSteps = append(l.fastSteps, step)
		case l.steps[i] != nil && l.cells[i] == nil:
			return
		}
	}
	l.keyed = keys > 0
	if b := l.budget; b != nil && b.mu == own {
		l.shares = true
	} else if b != nil {
		others = append(others, l.steps[budget])
	}
	slices.SortFunc(others, func(a, b *StepCells) int { return cmp.Compare(a.order, b.order) })
	for _, c := range others {
		l.mutexes = append(l.mutexes, c.one.mu)
	}
	l.hasFastPath = len(l.fastSteps) <= fastPathSteps && keys <= fastPathKeys
}

// queues reports whether a call may wait at a step.
func queues(s pipeline.Step) bool {
	queue := mechanisms.Facts(s.Kind()).Queue
	return queue != nil && queue(s.Config).Places > 0
}

// sooner returns the shorter of two times of which 0 means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// choose takes the variant of the steps that apply to the call, where it has one. It calls
// code of the user, so the caller holds no lock.
func (l *fastPath) choose(q *api.Request) {
	x := l.layout.plan.ConditionsBy(attributes(q))
	if x.Denied || x.Allowed {
		return
	}
	if v := l.layout.variants.of(l.layout, x.Skips, &l.pipeline.shared); v != nil {
		l.layout = v
	}
}

// enter takes the call through all steps. It returns false where a run must continue
// it.
func (l *fastPath) enter(q *api.Request) bool {
	l.layout = l.pipeline.layout.Load()
	if q.Classify != nil || q.Informed || l.twoPhase && q.Holdable || l.ctx.Err() != nil {
		return false
	}
	if l.layout.variants != nil {
		l.choose(q)
	}
	if !l.layout.hasFastPath || l.layout.softens && l.pipeline.Hears(decision.Timeout) {
		return false
	}
	var keys *[fastPathKeys]string
	if l.layout.keyed {
		var joined [fastPathKeys]string
		if !l.join(q, &joined) {
			return false
		}
		keys = &joined
	}
	l.began = l.pipeline.Now()
	l.deadline, l.seed = deadline(l.ctx, q, l.began), l.pipeline.seedOf(l.layout)
	l.cost = cost(q)
	steps := l.layout.fastSteps
	l.open, l.returned = true, clock.Always
	l.lock()
	for i := range steps {
		s, cost := &steps[i], l.cost
		if s.single {
			cost = 1
		}
		if b := s.cell; b != nil && !b.Busy() {
			if permit, ok := b.Cell.Enter(cost, 0, l.until(s), l.began); ok {
				l.permits[i] = permit
				l.entered++
				continue
			}
		}
		permit, ok := l.admit(s, keys, cost)
		if !ok {
			break
		}
		l.permits[i] = permit
		l.entered++
	}
	l.held = l.entered
	all := int(l.entered) == len(steps)
	if b := l.layout.budget; all && b != nil && !l.layout.tallies {
		b.Cell.Step(reducer.Action{Kind: reducer.Record}, l.began, &b.Out)
	}
	l.unlock()
	if l.effects {
		l.deliver()
	}
	if to := l.pipeline.list.Load(); to != nil {
		if to.trace != nil {
			l.traced = l.pipeline.record(l.layout.plan, q, l.began, l.deadline)
		}
		if all {
			if l.traced != nil {
				l.record()
			}
			l.emit(to, 0, q)
		}
	}
	return all
}

// emit gives the listeners from one on the event that the attempt starts or, after the
// function returned, that the call succeeded. One that panics does not get it again.
func (l *fastPath) emit(to *listening, first int, q *api.Request) {
	kind, now := decision.Admit, l.began
	if l.returned != clock.Always {
		kind, now = decision.End, l.returned
	}
	if !to.kinds.has(kind) {
		return
	}
	if to.tells {
		l.id = l.pipeline.RequestOf(l.ctx, q.ID)
	}
	at := first
	defer func() {
		if at < len(to.functions) && l.pipeline.Panicked(to.functions[at], recover()) {
			l.emit(to, at+1, q)
		}
	}()
	for ; at < len(to.functions); at++ {
		x := to.functions[at]
		switch {
		case !x.kinds.has(kind):
		case x.observer == nil:
			l.tell(x, kind, q)
		case kind == decision.Admit:
			x.observer.Admitted(l.pipeline.name)
		default:
			x.observer.Succeeded(l.pipeline.name, l.ctx, now.Sub(l.began))
		}
	}
}

// tell calls a function without an observer. The event is not in the frame of emit, which
// calls of observers would clear.
//
//go:noinline
func (l *fastPath) tell(x *Listener, kind decision.Kind, q *api.Request) {
	if x.needs != nil && !x.needs() {
		return
	}
	var e api.Event // an assignment of Event{} beside another value copies it
	e.At, e.Policy, e.Key, e.Request, e.Kind = l.began, l.pipeline.name, q.Key, l.id, kind
	e.Attempt, e.Cost, e.RetryAfter, e.Context = 1, cost(q), -1, l.ctx
	if kind == decision.End {
		e.At, e.Outcome, e.Elapsed = l.returned, reducer.OK, l.returned.Sub(l.began)
	}
	x.f(e)
}

// record records the attempt that starts, or the end of a call whose function succeeded.
// The decision is not in the frame of enter, which every call would clear.
func (l *fastPath) record() {
	if l.returned == clock.Always {
		l.traced.Decide(&decision.Decision{At: l.began, Kind: decision.Admit, Attempt: 1})
		return
	}
	l.traced.Done(l.returned, 0, reducer.OK, false, 0)
	l.traced.Decide(&decision.Decision{At: l.returned, Kind: decision.End, Outcome: reducer.OK, Attempt: 1, Last: true})
}

// join joins the keys of the request. It returns false where the request lacks an
// attribute that a step needs. It calls code of the user, so the caller holds no
// lock.
func (l *fastPath) join(q *api.Request, keys *[fastPathKeys]string) bool {
	for i := range l.layout.fastSteps {
		if s := &l.layout.fastSteps[i]; s.keys != nil {
			key, missing := keyed.Join(s.keys.per, attributes(q))
			if missing && s.complete {
				return false
			}
			keys[s.slot] = key
		}
	}
	return true
}

// lock locks the cells that all calls share. The cells of keys have locks of their own; a call
// may take one while it has this one.
func (l *fastPath) lock() {
	if l.layout.shares {
		l.pipeline.shared.Lock()
	}
	if l.layout.mutexes != nil {
		l.lockOthers()
	}
}

// lockOthers locks the cells that calls of other pipelines share, too. It is apart from
// lock so that lock is inlined.
func (l *fastPath) lockOthers() {
	for _, mu := range l.layout.mutexes {
		mu.Lock()
	}
}

func (l *fastPath) unlock() {
	if l.layout.mutexes != nil {
		l.unlockOthers()
	}
	if l.layout.shares {
		l.pipeline.shared.Unlock()
	}
}

func (l *fastPath) unlockOthers() {
	for _, mu := range l.layout.mutexes {
		mu.Unlock()
	}
}

// admit acquires a permit of a step with keys, or of one whose Enter does not admit.
// It returns false where the step does not admit at once, and undoes the call where
// the step refuses it. The caller holds the lock.
func (l *fastPath) admit(s *fastPathStep, keys *[fastPathKeys]string, cost uint32) (permit reducer.Permit, ok bool) {
	if s.keys != nil {
		return l.admitKey(s, keys[s.slot], cost)
	}
	b := s.cell
	if b.Busy() || !s.refuses {
		return permit, false
	}
	var answer reducer.Answer
	if s.timed {
		answer = b.Cell.Step(l.trying(s, cost), l.began, &b.Out)
	} else {
		// The action is made where it is passed: a copy of it loads words of which bytes
		// were just stored.
		answer = b.Cell.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: cost}, l.began, &b.Out)
	}
	l.effects = l.effects || len(b.Out) > 0
	return l.answered(answer)
}

// admitKey is admit for a step with keys.
func (l *fastPath) admitKey(s *fastPathStep, key string, cost uint32) (permit reducer.Permit, ok bool) {
	if s.keys.blocks.any() {
		if answer, blocked := s.keys.blocks.answer(key, l.began); blocked {
			l.handles[s.slot] = keyed.Handle{}
			if !s.refuses {
				return permit, false
			}
			return l.answered(answer)
		}
	}
	r, at, how := s.keys.cells.Use(key, l.began)
	l.handles[s.slot] = r.Handle()
	if !crowded(how) && !s.keys.cells.Evicts() && s.keys.alone(r) {
		// A keyedCell is larger than all that this needs.
		if permit, ok = r.Cell().Enter(cost, 0, l.until(s), at); ok {
			r.Unlock()
			return permit, true
		}
	}
	x := s.keys.used(r, how)
	// Before it was configured, callers may have waited at a step that refuses now.
	busy := x.busy()
	if !busy {
		permit, ok = x.cell.Enter(cost, 0, l.until(s), at)
	}
	if ok || busy || !s.refuses {
		l.closeKey(&x, nil, nil, at)
		return permit, ok
	}
	a := x.ref.Acquire(l.trying(s, cost))
	answer := x.cell.Step(a, at, x.out)
	x.ref.Answered(&a, &answer)
	changes, woken := x.collect(at)
	l.closeKey(&x, changes, woken, at)
	return l.answered(answer)
}

// until returns the mark by which a step's cell is told that the call ends, clock.Never for
// none, and for a cell that does not take it.
func (l *fastPath) until(s *fastPathStep) clock.Mark {
	if !s.timed {
		return clock.Never
	}
	if s.bound == 0 {
		return l.deadline
	}
	return min(l.deadline, l.began.Add(s.bound))
}

// trying returns the action of a call that does not wait.
func (l *fastPath) trying(s *fastPathStep, cost uint32) reducer.Action {
	a := reducer.Action{Kind: reducer.TryAcquire, Cost: cost}
	if s.timed {
		l.limit(&a, s)
	}
	return a
}

// limit adds the mark by which the call ends to a request, apart from trying so that trying
// is inlined.
func (l *fastPath) limit(a *reducer.Action, s *fastPathStep) {
	if at := l.until(s); at != clock.Never {
		*a = a.WithDeadline(at)
	}
}

// closeKey unlocks the cell of a key, and stores its events for deliver.
func (l *fastPath) closeKey(x *keyedCell, changes []change, woken *Waiter, now clock.Mark) {
	if len(changes) > 0 || x.full || x.evicts {
		l.effects = true
		l.changes = append(l.changes, x.events(changes, now))
	}
	x.ref.Unlock()
	woken.wakeAll()
}

// answered handles the answer of a cell that did not admit at once.
func (l *fastPath) answered(answer reducer.Answer) (reducer.Permit, bool) {
	if answer.Verdict == reducer.Admit {
		return answer.Permit, true
	}
	l.reason, l.returned = answer.Reason, answer.Mark
	l.undo()
	return reducer.Permit{}, false
}

// undo releases the permits of a call that a cell refuses, in reverse order. The
// caller holds the lock.
func (l *fastPath) undo() {
	l.refused, l.open = true, false
	for i := int(l.entered) - 1; i >= 0; i-- {
		s := &l.layout.fastSteps[i]
		a := l.layout.plan.Undo(s.step, l.permits[i], l.cost)
		if s.keys == nil {
			s.cell.Cell.Step(a, l.began, &s.cell.Out)
			l.effects = l.effects || len(s.cell.Out) > 0
			continue
		}
		if x, ok := s.keys.resolve(l.handles[s.slot]); ok {
			x.guarded.step(a, l.began)
			changes, woken := x.collect(l.began)
			l.closeKey(&x, changes, woken, l.began)
		}
	}
}

// deliver delivers the effects of the steps of cells.
func (l *fastPath) deliver() {
	l.effects = false
	for i := range l.layout.fastSteps {
		if b := l.layout.fastSteps[i].cell; b != nil {
			b.Lock()
			b.finish(l.began)
		}
	}
	l.changes.EmitAll()
	l.changes = nil
}

// refusal reports that the call was refused, and returns its error.
func (l *fastPath) refusal(q *api.Request) error {
	name, after := l.layout.plan.StepName(l.layout.fastSteps[l.entered].step), time.Duration(-1)
	if l.returned != clock.Never {
		after = max(0, l.returned.Sub(l.began))
	}
	if l.pipeline.HasListeners() {
		fallback := l.layout.plan.Fallback() != nil
		l.traced.Decide(&decision.Decision{
			At: l.began, Kind: decision.Reject, Step: name, Reason: l.reason, RetryAfter: after, Fallback: fallback, Last: true,
		})
		e := api.Event{Kind: decision.Reject, Step: name, Reason: l.reason, RetryAfter: after, Fallback: fallback}
		l.pipeline.report(&e, l.ctx, q, l.began, l.began)
	}
	return &api.RejectedError{Policy: l.pipeline.name, Step: name, Reason: l.reason, RetryAfter: after}
}

// endsBy returns the call's own deadline, or the mark after a time from its
// beginning if that is earlier. A time of 0 means none.
func (l *fastPath) endsBy(d time.Duration) clock.Mark {
	if d == 0 {
		return l.deadline
	}
	return min(l.deadline, l.began.Add(d))
}

// cut returns the mark that cuts the attempt, clock.Never for none, and what it ends
// with then.
func (l *fastPath) cut() (clock.Mark, *end) {
	cut := l.endsBy(l.layout.cut)
	if cut != l.deadline {
		return cut, l.layout.ends[l.layout.cutStep+1]
	}
	return cut, l.layout.ends[0]
}

// context makes the context of the attempt, as a run does.
func (l *fastPath) context(q *api.Request) context.Context {
	cut, end := l.cut()
	if q.Holdable {
		l.session = l.pipeline.newSession(l.ctx, cut, end)
		l.session.holdable = true
		return l.session
	}
	if cut == clock.Never {
		return l.ctx
	}
	l.attempt = l.pipeline.newAttempt(l.ctx, cut, end)
	return l.attempt
}

// leave ends the call of a function that returned. It returns false where a run must
// continue it.
func (l *fastPath) leave(q *api.Request, err error) bool {
	if err != nil || l.session.extends() {
		return false
	}
	switch {
	case l.session != nil:
		l.holds = l.session.end()
	case l.attempt != nil:
		l.attempt.End()
	}
	to := l.pipeline.list.Load()
	if to == nil && !l.layout.exits && !l.layout.tallies && l.layout.due == 0 && l.deadline == clock.Never {
		// Nothing depends on the mark at which the function returned.
		l.open = false
		return true
	}
	now := l.pipeline.Now()
	l.returned = now
	if l.endsBy(l.layout.due) <= now {
		return false
	}
	if l.layout.exits {
		steps := l.layout.fastSteps
		l.lock()
		for l.held > 0 {
			s := &steps[l.held-1]
			if s.exits && !l.keeps(s) && !l.exit(s, l.permits[l.held-1], now) {
				break
			}
			l.held--
		}
		l.unlock()
		if l.holds {
			l.keep(now)
		}
		if l.held > 0 {
			return false
		}
	}
	if l.layout.tallies {
		l.layout.budget.Step(reducer.Action{Kind: reducer.Release, Outcome: reducer.OK}, now)
	}
	l.open = false
	if to != nil {
		if l.traced != nil {
			l.record()
		}
		l.emit(to, 0, q)
	}
	return true
}

// keeps reports whether the permit of a step is kept beyond the function, or Done.
func (l *fastPath) keeps(s *fastPathStep) bool { return (l.twoPhase || l.holds) && s.place }

// place returns the permit of a step that is kept.
func (l *fastPath) place(i int) (kept, bool) {
	s := &l.layout.fastSteps[i]
	if !l.keeps(s) {
		return kept{}, false
	}
	at := cellRef{one: s.cell}
	if s.keys != nil {
		at = cellRef{step: s.keys, handle: l.handles[s.slot]}
	}
	return kept{cell: at, action: reducer.Action{Kind: reducer.Release, Permit: l.permits[i]}}, true
}

// keep gives the places of the steps that the call has left to its session, which is
// held.
func (l *fastPath) keep(now clock.Mark) {
	for i := int(l.entered) - 1; i >= int(l.held); i-- {
		if k, ok := l.place(i); ok {
			l.session.keep(k, now)
		}
	}
}

// release releases the permits that the call keeps, in reverse order.
func (l *fastPath) release() {
	now := l.pipeline.Now()
	for i := int(l.entered) - 1; i >= 0; i-- {
		if k, ok := l.place(i); ok && !k.cell.exit(k.action.Permit, now) {
			k.release(now)
		}
	}
}

// exit ends the permit of a step after a success. It returns false where a run must
// do so. The caller holds the lock.
func (l *fastPath) exit(s *fastPathStep, permit reducer.Permit, now clock.Mark) bool {
	permit.Mark = l.began // of the attempt, for a breaker
	if s.keys != nil {
		return s.keys.exit(l.handles[s.slot], permit, now)
	}
	if s.cell.Busy() || !s.cell.Cell.Exit(permit, now) {
		return false
	}
	s.cell.measure(now.Sub(l.began))
	return true
}

// crashed ends a call whose function panicked or called runtime.Goexit.
func (l *fastPath) crashed(q *api.Request) {
	if !l.open {
		return
	}
	r := newRun()
	r.take(l, q)
	r.crashed()
}

// take continues a call from its fast path. The permits of the fastSteps up to held
// are held; those from there to entered have been released already, as after a
// success.
func (r *run) take(l *fastPath, q *api.Request) {
	plan := l.layout.plan
	r.prepare(l.ctx, l.pipeline, l.layout, q, l.began, l.deadline, l.seed)
	r.attempt, r.session, r.returned, r.returnValue = l.attempt, l.session, l.returned, true
	r.traced = l.traced
	l.open = false
	var held uint16
	at := uint8(0)
	for i := range plan.Len() {
		switch {
		case r.call.Skipped(i):
			r.call.Omit(i)
			continue
		case !plan.Asks(i):
			plan.Skip(&r.call.Attempt, i, l.began)
			continue
		}
		if at == l.entered {
			r.declined = i
			if s := &l.layout.fastSteps[at]; s.keys != nil {
				x := r.keyRef(0, i)
				x.handle, x.used = l.handles[s.slot], true
			}
			return
		}
		r.call.Admit(i, l.permits[at])
		if s := &l.layout.fastSteps[at]; s.keys != nil {
			r.keyRef(0, i).handle = l.handles[s.slot]
		}
		if at++; at == l.held {
			held = r.call.Held
		}
	}
	r.call.Held = held
	plan.Start(&r.call, 0, l.began)
	r.running = true
	r.bound()
}
