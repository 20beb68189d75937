package demo

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// byHand is what people write who know about retry storms: a time limit of the
// call and of each attempt, exponential backoff with full jitter, and a budget
// that bounds the retries by a share of the calls. Its numbers come from the
// demonstration's policy. It has no breaker, no limit and no bulkhead.
type byHand struct {
	*client
	scenario Scenario

	mu    sync.Mutex
	saved float64 // retries that the budget allows
}

func newByHand(c *client, s Scenario) *byHand {
	return &byHand{client: c, scenario: s, saved: s.Saved}
}

func (h *byHand) call(ctx context.Context, id int) (Result, string) {
	s := h.scenario
	h.save()
	ctx, cancel := context.WithTimeout(ctx, s.Deadline)
	defer cancel()
	random := rand.New(rand.NewPCG(s.Seed, uint64(id)))
	backoff := s.Backoff
	for number := 1; ; number++ {
		once, cancel := context.WithTimeout(ctx, s.Patience)
		err := h.attempt(once, id, number)
		cancel()
		if err == nil {
			return Good, ""
		}
		if number == s.Attempts || !h.spend() || !sleep(ctx, time.Duration(random.Int64N(int64(backoff)+1))) {
			return Failed, ""
		}
		backoff *= 2
	}
}

// save adds the share of a retry that each call allows.
func (h *byHand) save() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saved = min(h.saved+h.scenario.Budget, h.scenario.Saved)
}

// spend takes a retry from the budget, if there is one.
func (h *byHand) spend() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.saved < 1 {
		return false
	}
	h.saved--
	return true
}

// sleep waits, and says whether the context goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
