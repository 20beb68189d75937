package sluice

import (
	"iter"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/runner"
)

// CellState is the state of one cell at one moment: of a mechanism alone, of a step, or of a
// key of a step.
type CellState = api.CellState

// Keys returns the keys of the step with their states. It takes no permit and does not count as
// a use of a key. It yields nothing where the policy has no such step or the step has no keys.
// Another goroutine may change a state before it is yielded.
func (p *Pipeline) Keys(step string) iter.Seq2[string, CellState] {
	if p.Err() != nil {
		return func(func(string, CellState) bool) {}
	}
	return p.engine.Keys(step)
}

// State returns the state of the limiter: its free permits and the callers that wait.
func (l *Limiter) State() CellState {
	if l.settings == nil {
		return CellState{}
	}
	b, now := l.cell, l.settings.Now()
	b.Lock()
	l.lock()
	b.CatchUp(now)
	s := b.StateOf(now)
	l.unlock(now)
	b.Settle(now)
	return s
}

// State returns the state of a key, and false for a key that the limiter does not know,
// which has all its permits. Reading takes no permit and does not count as a use of the key.
func (l *KeyedLimiter) State(key string) (s CellState, ok bool) {
	if l.settings == nil {
		return CellState{}, false
	}
	now := l.settings.Now()
	r, ok := l.cells.Find(key)
	if !ok {
		return CellState{}, false
	}
	defer r.Unlock()
	if word, bucket := r.Word(); word != nil {
		return CellState{Free: peekBucket(bucket, clock.Mark(*word), 1, now).Free, Text: r.Text(now)}, true
	}
	return runner.StateOf(r.Cell(), 0, now), true
}

// State returns the state of the bulkhead: its places and the callers that wait.
func (b *Bulkhead) State() CellState {
	if b.settings == nil {
		return CellState{}
	}
	return b.cell.State(b.settings.Now())
}

// State returns the state of the breaker: its mode, its counts and the time that is left.
func (b *Breaker) State() CellState {
	if b.settings == nil {
		return CellState{}
	}
	b.Mode()
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.settings.Now()
	s := runner.StateOf(b.cell, 0, now)
	if b.since != clock.Always {
		s.Since = max(0, now.Sub(b.since))
	}
	if b.measured > 0 {
		s.MeanTime = b.took / time.Duration(b.measured)
	}
	return s
}
