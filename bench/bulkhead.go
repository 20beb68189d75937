package main

import (
	"context"
	"runtime"

	"github.com/failsafe-go/failsafe-go"
	failsafebulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"golang.org/x/sync/semaphore"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/bulkhead"
)

const places = 100

func bulkheadTasks() []task {
	return []task{
		tryTask("bulkhead try", repeated, places),
		tryTask("bulkhead try, parallel", crowded, places),
		tryTask("bulkhead full", repeated, 0),
		tryTask("bulkhead full, parallel", crowded, 0),
		{name: "bulkhead acquire", allocs: 0, sluice: repeated(ourAcquire), peers: []peer{
			{"x/sync/semaphore", repeated(semaphoreAcquire), 0},
			{"failsafe-go permit", repeated(failsafeAcquire), 0},
		}},
		{name: "bulkhead acquire, contended", allocs: -1, sluice: contended(ourQueue), peers: []peer{
			{"channel", contended(channelAcquire), 1},
			{"x/sync/semaphore", contended(semaphoreQueue), 0},
		}},
		{name: "bulkhead do", allocs: 0, sluice: repeated(ourBulkhead), peers: []peer{
			{"failsafe-go executor", repeated(failsafeBulkhead), 0},
		}},
		{name: "bulkhead do, parallel", allocs: 0, sluice: crowded(ourBulkhead), peers: []peer{
			{"failsafe-go executor", crowded(failsafeBulkhead), 0},
		}},
	}
}

// tryTask takes a place and releases it, or is refused when no place is free.
func tryTask(name string, how func(caller) contender, free int) task {
	return task{name: name, allocs: 0, sluice: how(tried(ourTry, free)), peers: []peer{
		{"x/sync/semaphore", how(tried(semaphoreTry, free)), 0},
		{"failsafe-go permit", how(tried(failsafeTry, free)), 0},
	}}
}

// trier makes a bulkhead. Its use reports whether a place was free, and releases it
// if release is set.
type trier func(places int) func(release bool) bool

func tried(make trier, free int) caller {
	return func(context.Context) func() {
		try := make(places)
		for range places - free {
			try(false)
		}
		return func() {
			if try(true) != (free > 0) {
				panic("another result than that of the case")
			}
		}
	}
}

func newBulkhead(places int) *sluice.Bulkhead {
	return must(sluice.NewBulkhead(bulkhead.Config{Concurrent: uint32(places)}))
}

func ourTry(places int) func(bool) bool {
	b := newBulkhead(places)
	return func(release bool) bool {
		place, ok := b.TryAcquire()
		if ok && release {
			place.Release()
		}
		return ok
	}
}

func semaphoreTry(places int) func(bool) bool {
	s := semaphore.NewWeighted(int64(places))
	return func(release bool) bool {
		ok := s.TryAcquire(1)
		if ok && release {
			s.Release(1)
		}
		return ok
	}
}

func failsafeTry(places int) func(bool) bool {
	b := failsafebulkhead.New[int](uint(places))
	return func(release bool) bool {
		ok := b.TryAcquirePermit()
		if ok && release {
			b.ReleasePermit()
		}
		return ok
	}
}

func ourAcquire(ctx context.Context) func() {
	b := newBulkhead(places)
	return func() { must(b.Acquire(ctx)).Release() }
}

func ourFull(ctx context.Context) func() error {
	b := newBulkhead(1)
	must(b.Acquire(ctx))
	return func() error { _, err := b.Acquire(ctx); return err }
}

// queued is the number of places for the goroutines of a contended case, which yield
// while they hold one.
const queued = 8

func ourQueue(ctx context.Context) func() {
	b := must(sluice.NewBulkhead(bulkhead.Config{Concurrent: queued, Queue: 1000}))
	return func() {
		place := must(b.Acquire(ctx))
		runtime.Gosched()
		place.Release()
	}
}

func semaphoreQueue(ctx context.Context) func() {
	s := semaphore.NewWeighted(queued)
	return func() {
		good(s.Acquire(ctx, 1))
		runtime.Gosched()
		s.Release(1)
	}
}

func channelAcquire(ctx context.Context) func() {
	s := make(chan struct{}, queued)
	return func() {
		select {
		case s <- struct{}{}:
		case <-ctx.Done():
			panic(ctx.Err())
		}
		runtime.Gosched()
		<-s
	}
}

func semaphoreAcquire(ctx context.Context) func() {
	s := semaphore.NewWeighted(places)
	return func() {
		good(s.Acquire(ctx, 1))
		s.Release(1)
	}
}

func failsafeAcquire(ctx context.Context) func() {
	b := failsafebulkhead.New[int](places)
	return func() {
		good(b.AcquirePermit(ctx))
		b.ReleasePermit()
	}
}

func ourBulkhead(ctx context.Context) func() {
	b := newBulkhead(places)
	return func() { good(b.Do(ctx, job)) }
}

func failsafeBulkhead(context.Context) func() {
	e := failsafe.With[int](failsafebulkhead.New[int](places))
	return func() { done(e.Get(work)) }
}
