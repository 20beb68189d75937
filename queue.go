package sluice

import (
	"context"
	"fmt"
	"time"
)

// DefaultQueueSize is how many items of a Queue wait for a worker.
const DefaultQueueSize = 100

// QueueConfig says how a Queue works through its items.
type QueueConfig[A any] struct {
	// Workers is how many items are under way at once, those that wait at a step of the
	// policy included, at most 2^31 - 1. Default 0: 1.
	Workers int
	// Size is how many more items wait for a worker, oldest first, at most 2^31 - 1.
	// Default 0: DefaultQueueSize.
	Size int
	// Wait is how long Put waits for room in a full queue. Default 0: DefaultPutWait. A
	// negative one waits as long as the context of Put.
	Wait time.Duration
	// Request makes the request of an item. Default nil: Request{}.
	Request func(item A) Request
	// OnDone is called with each item and its error, also with a dropped item, as
	// ExecutorConfig.OnDone is. nil for no call.
	OnDone func(item A, err error)
	// OnEmpty is called when the last waiting item has a worker or was dropped, OnIdle when
	// no item waits or is under way any more. nil for no call.
	OnEmpty, OnIdle func()
}

// Queue is a bounded queue of items and the workers that handle them, each guarded by a
// pipeline. An error or a panic of an item ends no worker. It is safe for concurrent
// use. NewQueue makes one; a zero Queue refuses every item.
type Queue[A any] struct {
	executor Executor
	request  func(A) Request
	handle   func(context.Context, A) error
}

// NewQueue makes an empty queue. The error is Pipeline.Err, or says which field is out of
// range.
func NewQueue[A any](p *Pipeline, c QueueConfig[A], handle func(ctx context.Context, item A) error) (*Queue[A], error) {
	switch {
	case c.Workers < 0:
		return nil, fmt.Errorf("sluice: Workers is %d; allowed: 1 or more, 0 for 1", c.Workers)
	case c.Size < 0:
		return nil, fmt.Errorf("sluice: Size is %d; allowed: 1 or more, 0 for %d", c.Size, DefaultQueueSize)
	case c.Workers > maxJobs:
		return nil, fmt.Errorf("sluice: Workers is %d; allowed: at most %d", c.Workers, maxJobs)
	case c.Size > maxJobs:
		return nil, fmt.Errorf("sluice: Size is %d; allowed: at most %d", c.Size, maxJobs)
	case c.Size == 0:
		c.Size = DefaultQueueSize
	}
	config := ExecutorConfig{Concurrent: max(1, c.Workers), Queue: c.Size, Wait: c.Wait, OnEmpty: c.OnEmpty, OnIdle: c.OnIdle}
	if c.OnDone != nil {
		config.OnDone = func(j *Job) {
			item, _ := j.item.(A) // an A that is a nil interface is no A
			c.OnDone(item, j.err)
		}
	}
	q := &Queue[A]{request: c.Request, handle: handle}
	if err := q.executor.init(p, config); err != nil {
		return nil, err
	}
	return q, nil
}

// Put puts an item in the queue, and waits for room for as long as QueueConfig.Wait says.
// ctx bounds this wait; the handler gets its values, not its end. The job is the job of the
// item. The error is a RejectedError of the step "queue" with ReasonFull, ErrShutdown, or the
// error of the context.
func (q *Queue[A]) Put(ctx context.Context, item A) (*Job, error) {
	return q.put(ctx, q.executor.config.Wait, item)
}

// TryPut is Put without a wait for room.
func (q *Queue[A]) TryPut(ctx context.Context, item A) (*Job, error) {
	return q.put(ctx, 0, item)
}

func (q *Queue[A]) put(ctx context.Context, wait time.Duration, item A) (*Job, error) {
	if q.executor.pipeline == nil {
		return nil, errZeroQueue
	}
	j := &Job{item: item, ctx: context.WithoutCancel(ctx), fn: func(ctx context.Context) error { return q.handle(ctx, item) }}
	if q.request != nil {
		j.request = q.request(item)
	}
	return q.executor.put(ctx, wait, "queue", j)
}

// Join waits until no item waits or is under way, and returns nil, or the error of the
// context.
func (q *Queue[A]) Join(ctx context.Context) error { return q.executor.Join(ctx) }

// Stop refuses new items and waits until all others are handled. When the context is over
// first, it drops those that wait and ends the contexts of the others, as
// Executor.Shutdown does.
func (q *Queue[A]) Stop(ctx context.Context) error { return q.executor.Shutdown(ctx) }

// Drop drops the items that wait for a worker, and returns them, oldest first.
func (q *Queue[A]) Drop() []A {
	dropped := q.executor.drop()
	items := make([]A, len(dropped))
	for i, j := range dropped {
		items[i], _ = j.item.(A)
	}
	return items
}

// Counts returns how many items wait and are under way now, and how many are over so far.
func (q *Queue[A]) Counts() ExecutorCounts { return q.executor.Counts() }

// Jobs returns the jobs of the items that are under way or wait, oldest first.
func (q *Queue[A]) Jobs() []*Job { return q.executor.Jobs() }
