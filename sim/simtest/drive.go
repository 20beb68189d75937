package simtest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

// Call is a call of a client of the scenario, which a function of the test makes.
type Call struct {
	// Client is the name of the client, Number the number of the call in its order,
	// from 1.
	Client string
	Number uint64
	// Key and Attributes that the scenario draws, empty for none, and the Cost in
	// permits.
	Key        string
	Attributes map[string]string
	Cost       uint32
}

// Header returns the name and the value of an HTTP header that names the call. A request
// with it belongs to the call also where a connection lies between the call's context
// and the service: request.Header.Set(call.Header()).
func (c Call) Header() (name, value string) {
	return "Simtest-Call", c.Client + "/" + strconv.FormatUint(c.Number, 10)
}

// Request returns what the call brings for sluice.DoWith.
func (c Call) Request() sluice.Request {
	cost := c.Cost
	if cost == 0 {
		cost = sluice.NoCost
	}
	return sluice.Request{Key: c.Key, Cost: cost, Lookup: func(name string) string { return c.Attributes[name] }}
}

// Caller makes a call by the code under test and returns how it ended: nil for ok, a
// sluice.RejectedError for a refusal, any other error for a failure. The context ends
// with the deadline of the scenario's client, when the client loses its patience, and
// at the end of the scenario. Calls run at the same time. Requests to services of the scenario belong to the call
// whose context they have.
type Caller func(ctx context.Context, call Call) error

// World is a scenario that runs in the virtual time of a bubble of testing/synctest.
type World struct {
	mu     sync.Mutex
	live   *engine.Live
	closed bool // nothing happens any more
	// start is the begin of the scenario, ctx ends with it.
	start    time.Time
	scenario *sim.Scenario
	ctx      context.Context
	// earlier has an element when the next event may come before the one that the
	// world waits for.
	earlier chan struct{}
	// named are the calls that are not over, by the value of their header.
	named  map[string]*engine.LiveCall
	calls  sync.WaitGroup
	caller Caller
	stops  []func()
}

// Drive runs a scenario against the code under test, once with each seed. In a bubble
// of testing/synctest it calls setup, which makes the clients and handlers under test
// and returns what makes a call; then the clients of the scenario call it, each call
// on a goroutine of its own, and the services of the World answer. The t of setup is
// the test of the bubble: its Cleanup functions run in the bubble when the scenario is
// over.
//
// The policies of the scenario's clients are not applied, since the code under test
// does that; policies of its services are. Clocks of clients do not jump: a scenario with
// jumps ends the test. A failure runs the setup again for each scenario that it tries.
//
// A call that is over before the end of the scenario counts with its error. Drive
// returns when all calls have returned, also those that the end has cut off.
func Drive(t *testing.T, s *Scenario, setup func(t *testing.T, w *World) Caller, options ...Option) *Runs {
	t.Helper()
	refuseJumps(t, s)
	execute := func(s *sim.Scenario, seed uint64, observe func(*engine.Event)) (result *sim.Result, err error) {
		synctest.Test(t, func(t *testing.T) { result, err = drive(t, s, seed, observe, setup) })
		return result, err
	}
	return start(&Runs{t: t, scenario: s, execute: execute, recorded: true}, options)
}

// refuseJumps ends the test of a scenario with clocks that jump.
func refuseJumps(t testing.TB, s *Scenario) {
	t.Helper()
	for i := range s.scenario.Clients {
		if c := &s.scenario.Clients[i]; len(c.Jumps) > 0 {
			t.Fatalf("simtest: client %s: the clock of real code cannot jump; allowed: a scenario without clock", c.Name)
		}
	}
}

func drive(t *testing.T, s *sim.Scenario, seed uint64, observe func(*engine.Event), setup func(*testing.T, *World) Caller) (result *sim.Result, err error) {
	ctx, end := context.WithCancel(context.Background())
	w := &World{scenario: s, start: time.Now(), ctx: ctx, earlier: make(chan struct{}, 1), named: map[string]*engine.LiveCall{}}
	w.live = engine.NewLive(s, engine.Options{Seed: seed, Seeded: true, Observe: observe}, w.begin)
	w.caller = setup(t, w)
	err = w.run()
	w.mu.Lock()
	if w.closed = true; err == nil {
		result = w.live.Finish()
	}
	w.mu.Unlock()
	end()
	for _, stop := range w.stops {
		stop()
	}
	w.calls.Wait()
	return result, err
}

// run lets the events of the scenario happen, until its end. Between two events
// everything that can run runs, so that the order does not depend on the scheduler:
// at one mark, what the code under test has due happens before events of the scenario.
func (w *World) run() error {
	end := clock.Mark(w.scenario.Duration)
	for {
		synctest.Wait()
		w.mu.Lock()
		now, next := w.now(), w.live.Next()
		if next <= now && now < end {
			err := w.live.Step()
			w.mu.Unlock()
			if err != nil {
				return err
			}
			continue
		}
		w.mu.Unlock()
		if now >= end {
			return nil
		}
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-timer.C:
		case <-w.earlier:
			timer.Stop()
		}
	}
}

// now returns the present mark of the scenario.
func (w *World) now() clock.Mark { return clock.Mark(time.Since(w.start)) }

// enter locks the world at the present mark. It returns false when the scenario is
// over.
func (w *World) enter() bool {
	w.mu.Lock()
	now := w.now()
	if w.closed || now >= clock.Mark(w.scenario.Duration) {
		w.mu.Unlock()
		return false
	}
	w.live.Advance(now)
	return true
}

// leave unlocks the world.
func (w *World) leave() {
	select {
	case w.earlier <- struct{}{}:
	default:
	}
	w.mu.Unlock()
}

// callKey is the key of a context's call.
type callKey struct{}

// begin makes a call of a client. The world is locked.
func (w *World) begin(c *engine.LiveCall) {
	ctx, cancel := context.WithCancel(context.WithValue(w.ctx, callKey{}, c))
	if c.Client.Deadline >= 0 {
		ctx, cancel = withDeadline(ctx, cancel, w.start.Add(time.Duration(w.now())).Add(c.Client.Deadline))
	}
	c.GiveUp = cancel
	call := Call{Client: c.Client.Name, Number: c.Number, Key: c.Key, Cost: c.Cost}
	for i := range c.Attributes {
		if call.Attributes == nil {
			call.Attributes = map[string]string{}
		}
		call.Attributes[c.Client.Attributes[i].Name] = c.Attributes[i]
	}
	_, name := call.Header()
	w.named[name] = c
	w.calls.Go(func() {
		defer cancel()
		err := w.caller(ctx, call)
		if w.enter() {
			delete(w.named, name)
			w.live.End(c, endOf(err))
			w.leave()
		}
	})
}

// withDeadline adds a deadline to a context. Its cancel function cancels both.
func withDeadline(parent context.Context, cancel context.CancelFunc, at time.Time) (context.Context, context.CancelFunc) {
	ctx, inner := context.WithDeadline(parent, at)
	return ctx, func() { inner(); cancel() }
}

// endOf says how a call ended. A refusal comes from the policy of the call: one that a
// retry has taken for the failure of its attempt is a failure.
func endOf(err error) engine.LiveEnd {
	retried := false
	for one := err; one != nil; one = errors.Unwrap(one) {
		switch e := one.(type) {
		case *sluice.RejectedError:
			if !retried {
				return engine.LiveEnd{Refused: true, Step: e.Step, Reason: e.Reason}
			}
		case *sluice.RetryError:
			retried = true
		case *sluice.TimeoutError:
			return engine.LiveEnd{Outcome: reducer.Timeout}
		}
	}
	if err == nil {
		return engine.LiveEnd{Outcome: reducer.OK}
	}
	var own sluice.Outcomer
	if errors.As(err, &own) && own.Outcome() != reducer.OK {
		return engine.LiveEnd{Outcome: own.Outcome()}
	}
	return engine.LiveEnd{Outcome: reducer.Fail}
}

// Watch counts the changes of the breakers of a pipeline as changes of a client, by its
// name, for RequireOpensWithin and the result. It panics for an unknown client.
func (w *World) Watch(client string, p *sluice.Pipeline) {
	for i := range w.scenario.Clients {
		if w.scenario.Clients[i].Name == client {
			w.stops = append(w.stops, p.Listen(func(e sluice.Event) {
				if e.Kind == decision.Change && w.enter() {
					w.live.Changed(i, e.Step, e.Mode)
					w.leave()
				}
			}))
			return
		}
	}
	panic("simtest: the scenario has no client " + client)
}
