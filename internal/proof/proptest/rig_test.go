package proptest

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// family says which actions a machine understands.
type family int

const (
	limiters family = iota
	breakerFamily
	bulkheads
	budgets
	tokenBudgets
)

// kinds of actions by family; a word picks one of them.
var kinds = [...][]reducer.Kind{
	limiters: {reducer.Acquire, reducer.Acquire, reducer.Acquire, reducer.TryAcquire, reducer.Reserve, reducer.Cancel,
		reducer.Cancel, reducer.Leave, reducer.Peek, reducer.Tick, reducer.Commit, reducer.Acquire, reducer.Drain},
	breakerFamily: {reducer.Acquire, reducer.Acquire, reducer.Acquire, reducer.Record, reducer.Record, reducer.Record,
		reducer.Record, reducer.Cancel, reducer.Peek, reducer.Tick, reducer.Release},
	bulkheads: {reducer.Acquire, reducer.Acquire, reducer.Acquire, reducer.Release, reducer.Release, reducer.Cancel,
		reducer.Renew, reducer.Leave, reducer.TryAcquire, reducer.Peek, reducer.Tick},
	budgets: {reducer.Record, reducer.Record, reducer.Acquire, reducer.Acquire, reducer.Peek, reducer.TryAcquire, reducer.Tick},
	tokenBudgets: {reducer.Acquire, reducer.Release, reducer.Acquire, reducer.Release, reducer.Peek, reducer.Release, reducer.TryAcquire, reducer.Tick,
		reducer.Release},
}

// places is how many places of a bulkhead it is.
func (g *grant) places() uint32 { return max(1, g.cost) }

// grant is a permit and its state.
type grant struct {
	permit reducer.Permit
	cost   uint32
	caller uint64
	at     clock.Mark
	ready  clock.Mark // from which it may be used
	over   bool       // ended by its holder
	lapsed bool
}

// record is one step.
type record struct {
	at     clock.Mark
	action reducer.Action
	answer reducer.Answer
	out    reducer.Out
}

func (r record) String() string {
	return fmt.Sprintf("%s %s: %s", r.at, r.action, reducer.Effects{Answer: r.answer, Others: r.out})
}

// rig drives a subject as a runner does: due ends come first, a queue is served at
// once, and holders end their permits. It records all steps, and what is held and
// waits.
type rig struct {
	subject subject
	family  family
	now     clock.Mark
	grants  []grant
	waiting map[uint64]reducer.Answer // by caller
	tickets []uint64                  // of all who ever waited
	callers uint64
	told    clock.Mark // of the last refusal that named one
	log     []record

	asked, admitted, refused, dropped, left int
	// before is called ahead of every step, if it is set.
	before func(a reducer.Action, now clock.Mark) error
	err    error
	// without leaves out a kind of action.
	without reducer.Kind
}

func newRig(s subject, f family) *rig {
	return &rig{subject: s, family: f, now: start, waiting: map[uint64]reducer.Answer{}}
}

// play begins a subject of the machine and plays the history.
func play(m machine, h history) (*rig, config) {
	s, c := m.begin(h)
	r := newRig(s, m.kind)
	r.play(h.steps())
	return r, c
}

func (r *rig) play(steps history) {
	for _, w := range steps {
		r.next(w)
	}
}

// next plays one word.
func (r *rig) next(w uint64) {
	if r.err != nil {
		return
	}
	r.advance(r.mark(w))
	if a, ok := r.action(w); ok {
		r.step(a)
		r.serve()
	}
}

// mark draws when the word's action comes: soon, at or around the next wake,
// when a refusal said, or much later.
func (r *rig) mark(w uint64) clock.Mark {
	wake, ok := r.subject.NextWake()
	if !ok {
		wake = r.now
	}
	at := r.now
	switch n := w >> 4 % 16; {
	case n < 4:
	case n < 9:
		at = r.now + clock.Mark(n-3)
	case n == 9:
		at = wake - 1
	case n < 12:
		at = wake
	case n == 12:
		at = r.told - 1
	case n == 13:
		at = r.told
	case n == 14:
		at = r.now + clock.Mark(w>>8%32)
	default:
		at = r.now + clock.Mark(w>>8%256)
	}
	return max(r.now, min(at, r.now+300))
}

// action draws an action, false where no caller can perform it.
func (r *rig) action(w uint64) (reducer.Action, bool) {
	list := kinds[r.family]
	a := reducer.Action{Kind: list[w%16%uint64(len(list))]}
	choice := int(w >> 24 % 64)
	switch a.Kind {
	case r.without:
		return a, false
	case reducer.Acquire, reducer.TryAcquire, reducer.Peek:
		r.callers++
		a.ID, a.Cost = r.callers, r.cost(w)
		if r.family == tokenBudgets {
			a.Outcome = pick(w>>18, 0, reducer.Timeout, reducer.Fail)
			a.Cost, a.Value = uint32(w>>28%4), w>>30%12
		}
	case reducer.Reserve:
		a.Mark, a.Cost = r.now+clock.Mark(w>>20%32), r.cost(w)
	case reducer.Leave:
		if len(r.tickets) == 0 {
			return a, false
		}
		a.ID = r.tickets[choice%len(r.tickets)]
	case reducer.Cancel, reducer.Commit, reducer.Release, reducer.Renew, reducer.Record:
		return r.end(a, w, choice)
	}
	return a, true
}

func (r *rig) cost(w uint64) uint32 {
	if r.family != limiters && r.family != bulkheads {
		return 1
	}
	return pick(w>>16, uint32(1), 1, 1, 2, 3, 1, 2, 0)
}

// end draws the end of a permit that is not over.
func (r *rig) end(a reducer.Action, w uint64, choice int) (reducer.Action, bool) {
	if r.family == budgets {
		return a, true
	}
	var open []int
	for i, g := range r.grants {
		if !g.over {
			open = append(open, i)
		}
	}
	if r.family == tokenBudgets {
		// Most attempts are first ones, for which nothing was acquired.
		a.Outcome = pick(w>>18, reducer.OK, reducer.Fail, reducer.OK, reducer.Timeout, reducer.Throttle, reducer.Ignore, reducer.Cancelled)
		if len(open) == 0 || w>>22%2 == 0 {
			return a, true
		}
	}
	if len(open) == 0 {
		return a, false
	}
	g := &r.grants[open[choice%len(open)]]
	g.over = a.Kind != reducer.Renew
	a.Permit, a.Cost = g.permit, g.cost
	if a.Kind == reducer.Record {
		a.Outcome = pick(w>>18, reducer.OK, reducer.Fail, reducer.Fail, reducer.Timeout, reducer.OK, reducer.Throttle, reducer.Ignore, reducer.Cancelled)
		a.Mark = g.at
	}
	return a, true
}

// advance advances time to the mark.
func (r *rig) advance(to clock.Mark) {
	for range 2_000 {
		wake, ok := r.subject.NextWake()
		if !ok || wake > to || r.err != nil {
			r.now = max(r.now, to)
			return
		}
		r.now = max(r.now, wake)
		r.step(reducer.Action{Kind: reducer.Tick})
		r.serve()
	}
	r.err = errors.New("G4: time does not pass, " + r.subject.Text(r.now))
}

// serve grants all waiters that can be served now.
func (r *rig) serve() {
	for len(r.waiting) > 0 && r.err == nil {
		if r.step(reducer.Action{Kind: reducer.Serve}).Verdict != reducer.Done {
			return
		}
	}
}

// step steps the subject now, and records the result.
func (r *rig) step(a reducer.Action) reducer.Answer {
	if r.before != nil && r.err == nil {
		r.err = r.before(a, r.now)
	}
	answer, out := r.subject.Step(a, r.now)
	r.log = append(r.log, record{r.now, a, answer, out})
	if a.Kind == reducer.Acquire {
		r.asked++
	}
	switch answer.Verdict {
	case reducer.Admit:
		if a.Kind == reducer.Acquire || a.Kind == reducer.TryAcquire || a.Kind == reducer.Reserve {
			r.grants = append(r.grants, grant{permit: answer.Permit, cost: a.Cost, caller: a.ID, at: r.now, ready: r.subject.Ready(answer.Permit)})
		}
		if a.Kind == reducer.Acquire {
			r.admitted++
		}
	case reducer.Wait:
		r.waiting[a.ID] = answer
		r.tickets = append(r.tickets, answer.ID)
	case reducer.Reject:
		if a.Kind == reducer.Acquire {
			r.refused++
		}
		if at, ok := answer.RetryAt(); ok {
			r.told = at
		}
	case reducer.Done:
		if a.Kind == reducer.Leave {
			r.leaves(a.ID)
		}
	}
	for _, e := range out {
		r.note(e)
	}
	return answer
}

func (r *rig) leaves(ticket uint64) {
	for caller, answer := range r.waiting {
		if answer.ID == ticket {
			delete(r.waiting, caller)
			r.left++
		}
	}
}

// note records the effects of a step on other callers.
func (r *rig) note(e reducer.Effect) {
	switch e.Kind {
	case reducer.Grant:
		r.admitted++
		r.grants = append(r.grants, grant{permit: e.Permit, cost: r.costOf(e.Caller), caller: e.Caller, at: r.now, ready: r.now})
		delete(r.waiting, e.Caller)
	case reducer.Drop:
		r.dropped++
		delete(r.waiting, e.Caller)
	case reducer.Lapse:
		for i := range r.grants {
			if g := &r.grants[i]; g.permit.Generation == e.Permit.Generation && g.permit.ID == e.Permit.ID {
				g.lapsed = true
			}
		}
	}
}

// costOf returns the cost that a caller acquires.
func (r *rig) costOf(caller uint64) uint32 {
	for _, x := range r.log {
		if (x.action.Kind == reducer.Acquire || x.action.Kind == reducer.TryAcquire) && x.action.ID == caller {
			return x.action.Cost
		}
	}
	return 0
}
