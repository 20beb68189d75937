package linearizability

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// kind says what an operation does with a cell.
type kind uint8

const (
	ask  kind = iota // asks for a permit
	end              // ends a wait
	give             // sends an action about a permit
	look             // sends any other action
	pass             // time passes
)

// op is the input of an operation: one step of a cell. What a caller calls once
// may be several of them, which follow each other.
type op struct {
	kind   kind
	call   int // the caller's call, of which this is the nth step
	nth    int
	req    int // the request that the permit or the place in the queue belongs to
	cell   int
	key    string
	action reducer.Action
	wait   time.Duration // of a Reserve
	marks  []clock.Mark  // one of these is its mark
	more   bool          // the call asks another cell next
}

// seen is the output of an operation, as far as the caller sees it.
type seen struct {
	verdict reducer.Verdict // of ask; either when the wait may have had no length
	fate    fate            // of end
	reason  reducer.Reason
	after   time.Duration // retry after, negative for none
	told    bool          // reason and after are known, or whether a give was Done
	done    bool          // of give
	delay   time.Duration // of a reservation
	free    uint32        // of Peek
	mode    breaker.Mode  // of Tick
}

// either says that an ask was admitted at once or waited.
const either = reducer.Verdict(200)

// model is the sequential model of a history.
type model struct {
	cells []cell
	// exact: time does not advance while a client is in the runner, so that marks
	// are exact and never go back.
	exact bool
	// locked: the runner reads the clock while it holds the cell, so that the
	// passing of time is an operation like all others.
	locked bool
	// loose: keys that have no cell share one, and may be refused for it.
	loose bool
	// void: the history cannot be compared.
	void bool

	calls, requests int
	kept            []bool // requests that come up again
}

var hashes = maphash.MakeSeed()

// prepare reads the operations that a history will ask of the model, and returns those
// to check.
func (m *model) prepare(h *history) (ops []porcupine.Operation) {
	m.calls, m.requests = int(h.calls.Load()), int(h.requests.Load())
	m.kept = make([]bool, m.requests)
	for _, o := range h.ops {
		switch o := o.Input.(*op); o.kind {
		case end, give:
			m.kept[o.req] = true
		}
		if m.locked || o.Input.(*op).kind != pass {
			ops = append(ops, o)
		}
	}
	return ops
}

// check searches for a linearization.
func (m *model) check(history []porcupine.Operation) (porcupine.CheckResult, porcupine.Model) {
	p := (&porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{m.init()} },
		Step:      func(state, in, out any) []any { return m.step(state.(*world), in.(*op), out.(*seen)) },
		Equal:     func(a, b any) bool { return a.(*world).id == b.(*world).id },
		Hash:      func(s any) uint64 { return maphash.String(hashes, s.(*world).id) },
		DescribeOperation: func(in, out any) string {
			return in.(*op).String() + " -> " + out.(*seen).String()
		},
		DescribeState: func(s any) string { return fmt.Sprintf("%+v", s.(*world).requests) },
	}).ToModel()
	return porcupine.CheckOperationsTimeout(p, history, patience), p
}

// byKey splits a history by key: cells of different keys are independent.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	var parts [][]porcupine.Operation
	at := map[string]int{}
	for _, o := range history {
		key := o.Input.(*op).key
		if _, ok := at[key]; !ok {
			at[key] = len(parts)
			parts = append(parts, nil)
		}
		parts[at[key]] = append(parts[at[key]], o)
	}
	return parts
}

func (m *model) init() *world {
	w := &world{requests: make([]request, m.requests), calls: make([]progress, m.calls)}
	for _, c := range m.cells {
		w.cells = append(w.cells, c.clone())
	}
	w.seal()
	return w
}

// step returns the worlds after an operation at each of its marks.
func (m *model) step(w *world, o *op, s *seen) (all []any) {
	if w.calls[o.call].steps != o.nth || m.locked && o.kind != pass && !slices.Contains(o.marks, w.now) {
		return nil
	}
	for _, at := range o.marks {
		if m.locked && (at != w.now) != (o.kind == pass) {
			continue
		}
		// What a call asks of several cells it asks at one mark.
		if m.exact && at < w.now || o.kind == ask && o.nth > 0 && at != w.calls[o.call].at {
			continue
		}
		for _, from := range m.forgotten(w, o, at) {
			next := &world{cells: from, requests: slices.Clone(w.requests), calls: slices.Clone(w.calls)}
			if m.exact || m.locked {
				next.now = at
			}
			next.calls[o.call] = progress{steps: o.nth + 1}
			if o.more {
				next.calls[o.call].at = at
			}
			if m.apply(next, o, s, at) {
				next.seal()
				all = append(all, next)
			}
		}
	}
	return all
}

// forgotten returns the cells as they are, and as they are if the cell of a key was
// forgotten or is not made yet. Another caller may make it first, at a later mark,
// and take its own step after this one.
func (m *model) forgotten(w *world, o *op, at clock.Mark) [][]subject {
	all := [][]subject{slices.Clone(w.cells)}
	if o.key == "" || m.exact {
		return all
	}
	old := w.cells[o.cell]
	now, _ := old.anew(at)
	for _, made := range o.marks {
		s, ok := old.anew(made)
		if !ok || made < at || made > at && bytes.Equal(s.encode(nil), now.encode(nil)) {
			continue
		}
		all = append(all, slices.Clone(w.cells))
		all[len(all)-1][o.cell] = s
	}
	return all
}
