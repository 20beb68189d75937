package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/internal/testenv"
)

// holding is a caller of both: it waits for its places, or holds them.
type holding struct {
	n      uint32
	cancel context.CancelFunc
	place  sluice.Place
	// Each is set by one goroutine, and read when all are blocked.
	inBulkhead, inSemaphore bool
	left                    bool
}

// TestSemaphore compares a bulkhead whose callers take several places with
// semaphore.Weighted: the same callers hold their places after every step. Both grant in
// the order of arrival, so that a caller of many places is not overtaken.
func TestSemaphore(t *testing.T) {
	for n := range 300 * testenv.Times() {
		random := rand.New(rand.NewPCG(testenv.Seed(), uint64(n)))
		synctest.Test(t, func(t *testing.T) { compareWithSemaphore(t, random) })
	}
}

func compareWithSemaphore(t *testing.T, random *rand.Rand) {
	size := 1 + random.Uint32N(6)
	weighted := semaphore.NewWeighted(int64(size))
	b, err := sluice.NewBulkhead(bulkhead.Config{Concurrent: size, Queue: 100})
	if err != nil {
		t.Fatal(err)
	}
	var all []*holding
	of := func(held bool) *holding {
		i := slices.IndexFunc(all, func(h *holding) bool { return h.inSemaphore == held && !h.left })
		if i < 0 {
			return nil
		}
		return all[i]
	}
	for step := range 40 {
		switch random.IntN(5) {
		case 0, 1:
			ctx, cancel := context.WithCancel(t.Context())
			h := &holding{n: 1 + random.Uint32N(size), cancel: cancel}
			all = append(all, h)
			go func() {
				if place, err := b.AcquireN(ctx, h.n); err == nil {
					h.place, h.inBulkhead = place, true
				}
			}()
			go func() { h.inSemaphore = weighted.Acquire(ctx, int64(h.n)) == nil }()
		case 2:
			h := &holding{n: 1 + random.Uint32N(size+1), cancel: func() {}}
			h.place, h.inBulkhead = b.TryAcquireN(h.n)
			if h.inSemaphore = weighted.TryAcquire(int64(h.n)); h.inSemaphore || h.inBulkhead {
				all = append(all, h)
			}
		case 3:
			if h := of(true); h != nil {
				weighted.Release(int64(h.n))
				if !h.place.Release() {
					t.Error("the bulkhead has not held the places")
				}
				h.left = true
				h.cancel()
			}
		case 4:
			if h := of(false); h != nil {
				h.left = true
				h.cancel()
			}
		}
		synctest.Wait()
		for i, h := range all {
			if h.inBulkhead != h.inSemaphore {
				t.Fatalf("SLUICE_SEED=%d, step %d: caller %d of %d places of %d: bulkhead %v, semaphore %v",
					testenv.Seed(), step, i, h.n, size, h.inBulkhead, h.inSemaphore)
			}
		}
	}
	for _, h := range all {
		h.cancel()
	}
	synctest.Wait()
}
