package proptest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// G15: the figures of a state are a fold of its answers and effects. Places held,
// callers waiting, a breaker's state and how often it opened equal the counts of an
// observer of the answers and effects.
func G15(m machine, h history) error {
	r, _ := rigged(m, h)
	held, waiting, openings := 0, map[uint64]bool{}, uint32(0) // waiting by ticket
	tickets := map[uint64]uint64{}                             // by caller
	state := breaker.Closed
	seen := 0
	for _, w := range h.steps() {
		r.next(w)
		for ; seen < len(r.log); seen++ {
			x := r.log[seen]
			asks := x.action.Kind == reducer.Acquire || x.action.Kind == reducer.TryAcquire
			ends := x.action.Kind == reducer.Release || x.action.Kind == reducer.Cancel
			switch {
			case asks && x.answer.Verdict == reducer.Admit:
				held += max(1, int(x.action.Cost))
			case ends && x.answer.Verdict == reducer.Done:
				held -= max(1, int(x.action.Cost))
			case x.answer.Verdict == reducer.Wait:
				waiting[x.answer.ID], tickets[x.action.ID] = true, x.answer.ID
			case x.action.Kind == reducer.Leave && x.answer.Verdict == reducer.Done:
				delete(waiting, x.action.ID)
			}
			for _, e := range x.out {
				switch e.Kind {
				case reducer.Grant:
					held += max(1, int(r.costOf(e.Caller)))
					delete(waiting, tickets[e.Caller])
				case reducer.Drop:
					delete(waiting, tickets[e.Caller])
				case reducer.Lapse:
					held -= max(1, int(r.costOf(e.Caller)))
				case reducer.Change:
					if state = breaker.Mode(e.Permit.ID); state == breaker.Open {
						openings++
					}
				}
			}
		}
		is := r.subject.Look()
		if held > 0 || len(waiting) > 0 || state != breaker.Closed {
			m.meet()
		}
		switch c := is.breaker; {
		case m.kind == bulkheads && int(is.held) != held, len(is.waiters) != len(waiting):
			return fmt.Errorf("G15: %d are held and %d wait, by the answers %d and %d", is.held, len(is.waiters), held, len(waiting))
		case c != nil && (c.Mode != state || c.Openings != openings):
			return fmt.Errorf("G15: %s after %d openings, by the answers %s after %d", c.Mode, c.Openings, state, openings)
		}
	}
	return r.err
}

// observed is a runner whose events a Metrics receives.
var observed = machine{name: "Metrics of the Go runner", counts: func(p *sluice.Pipeline, observe func(sluice.Event)) { p.Listen(observe) }}

var errDrawn = errors.New("drawn")

// books are the records of the callers.
type books struct {
	calls, attempts, ok, failed, refused, retried uint64
	elapsed                                       time.Duration
}

// G15Metrics: the counts of Metrics for a pipeline are the counts of its callers: calls,
// attempts, refusals, retries, ends, and the time that they took; and the breaker's last change
// is its state.
func G15Metrics(m machine, h history) error {
	clock := &clock.Virtual{}
	w := h.word(0)
	again := pipeline.Step{Name: "again", Config: retry.Config{Attempts: 1 + uint32(w%3)}}
	guard := pipeline.Step{Name: "breaker", Config: drawBreaker(w>>2, breaker.Calls, false)}
	pipeline.Edit(&guard, func(c *breaker.Config) { c.Open = backoff.Config{Kind: backoff.Constant, Base: 8} })
	limit := pipeline.Step{Name: "limit", Config: drawLimit(w>>20, 0, alone)}
	p := must(sluice.New(pipeline.Policy{Name: "p", Steps: []pipeline.Step{again, guard, limit}}, sluice.WithClock(clock)))
	var metrics sluice.Metrics
	m.counts(p, metrics.Observe)
	mode := breaker.Closed.String()
	p.Listen(func(e sluice.Event) {
		if e.Kind == decision.Change {
			mode = e.Mode.String()
		}
	})
	var b books
	for _, w := range h.steps() {
		clock.Advance(time.Duration(w % 8 * (w >> 3 % 2)))
		b.call(p, clock, w)
		if err := b.agree(metrics.Snapshot()); err != nil {
			return fmt.Errorf("G15: %w", err)
		}
		for _, state := range p.State() {
			if state.Kind == mechanism.Breaker && state.Mode != mode {
				return fmt.Errorf("G15: the breaker is %s, by its changes %s", state.Mode, mode)
			}
		}
		if b.refused > 0 && b.retried > 0 {
			m.meet()
		}
	}
	return nil
}

// call makes a call whose attempts take their time and end as the word says.
func (b *books) call(p *sluice.Pipeline, clock *clock.Virtual, w uint64) {
	began, attempts := clock.Now(), uint64(0)
	_, err := sluice.Do(context.Background(), p, func(context.Context) (int, error) {
		attempts++
		clock.Advance(time.Duration(w >> 8 % 4))
		if w>>(16+attempts)%2 == 0 {
			return 0, errDrawn
		}
		return 1, nil
	})
	b.calls++
	b.attempts += attempts
	b.elapsed += clock.Now().Sub(began)
	switch {
	case errors.Is(err, sluice.ErrRejected):
		b.refused++
		b.retried += attempts // each was followed by another attempt, of which the last one was refused
	case err == nil:
		b.ok++
		b.retried += attempts - 1
	default:
		b.failed++
		b.retried += attempts - 1
	}
}

func (b *books) agree(s sluice.MetricsSnapshot) error {
	counted := books{calls: s.Calls, elapsed: s.Elapsed}
	for key, n := range s.Decisions {
		switch {
		case key.Kind == decision.Admit:
			counted.attempts += n
		case key.Kind == decision.Reject:
			counted.refused += n
		case key.Kind == decision.Retry:
			counted.retried += n
		case key.Kind == decision.End && key.Outcome == reducer.OK:
			counted.ok += n
		case key.Kind == decision.End:
			counted.failed += n
		}
	}
	if counted != *b {
		return fmt.Errorf("counted %+v, seen %+v", counted, *b)
	}
	return nil
}
