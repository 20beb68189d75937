package sluice

import (
	"iter"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/internal/runner"
)

// CellState is the state of one cell at one moment: of a mechanism alone, of a step that
// all calls share, or of one key of a step. Fields that the mechanism does not have are
// zero.
type CellState struct {
	// Mode of a breaker.
	Mode breaker.Mode
	// Since is how long a breaker has been in Mode; 0 where it has not changed since it
	// was made, and for the cell of a key.
	Since time.Duration
	// Left is how long an open breaker refuses yet; 0 in other modes.
	Left time.Duration
	// Counts of a breaker are the outcomes in its window, half-open those of its probes.
	Counts breaker.Counts
	// MeanTime is the mean duration of the calls that a breaker has counted and measured
	// since it was made. A Breaker alone measures where its configuration needs the time
	// or it has a listener, a step in every call; for the cell of a key it is 0.
	MeanTime time.Duration
	// Free is how many permits or places are free.
	Free uint32
	// InUse is how many places of a bulkhead or of an adaptive limit are held.
	InUse uint32
	// Places is how many places a bulkhead or an adaptive limit has now. After they were
	// lowered, more may be in use.
	Places uint32
	// Waiting is how many callers are in the queue.
	Waiting int
	// Text is the state in one line for people.
	Text string
}

// Keys returns the keys of the step with their states. It takes nothing and is no use of a
// key. It yields nothing where the policy has no such step or the step has no keys.
// Another goroutine may change a state before it is yielded.
func (p *Pipeline) Keys(step string) iter.Seq2[string, CellState] {
	return func(yield func(string, CellState) bool) {
		if p.Err() != nil {
			return
		}
		for key, s := range p.engine.Keys(step) {
			if !yield(key, CellState(s)) {
				return
			}
		}
	}
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
	return CellState(s)
}

// State returns the state of a key, and false for a key that the limiter does not know,
// which has all its permits. It takes nothing and is no use of the key.
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
	return CellState(runner.StateOf(r.Cell(), 0, now)), true
}

// State returns the state of the bulkhead: its places and the callers that wait.
func (b *Bulkhead) State() CellState {
	if b.settings == nil {
		return CellState{}
	}
	return CellState(b.cell.State(b.settings.Now()))
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
	return CellState(s)
}
