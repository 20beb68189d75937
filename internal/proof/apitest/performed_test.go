package apitest_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/reducer"
)

// stage runs a log on a pipeline, a goroutine for each call.
type stage struct {
	pipeline *sluice.Pipeline
	began    time.Time
	live     sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*actor
}

// actor is a call of the log. Its function does what the log says.
type actor struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	started int                       // the number of the attempt that was admitted last
	running map[int]chan oracle.Event // by the number of the attempt
}

// performed runs the log in the bubble and returns what happened by call.
func performed(t *testing.T, p pipeline.Policy, events []oracle.Event) map[string][]string {
	pipe, err := sluice.New(p, sluice.WithSeed(0))
	require.NoError(t, err)
	return performedBy(t, pipe, events, func() {})
}

// performedBy is performed for a pipeline that has no calls yet. It calls ended after the
// last event, before it cancels the calls that are not over.
func performedBy(t *testing.T, pipe *sluice.Pipeline, events []oracle.Event, ended func()) map[string][]string {
	t.Helper()
	s := &stage{pipeline: pipe, began: time.Now(), calls: map[string]*actor{}}
	var mu sync.Mutex
	heard, origin, over := map[string][]string{}, attempt.Now(), false
	pipe.Listen(func(e sluice.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e.Kind {
		case decision.Change, decision.Lapse, decision.Full, decision.Configured:
			return // not lines of a call, or not at the mark of the log
		}
		if !e.Kind.Logged() {
			return
		}
		if e.Kind == decision.Admit {
			s.find(e.Key).admit(int(e.Attempt))
		}
		if !over {
			heard[e.Key] = append(heard[e.Key], line(e, e.At.Sub(origin)))
		}
	})
	for _, e := range events {
		// What is due at the mark happens before the event; a breaker changes
		// when a call asks it.
		time.Sleep(time.Until(s.began.Add(time.Duration(e.At))))
		synctest.Wait()
		pipe.State()
		s.apply(t, e)
		synctest.Wait()
	}
	mu.Lock()
	over = true
	mu.Unlock()
	ended()
	for _, a := range s.calls {
		a.cancel()
	}
	s.live.Wait()
	for _, step := range pipe.State() {
		require.Zero(t, step.Waiting, step.Step)
	}
	return heard
}

func (s *stage) apply(t *testing.T, e oracle.Event) {
	a := s.find(e.ID)
	switch {
	case e.Op == "call":
		s.call(e)
	case e.Op == "configure":
		require.NoError(t, s.pipeline.Configure(*e.Policy))
	case a != nil && (e.Op == "done" || e.Op == "renew"):
		a.order(e)
	case a != nil && e.Op == "cancel":
		a.cancel()
	}
}

// find returns the call of an id, nil for none.
func (s *stage) find(id string) *actor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

func (s *stage) call(e oracle.Event) {
	ctx, cancel := context.WithCancel(context.Background())
	if e.Deadline != nil {
		ctx, cancel = context.WithDeadline(ctx, time.Now().Add(time.Duration(*e.Deadline)))
	}
	a := &actor{cancel: cancel, running: map[int]chan oracle.Event{}}
	s.mu.Lock()
	s.calls[e.ID] = a
	s.mu.Unlock()
	request := sluice.Request{Key: e.ID, Cost: e.Cost, Lookup: func(name string) string { return e.Attributes[name] }}
	if e.Cost == 0 {
		request.Cost = sluice.NoCost
	}
	s.live.Go(func() {
		defer cancel()
		_, _ = sluice.DoWith(ctx, s.pipeline, request, a.attempt)
	})
}

// order sends a running attempt, the lowest one unless the event names another, the
// event with which it ends; it does nothing for an attempt that does not run.
func (a *actor) order(e oracle.Event) {
	a.mu.Lock()
	if e.Attempt == 0 && len(a.running) > 0 {
		e.Attempt = slices.Min(slices.Collect(maps.Keys(a.running)))
	}
	orders := a.running[e.Attempt]
	a.mu.Unlock()
	if orders != nil {
		orders <- e
	}
}

// admit notes the number of an attempt. One that a chaos step ends has no function.
func (a *actor) admit(number int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = number
}

func (a *actor) attempt(ctx context.Context) (int, error) {
	a.mu.Lock()
	number := a.started
	if n, _, hedged := sluice.AttemptOf(ctx); hedged {
		number = int(n)
	}
	orders := make(chan oracle.Event)
	a.running[number] = orders
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, number)
	}()
	for {
		select {
		case e := <-orders:
			if e.Op == "done" {
				if e.Used != nil {
					sluice.Used(ctx, uint32(*e.Used))
				}
				return number, told(e)
			}
			sluice.Renew(ctx)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// told returns an error that means what the event says.
func told(e oracle.Event) error {
	if e.Outcome == "ok" {
		return nil
	}
	err := &wish{}
	switch e.Outcome {
	case "fail":
		err.outcome = reducer.Fail
	case "throttle":
		err.outcome = reducer.Throttle
	default:
		err.outcome = reducer.Ignore
	}
	if e.RetryAfter != nil {
		err.told, err.after = true, time.Duration(*e.RetryAfter)
	}
	return err
}

// wish is an error with a meaning.
type wish struct {
	outcome reducer.Outcome
	after   time.Duration
	told    bool
}

func (w *wish) Error() string                     { return "wish" }
func (w *wish) Outcome() reducer.Outcome          { return w.outcome }
func (w *wish) RetryAfter() (time.Duration, bool) { return w.after, w.told }
