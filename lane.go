package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/reducer"
)

// lane is a call on its happy path: every cell admits it at once, its function
// succeeds, and nothing becomes due meanwhile. It is what a run is without what
// everything else needs, a third of the size, and asks its cells under one lock.
// It decides nothing: where a cell has no short way, or the call leaves that
// path, a run takes it over as it stands.
type lane struct {
	pipeline *Pipeline
	layout   *layout
	ctx      context.Context
	attempt  *attempt.Context
	seed     uint64
	began    clock.Mark
	deadline clock.Mark // the caller's own
	permits  [laneSteps]reducer.Permit
	entered  uint8 // steps of the layout's lane that admitted it
	held     uint8 // of these, those that it has not left
	open     bool  // the call is here, neither over nor a run's
	// returned is when the function returned without an error, Always before.
	returned clock.Mark
}

// laneSteps is how many cells a call on the happy path may pass. Policies that
// have more are rare, and a larger lane costs every call.
const laneSteps = 5

// laneStep is a step whose cell a call on the happy path asks.
type laneStep struct {
	box *box
	// exits is set where the permit is given back after a success, too.
	exits bool
}

// straighten finds out whether the calls of a layout have a happy path: few
// cells, which all calls share.
func (l *layout) straighten() {
	_, budget := l.plan.Consults()
	if budget >= 0 {
		l.budget = l.boxes[budget]
	}
	for i := range l.plan.Len() {
		s := l.plan.Step(i)
		switch {
		case s.Kind() == pipeline.Timeout:
			c := pipeline.ConfigOf[timeout.Config](s)
			if !s.Shadow {
				if l.cut == 0 || c.After < l.cut {
					l.cut, l.cutStep = c.After, i
				}
			}
			l.due = sooner(l.due, sooner(c.After, c.Soft))
		case l.plan.Asks(i) && l.boxes[i] != nil:
			l.lane = append(l.lane, laneStep{l.boxes[i], s.Kind() != pipeline.Limit})
		case l.steps[i] != nil && l.boxes[i] == nil:
			return
		}
	}
	l.straight = len(l.lane) <= laneSteps
}

// sooner returns the shorter of two times of which 0 means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// enter takes the call through all steps. False hands it over to a run.
func (l *lane) enter(q *Request) bool {
	l.layout = l.pipeline.layout.Load()
	if !l.layout.straight || q.Holdable || l.ctx.Err() != nil {
		return false
	}
	l.began = l.pipeline.now()
	l.deadline, l.seed = deadline(l.ctx, l.began), l.pipeline.seedOf(l.layout)
	cost := q.cost()
	steps := l.layout.lane
	l.open, l.returned = true, clock.Always
	l.pipeline.shared.Lock()
	for i := range steps {
		b := steps[i].box
		if b.busy() {
			break
		}
		permit, ok := b.cell.Enter(cost, 0, b.pass(l.began))
		if !ok {
			break
		}
		l.permits[i] = permit
		l.entered++
	}
	l.held = l.entered
	all := int(l.entered) == len(steps)
	if b := l.layout.budget; all && b != nil {
		b.cell.Step(reducer.Action{Kind: reducer.Record}, l.began, &b.out)
	}
	l.pipeline.shared.Unlock()
	if all && l.pipeline.heard() {
		l.pipeline.report(Event{Kind: decision.Admit, Attempt: 1}, q.Key, l.began, l.began)
	}
	return all
}

// endsBy returns the call's own deadline, or the mark after a time from its
// beginning if that is earlier. A time of 0 means none.
func (l *lane) endsBy(d time.Duration) clock.Mark {
	if d == 0 {
		return l.deadline
	}
	return min(l.deadline, l.began.Add(d))
}

// context makes the context of the attempt, as that of a run.
func (l *lane) context() context.Context {
	cut := l.endsBy(l.layout.cut)
	if cut == clock.Never {
		return l.ctx
	}
	end := l.layout.ends[0]
	if cut != l.deadline {
		end = l.layout.ends[l.layout.cutStep+1]
	}
	l.attempt = l.pipeline.attempt(l.ctx, cut, end)
	return l.attempt
}

// leave ends the call of a function that returned. False hands it over to a run.
func (l *lane) leave(q *Request, err error) bool {
	if err != nil {
		return false
	}
	if l.attempt != nil {
		l.attempt.End()
	}
	now := l.pipeline.now()
	l.returned = now
	if l.endsBy(l.layout.due) <= now {
		return false
	}
	steps := l.layout.lane
	l.pipeline.shared.Lock()
	for l.held > 0 {
		i := l.held - 1
		if b := steps[i].box; steps[i].exits {
			permit := l.permits[i]
			permit.Mark = l.began // of the attempt, for a breaker
			if b.busy() || !b.cell.Exit(permit, now) {
				break
			}
		}
		l.held = i
	}
	l.pipeline.shared.Unlock()
	if l.held > 0 {
		return false
	}
	l.open = false
	if l.pipeline.heard() {
		l.pipeline.report(Event{Kind: decision.End, Outcome: reducer.OK, Attempt: 1}, q.Key, l.began, now)
	}
	return true
}

// crashed ends a call whose function panicked or called runtime.Goexit.
func (l *lane) crashed(q *Request) {
	if !l.open {
		return
	}
	var r run
	r.take(l, q)
	r.crashed()
}

// take takes a call over from its happy path as it stands there. Of the steps of
// the lane those up to held are held; those from there to entered have been left
// already, as after a success.
func (r *run) take(l *lane, q *Request) {
	plan := l.layout.plan
	r.prepare(l.ctx, l.pipeline, l.layout, q, l.began, l.deadline, l.seed)
	r.attempt, r.returned = l.attempt, l.returned
	l.open = false
	var held uint16
	at := uint8(0)
	for i := range plan.Len() {
		if !plan.Asks(i) {
			plan.Skip(&r.call.Attempt, i, l.began)
			continue
		}
		if at == l.entered {
			r.declined = i
			return
		}
		r.call.Admit(i, l.permits[at])
		if at++; at == l.held {
			held = r.call.Held
		}
	}
	r.call.Held = held
	plan.Start(&r.call, 0, l.began)
}

// deadline returns the mark of a context's deadline, clock.Never for none.
func deadline(ctx context.Context, now clock.Mark) clock.Mark {
	if at, ok := ctx.Deadline(); ok {
		return now.Add(time.Until(at))
	}
	return clock.Never
}
