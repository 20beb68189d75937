package linearizability

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// fate is how a wait ended.
type fate uint8

const (
	unknown fate = iota
	waiting
	granted
	dropped
	left // by its caller
)

// request is what became of a request for a permit.
type request struct {
	fate   fate
	reason reducer.Reason
	permit reducer.Permit // or the ticket
	at     clock.Mark     // of the grant or the drop
	turn   clock.Mark     // of a reservation, from which on a cancel returns nothing; clock.Never for no reservation
}

// progress of a call: the steps that it has made, and the mark of the last.
type progress struct {
	steps int
	at    clock.Mark
}

// world is a state of the model. It is not changed once it is made.
type world struct {
	cells    []subject
	requests []request
	calls    []progress
	now      clock.Mark
	id       string
}

// seal gives a world that is complete its identity.
func (w *world) seal() {
	id := binary.LittleEndian.AppendUint64(nil, uint64(w.now))
	for _, c := range w.cells {
		id = c.encode(id)
	}
	for i := range w.requests {
		r := &w.requests[i]
		if r.fate == unknown {
			continue
		}
		id = append(id, byte(i), byte(r.fate), byte(r.reason))
		for _, v := range [...]uint64{r.permit.Generation, r.permit.ID, uint64(r.permit.Mark), uint64(r.at), uint64(r.turn)} {
			id = binary.LittleEndian.AppendUint64(id, v)
		}
	}
	for _, p := range w.calls {
		id = binary.LittleEndian.AppendUint64(id, uint64(p.at))
	}
	w.id = string(id)
}

// apply makes one step and reports whether its caller may have seen this result.
func (m *model) apply(w *world, o *op, s *seen, at clock.Mark) (ok bool) {
	if o.kind == pass {
		return true
	}
	c := &m.cells[o.cell]
	if m.loose && o.kind == ask && s.verdict == reducer.Reject {
		return true
	}
	w.cells[o.cell] = w.cells[o.cell].clone()
	if c.queued {
		w.catchUp(o.cell, at)
	}
	r := &w.requests[o.req]
	switch o.kind {
	case ask:
		ok = m.asked(w, r, o, s, at)
	case end:
		ok = m.ended(w, r, o, s, at)
	case give:
		if a := o.action; a.Kind == reducer.Cancel && at >= r.turn {
			ok = true
		} else {
			a.Permit = r.permit
			answer := w.send(o.cell, a, at)
			ok = !s.told || s.done == (answer.Verdict == reducer.Done)
		}
	default:
		answer := w.send(o.cell, o.action, at)
		switch o.action.Kind {
		case reducer.Peek:
			ok = answer.Free == s.free && o.after(answer, at, s.after)
		case reducer.Tick:
			ok = w.cells[o.cell].mode() == s.mode
		default:
			ok = true
		}
	}
	if ok && c.queued {
		w.serve(o.cell, at)
	}
	return ok
}

func (m *model) asked(w *world, r *request, o *op, s *seen, at clock.Mark) bool {
	a := o.action
	a.ID = uint64(o.req + 1)
	if a.Kind == reducer.Reserve {
		a.Mark = at.Add(o.wait)
	}
	answer := w.send(o.cell, a, at)
	switch answer.Verdict {
	case reducer.Admit:
		if m.kept[o.req] {
			*r = request{fate: granted, permit: answer.Permit, turn: clock.Never}
			if a.Kind == reducer.Reserve {
				r.turn = max(at, w.cells[o.cell].ready(answer.Permit))
			}
		}
		if m.exact {
			r.at = at
		}
		if m.cells[o.cell].unmarked {
			r.permit.Mark = 0
		}
		if a.Kind == reducer.Reserve && m.exact && s.delay != max(0, w.cells[o.cell].ready(answer.Permit).Sub(at)) {
			return false
		}
		return s.verdict == reducer.Admit || s.verdict == either
	case reducer.Wait:
		*r = request{fate: waiting, permit: answer.Permit}
		return s.verdict == reducer.Wait || s.verdict == either
	}
	return s.verdict == reducer.Reject && (!s.told || s.reason == answer.Reason && o.after(answer, at, s.after))
}

// after compares the time until a caller may come again. It may count from an earlier mark than
// the mark of the step, or from one that is read once more.
func (o *op) after(answer reducer.Answer, at clock.Mark, got time.Duration) bool {
	want, known := answer.RetryAfter(at)
	switch {
	case answer.Verdict == reducer.Admit:
		return got == 0
	case !known:
		return got < 0
	}
	return got == want || slices.ContainsFunc(o.marks, func(other clock.Mark) bool {
		want, _ := answer.RetryAfter(other)
		return got == want
	})
}

// ended ends a wait. Time does not pass between a grant or a drop and the end of
// the wait.
func (m *model) ended(w *world, r *request, o *op, s *seen, at clock.Mark) bool {
	if m.exact && r.fate != waiting && r.at != at {
		return false
	}
	if s.fate != left {
		return s.fate == r.fate && s.reason == r.reason
	}
	switch r.fate {
	case waiting:
		w.send(o.cell, reducer.Action{Kind: reducer.Leave, Permit: r.permit}, at)
	case granted:
		w.send(o.cell, reducer.Action{Kind: m.cells[o.cell].refund, Cost: o.action.Cost, Permit: r.permit}, at)
	}
	r.fate = left
	return true
}

// catchUp processes what is due at a cell up to now.
func (w *world) catchUp(i int, now clock.Mark) {
	for at := w.cells[i].wake(); at <= now && at != clock.Never; at = w.cells[i].wake() {
		w.send(i, reducer.Action{Kind: reducer.Tick}, at)
		w.serve(i, at)
	}
}

func (w *world) serve(i int, now clock.Mark) {
	for w.send(i, reducer.Action{Kind: reducer.Serve}, now).Verdict == reducer.Done {
	}
}

// send steps a cell and notes the effects on waiters.
func (w *world) send(i int, a reducer.Action, now clock.Mark) reducer.Answer {
	var out reducer.Out
	answer := w.cells[i].step(a, now, &out)
	for _, e := range out {
		switch e.Kind {
		case reducer.Grant:
			w.requests[e.Caller-1] = request{fate: granted, permit: e.Permit, at: now, turn: clock.Never}
		case reducer.Drop:
			w.requests[e.Caller-1] = request{fate: dropped, reason: e.Reason, at: now}
		}
	}
	return answer
}
