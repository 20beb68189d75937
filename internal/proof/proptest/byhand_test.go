package proptest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// byHand runs calls under a policy as a driver does, but without hidden state: the calls are
// values, and a Maker makes the cells. It steps through every nanosecond.
type byHand struct {
	plan  *pipeline.Plan
	cells [pipeline.MaxSteps]cell.Cell
	calls []*pipeline.Call
	now   clock.Mark
	log   []string
	// restore decodes a cell.
	restore func(c cell.Cell, src []byte) error
}

func newByHand(p pipeline.Policy) *byHand {
	b := &byHand{plan: must(pipeline.Compile(p)), restore: cell.Cell.Restore}
	for i := range b.plan.Len() {
		if maker := b.plan.Maker(i); maker != nil {
			b.cells[i] = maker.New(start)
		}
	}
	return b
}

// restored is the same run after a snapshot: the cells are decoded from their bytes,
// and the calls are copied as values.
func (b *byHand) restored() (*byHand, error) {
	next := *b
	next.calls = nil
	for n, c := range b.calls {
		saved := b.plan.AppendCall(nil, c)
		call, err := b.plan.DecodeCall(saved)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", n, err)
		}
		if again := b.plan.AppendCall(nil, call); !bytes.Equal(saved, again) {
			return nil, fmt.Errorf("call %d is %x, restored %x", n, saved, again)
		}
		next.calls = append(next.calls, call)
	}
	for i, c := range b.cells {
		if c == nil {
			continue
		}
		saved := c.AppendState(nil)
		next.cells[i] = b.plan.Maker(i).New(b.now + 1_000)
		if err := b.restore(next.cells[i], saved); err != nil {
			return nil, err
		}
		if again := next.cells[i].AppendState(nil); !bytes.Equal(saved, again) {
			return nil, fmt.Errorf("the cell of %s is %x, restored %x", b.plan.StepName(i), saved, again)
		}
	}
	return &next, nil
}

// hand is the host of one call.
type hand struct {
	*byHand
	n int
}

// Admit implements pipeline.Host. It acquires every permit by an action.
func (h hand) Admit(uint8, int) (p reducer.Permit, ok bool) { return p, false }

// Ask implements pipeline.Host.
func (h hand) Ask(_ uint8, i int, a reducer.Action) reducer.Answer {
	if a.Kind == reducer.Acquire {
		a.ID = uint64(h.n)<<4 | uint64(i)
	}
	answer := h.step(i, a)
	h.log = append(h.log, fmt.Sprintf("%s call %d at %d: %s", h.now, h.n, i, answer))
	return answer
}

// Exit implements pipeline.Host.
func (h hand) Exit(uint8, int, reducer.Permit) bool { return false }

// Leave implements pipeline.Host.
func (h hand) Leave(_ uint8, i int, a reducer.Action) (dropped uint64, settled bool) {
	answer := h.step(i, a)
	return pipeline.Left(a.Kind, &answer)
}

// Missing implements pipeline.Host.
func (h hand) Missing(int) bool { return false }

// Start implements pipeline.Host.
func (h hand) Start(uint8) {}

// Stop implements pipeline.Host.
func (h hand) Stop(uint8) {}

// Decision implements pipeline.Host.
func (h hand) Decision(kind decision.Kind, i int) *decision.Decision {
	return &decision.Decision{At: h.now, Kind: kind, Index: i}
}

// Tell implements pipeline.Host.
func (h hand) Tell(d *decision.Decision) {
	h.log = append(h.log, fmt.Sprintf("call %d: %+v", h.n, *d))
}

// step steps the cell of a step, and delivers the effects to the calls.
func (b *byHand) step(i int, a reducer.Action) reducer.Answer {
	var out reducer.Out
	answer := b.cells[i].Step(a, b.now, &out)
	for _, e := range out {
		event := pipeline.Event{Step: uint8(e.Caller & 15)}
		switch e.Kind {
		case reducer.Grant:
			event.Kind, event.Answer = pipeline.Granted, reducer.Admitted(e.Permit)
		case reducer.Drop:
			event.Kind, event.Answer = pipeline.Dropped, reducer.Answer{Reason: e.Reason}
		default:
			b.log = append(b.log, fmt.Sprintf("%s %s", b.now, e))
			continue
		}
		b.tell(int(e.Caller>>4), event)
	}
	return answer
}

// tell passes an event to a call, and performs the effect that follows.
func (b *byHand) tell(n int, event pipeline.Event) {
	b.plan.Happen(hand{b, n}, b.calls[n], &event, b.now)
}

// pass advances time to the mark: ends of waits, leases and breakers, queues, then
// attempts.
func (b *byHand) pass(to clock.Mark) {
	for b.now < to {
		b.now++
		for n := range b.calls {
			b.end(n)
		}
		for i, c := range b.cells {
			if c != nil && c.Due().Ends <= b.now {
				b.step(i, reducer.Action{Kind: reducer.Tick})
			}
		}
		b.serve()
		for n := range b.calls {
			if b.plan.ResumesAt(b.calls[n]) <= b.now {
				b.tell(n, pipeline.Event{Kind: pipeline.Resumed})
			}
		}
		b.serve()
	}
}

// end ends a call whose ends are due.
func (b *byHand) end(n int) {
	if c := b.calls[n]; c.Phase != pipeline.Over && b.plan.EndsAt(c) <= b.now {
		b.tell(n, pipeline.Event{Kind: pipeline.Woken})
	}
	c := b.calls[n]
	if c.Phase != pipeline.Waiting || c.Until > b.now {
		return
	}
	i := int(c.At)
	answer := b.step(i, reducer.Action{Kind: reducer.Expire, Permit: reducer.Permit{ID: c.Slots[i].ID}})
	if answer.Verdict == reducer.Wait {
		b.plan.WaitUntil(b.calls[n], pipeline.Wait{Step: c.At}, b.now+1) // its turn is at the same mark
		return
	}
	b.tell(n, pipeline.Event{Kind: pipeline.Dropped, Step: c.At, Answer: answer})
}

func (b *byHand) serve() {
	for i, c := range b.cells {
		for c != nil {
			if c.Due().Serves > b.now {
				break
			}
			b.step(i, reducer.Action{Kind: reducer.Serve})
		}
	}
}

// happen performs the event of a word, as flow does.
func (b *byHand) happen(w uint64) {
	n := len(b.calls)
	switch {
	case w%8 < 4 || n == 0:
		// Calls keep their indexes: effects of later steps may refer to them.
		b.calls = append(b.calls, &pipeline.Call{})
		effect := b.plan.Begin(b.calls[n], uint32(pick(w>>16, 1, 1, 1, 2, 0)), clock.Never, 0)
		b.plan.Take(hand{b, n}, b.calls[n], effect, b.now)
	case w%8 < 7:
		b.tell(recent(n, w>>24), pipeline.Event{Kind: pipeline.Finished, Outcome: pick(w>>16, reducer.Fail, reducer.OK, reducer.Fail, reducer.Throttle, reducer.Ignore)})
	default:
		b.tell(recent(n, w>>24), pipeline.Event{Kind: pipeline.Abandoned})
	}
	b.serve()
}

// underWay is how many calls run, wait in a queue or sleep between attempts.
func (b *byHand) underWay() (n int) {
	for i := range b.calls {
		if b.calls[i].Phase != pipeline.Over {
			n++
		}
	}
	return n
}

// G9Calls: a policy with calls that run, wait and sleep decides the same when it is
// restored after every event.
func G9Calls(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	a, b := newByHand(p), m.hands(p)
	for _, w := range h.steps() {
		for _, run := range [...]*byHand{a, b} {
			run.pass(run.now + pause(w))
			run.happen(w)
		}
		if a.underWay() > 0 {
			m.meet()
		}
		restored, err := b.restored()
		if err != nil {
			return fmt.Errorf("G9: %w", err)
		}
		b = restored
		if x, y := a.log, b.log; !slices.Equal(x, y) {
			return fmt.Errorf("G9: %q, restored %q", x[max(0, len(x)-4):], y[max(0, len(y)-4):])
		}
		a.log, b.log = nil, nil
	}
	return nil
}
