package script

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// past is a state that later steps must not have touched, with its encoding.
type past[S any] struct {
	cell    reducer.Values[S]
	state   S
	encoded []byte
}

func (r *runner[S]) remember() {
	r.history = append(r.history, past[S]{r.cell, r.state, r.cell.AppendState(nil, r.state)})
}

// aliasing checks that no step changed what an older state can see (G2).
func (r *runner[S]) aliasing(t *testing.T) {
	for _, p := range r.history {
		if !bytes.Equal(p.encoded, p.cell.AppendState(nil, p.state)) {
			t.Fatal("G2: a later step changed an older state")
		}
	}
	r.history = nil
}

// step steps the state and checks the step by the contract.
func (r *runner[S]) step(t *testing.T, where string, a reducer.Action) reducer.Effects {
	t.Helper()
	r.remember()
	before := r.cell.AppendState(nil, r.state)
	state, effects := r.cell.Reduce(r.state, a, r.now)
	if !bytes.Equal(before, r.cell.AppendState(nil, r.state)) {
		t.Fatalf("%s: G2: Reduce changed its input", where)
	}
	after := r.cell.AppendState(nil, state)

	decoded, err := r.cell.DecodeState(before)
	if err != nil {
		t.Fatalf("%s: G9: %v", where, err)
	}
	for name, s := range map[string]*S{"the state that no step cloned": &r.lived, "a decoded state": &decoded} {
		var out reducer.Out
		answer := r.cell.Step(s, a, r.now, &out)
		if answer != effects.Answer || !slices.Equal(out, effects.Others) {
			t.Fatalf("%s: Step on %s: %v %v, Reduce: %v", where, name, answer, out, effects)
		}
		if !bytes.Equal(after, r.cell.Encode(nil, s)) {
			t.Fatalf("%s: Step on %s leads to another state than Reduce", where, name)
		}
	}
	r.exact(t, where, state, a, effects.Answer)
	r.served(t, where, a, effects.Answer, state)
	r.state = state
	holds(t, where, r.cell, r.state, r.now)
	return effects
}

// holds checks what is true of every state.
func holds[S any](t *testing.T, where string, cell reducer.Values[S], s S, now clock.Mark) {
	t.Helper()
	if err := cell.Check(s); err != nil {
		t.Fatalf("%s: Check: %v", where, err)
	}
	encoded := cell.AppendState(nil, s)
	decoded, err := cell.DecodeState(encoded)
	if err != nil || !bytes.Equal(encoded, cell.AppendState(nil, decoded)) {
		t.Fatalf("%s: G9: decoded and encoded again it is another state (%v)", where, err)
	}
	if len(cell.AppendText(nil, s, now)) == 0 {
		t.Fatalf("%s: no text", where)
	}
	progress(t, where, cell, s, now)
	spurious(t, where, cell, s, now)
}

// serveLimit is more than the longest queue of a script.
const serveLimit = 1_000

// pass processes what is due at the mark, as a cell's owner does: ends, then the queue.
func pass[S any](cell reducer.Values[S], s *S, now clock.Mark, out *reducer.Out) {
	cell.Step(s, reducer.Action{Kind: reducer.Tick}, now, out)
	for range serveLimit {
		if cell.Step(s, reducer.Action{Kind: reducer.Serve}, now, out).Verdict != reducer.Done {
			return
		}
	}
}

// progress checks G4: after a tick and serving, the next wake is later.
func progress[S any](t *testing.T, where string, cell reducer.Values[S], s S, now clock.Mark) {
	t.Helper()
	s = cell.Clone(s)
	var out reducer.Out
	pass(cell, &s, now, &out)
	if at, ok := cell.NextWake(s); ok && at <= now {
		t.Fatalf("%s: G4: after a tick at %v the next wake is %v", where, now, at)
	}
}

// spurious checks G5 and G6 for a tick before the next wake, and that a peek
// changes nothing: neither has effects, and no later step answers differently.
func spurious[S any](t *testing.T, where string, cell reducer.Values[S], s S, now clock.Mark) {
	t.Helper()
	wake, ok := cell.NextWake(s)
	if ok && wake <= now {
		return
	}
	for _, kind := range []reducer.Kind{reducer.Tick, reducer.Peek} {
		ticked := cell.Clone(s)
		var out reducer.Out
		cell.Step(&ticked, reducer.Action{Kind: kind, Cost: 1}, now, &out)
		if len(out) > 0 {
			t.Fatalf("%s: G6: a %v before the next wake has effects: %v", where, kind, out)
		}
		if at, still := cell.NextWake(ticked); at != wake || still != ok {
			t.Fatalf("%s: G5: a %v before the next wake moved it from %v to %v", where, kind, wake, at)
		}
		for _, later := range []time.Duration{0, 1, time.Second} {
			same(t, where, cell, s, ticked, now.Add(later))
		}
	}
}

// same checks that no action distinguishes the states.
func same[S any](t *testing.T, where string, cell reducer.Values[S], s, other S, now clock.Mark) {
	t.Helper()
	for kind := reducer.Acquire; kind <= reducer.Reset; kind++ {
		if kind == reducer.Peek || kind == reducer.Tick {
			continue
		}
		a := reducer.Action{Kind: kind, Cost: 1, Outcome: reducer.Fail, Permit: reducer.Permit{Generation: 1, ID: 99, Mark: now}}
		next, effects := cell.Reduce(s, a, now)
		next2, effects2 := cell.Reduce(other, a, now)
		if effects.String() != effects2.String() || !bytes.Equal(cell.AppendState(nil, next), cell.AppendState(nil, next2)) {
			t.Fatalf("%s: G5: %v at %v distinguishes a state from the one before a peek or a spurious tick", where, a, now)
		}
	}
}

// served checks that a waiter is served no later than its answer said, if nothing
// else happens.
func (r *runner[S]) served(t *testing.T, where string, a reducer.Action, answer reducer.Answer, s S) {
	t.Helper()
	turn, ok := answer.Until()
	if !ok || a.Kind != reducer.Acquire {
		return
	}
	s = r.cell.Clone(s)
	var out reducer.Out
	r.until(&s, turn, &out)
	for _, e := range out {
		if e.Kind == reducer.Grant && e.Caller == a.ID {
			return
		}
	}
	t.Fatalf("%s: the answer has the turn %v, and then: %v", where, turn, out)
}

// until lets time pass up to the mark.
func (r *runner[S]) until(s *S, mark clock.Mark, out *reducer.Out) {
	for range serveLimit {
		wake, ok := r.cell.NextWake(*s)
		if !ok || wake > mark {
			return
		}
		pass(r.cell, s, wake, out)
	}
}

// exact checks L2: a refused caller is refused again before its retry mark and not
// at it, if only time passes.
func (r *runner[S]) exact(t *testing.T, where string, after S, a reducer.Action, answer reducer.Answer) {
	t.Helper()
	at, ok := answer.RetryAt()
	if !ok || answer.Reason == reducer.ReasonProbes || a.Kind == reducer.Reserve {
		return
	}
	for _, early := range []time.Duration{1, 0} {
		s := r.cell.Clone(after)
		when := max(at.Add(-early), r.now)
		var out reducer.Out
		r.until(&s, when, &out)
		again := a
		if deadline := a.Deadline(); deadline != clock.Never {
			again = a.WithDeadline(deadline.Add(when.Sub(r.now)))
		}
		refused := r.cell.Step(&s, again, when, &out).Verdict == reducer.Reject
		if refused != (when < at) {
			t.Fatalf("%s: L2: the retry mark is %v, and at %v it is refused: %v", where, at, when, refused)
		}
	}
}
