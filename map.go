package sluice

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/sluice-go/sluice/internal/runner"
)

// DefaultConcurrent is how many items or jobs run at once where a configuration has no
// number.
const DefaultConcurrent = 10

// MapConfig says how Map goes over its items.
type MapConfig[A any] struct {
	// Concurrent is how many items are under way at once, those that wait at a step of
	// the policy included. Default 0: DefaultConcurrent. Less than 0 is an error.
	Concurrent int
	// KeepGoing has the other items go on when one has failed. Default: the first error
	// ends the rest.
	KeepGoing bool
	// Request makes the request of an item. Default nil: Request{}.
	Request func(item A) Request
}

// ItemError is the error of an item of Map.
type ItemError struct {
	Index int // of the item
	Err   error
}

// Error implements error.
func (e *ItemError) Error() string { return fmt.Sprintf("sluice: item %d: %v", e.Index, e.Err) }

// Unwrap returns the error of the item.
func (e *ItemError) Unwrap() error { return e.Err }

// Map calls fn for every item, each call guarded by the pipeline, several at once, and
// returns the values in the order of the items. It returns when all calls have returned.
//
// The first error, an ItemError, ends the contexts of the calls under way, with that
// error as their cause, and no further item begins. With KeepGoing every item begins,
// and the error joins the errors of all items that failed, in their order. An item without a
// result has the value that its call returned with its error, or zero.
//
// When ctx is over, no further item begins, and the error is the error of the context where no
// item failed. A panic of fn ends the rest as an error does, is logged with its stack as one of
// a hedged attempt, and continues on the caller's goroutine.
func Map[A, T any](ctx context.Context, p *Pipeline, c MapConfig[A], items []A, fn func(ctx context.Context, item A) (T, error)) ([]T, error) {
	if c.Concurrent < 0 {
		return nil, fmt.Errorf("sluice: Concurrent is %d; allowed: 1 or more, 0 for %d", c.Concurrent, DefaultConcurrent)
	}
	if c.Concurrent == 0 {
		c.Concurrent = DefaultConcurrent
	}
	m := &mapping[A, T]{pipeline: p, config: c, items: items, fn: fn, values: make([]T, len(items)), errs: make([]error, len(items))}
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	defer m.cancel(nil)
	var workers sync.WaitGroup
	for range min(c.Concurrent, len(items)) {
		workers.Go(m.work)
	}
	workers.Wait()
	if m.crashed {
		m.repeat()
	}
	return m.values, m.result(ctx)
}

// mapping is a call of Map.
type mapping[A, T any] struct {
	pipeline *Pipeline
	config   MapConfig[A]
	items    []A
	fn       func(context.Context, A) (T, error)
	ctx      context.Context
	cancel   context.CancelCauseFunc
	values   []T
	errs     []error

	mu          sync.Mutex
	next        int
	interrupted bool  // an item that had begun was ended with the rest
	first       error // that ended the rest
	crashed     bool  // a function panicked or called runtime.Goexit
	panic       any   // nil after runtime.Goexit
}

// work calls the function for one item after the other.
func (m *mapping[A, T]) work() {
	returned := false
	defer func() {
		if !returned {
			m.crash(recover())
		}
	}()
	for i, ok := m.take(); ok; i, ok = m.take() {
		m.item(i)
	}
	returned = true
}

// take returns the index of the next item, and false when none may begin.
func (m *mapping[A, T]) take() (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == len(m.items) || m.ctx.Err() != nil {
		return 0, false
	}
	m.next++
	return m.next - 1, true
}

func (m *mapping[A, T]) item(i int) {
	item, q := m.items[i], Request{}
	if m.config.Request != nil {
		q = m.config.Request(item)
	}
	value, err := DoWith(m.ctx, m.pipeline, q, func(ctx context.Context) (T, error) { return m.fn(ctx, item) })
	m.values[i] = value
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if over := m.ctx.Err(); over != nil && errors.Is(err, over) {
		m.interrupted = true // with the rest
		return
	}
	m.errs[i] = &ItemError{i, err}
	if m.first == nil && !m.config.KeepGoing {
		m.first = m.errs[i]
		m.cancel(m.first)
	}
}

// crash ends the rest because a function did not return.
func (m *mapping[A, T]) crash(value any) {
	if value != nil {
		m.pipeline.logPanic(value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.crashed {
		m.crashed, m.panic = true, value
	}
	m.cancel(nil)
}

// logPanic logs a panic of a function that had a goroutine of its own, with the stack of
// the caller.
func (p *Pipeline) logPanic(value any) {
	if p.Err() == nil {
		p.engine.AttemptPanicked(p.Name(), 0, value, debug.Stack())
	}
}

// repeat repeats the panic or exit of a function on the caller's goroutine.
func (m *mapping[A, T]) repeat() {
	if m.panic == nil {
		runtime.Goexit()
	}
	panic(m.panic)
}

// result returns the error of Map.
func (m *mapping[A, T]) result(ctx context.Context) error {
	if m.first != nil {
		return m.first
	}
	if err := errors.Join(m.errs...); err != nil {
		return err
	}
	if m.interrupted || m.next < len(m.items) {
		return runner.Cancelled(ctx, nil)
	}
	return nil
}
