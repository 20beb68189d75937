// Package demo shows a service that browns out, on real HTTP over loopback, to
// three kinds of callers.
//
// Three services of the same kind get the same calls at the same time. The callers
// of the first repeat a failed attempt at once. The callers of the second have what people
// write by hand: timeouts, backoff with jitter and a budget of retries. The callers of the
// third go through a policy. Everything that is shown is measured. Run measures, Simulate runs
// the same story in virtual time, Plain and Live show it while it runs, Table and Page
// afterwards.
package demo

import (
	"context"
	_ "embed" // for policy.yaml
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-go/sluice/policy"
)

// DefaultPolicy is the document that the demonstration comes with.
//
//go:embed policy.yaml
var DefaultPolicy []byte

// Side is one of the kinds of callers.
type Side int

// The sides.
const (
	Without Side = iota
	ByHand
	With
)

// Sides is how many there are.
const Sides = 3

var sideNames = [Sides]string{"no policy", "by hand", "the policy"}

// String names the side.
func (s Side) String() string { return sideNames[s] }

// View is a run so far.
type View struct {
	Scenario Scenario
	Now      time.Duration // since the start
	Logs     [Sides]Log    // by Side
	// Simulated says that time was virtual, and nothing was measured.
	Simulated bool
}

// Display shows a run while it runs.
type Display interface {
	// Every is how long the display wants to wait between two views.
	Every() time.Duration
	Show(View) error
}

// side is all that runs for one side.
type side struct {
	recorder recorder
	backend  *backend
	client   *client
	caller   caller
}

// Run runs the scenario to its end and returns what was measured. When the
// context ends before, or the display fails, it returns that error. Nothing runs
// any more when it returns.
func Run(ctx context.Context, s Scenario, p *policy.Policy, display Display) (View, error) {
	start := time.Now()
	var sides [Sides]side
	defer func() {
		for i := range sides {
			sides[i].close()
		}
	}()
	for i := range sides {
		if err := sides[i].begin(Side(i), s, p, start); err != nil {
			return View{}, err
		}
	}
	calls, cancel := context.WithCancelCause(ctx)
	defer time.AfterFunc(s.Total(), func() { cancel(errOver) }).Stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	running.Go(func() { load(calls, s, start, &sides) })
	over := make(chan struct{})
	go func() {
		running.Wait()
		close(over)
	}()
	view := func() View {
		now := min(time.Since(start), s.Duration)
		v := View{Scenario: s, Now: now}
		for i := range sides {
			v.Logs[i] = sides[i].recorder.snapshot()
		}
		return v
	}
	ticker := time.NewTicker(display.Every())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := display.Show(view()); err != nil {
				return View{}, err
			}
		case <-over:
			if ctx.Err() != nil && !errors.Is(context.Cause(calls), errOver) {
				return View{}, fmt.Errorf("interrupted after %s", round(time.Since(start)))
			}
			last := view()
			return last, display.Show(last)
		}
	}
}

// begin starts the service and the callers of a side.
func (d *side) begin(which Side, s Scenario, p *policy.Policy, start time.Time) (err error) {
	if d.backend, err = startBackend(s, start, &d.recorder); err != nil {
		return err
	}
	d.client = newClient(d.backend.url, start, &d.recorder)
	switch which {
	case Without:
		d.caller = &naive{client: d.client, attempts: s.Attempts, patience: s.Patience}
	case ByHand:
		d.caller = newByHand(d.client, s)
	case With:
		d.caller, err = newGuarded(d.client, p, s.Seed)
	}
	return err
}

// close ends what begin started. The clients go first, so that the service is
// left without connections.
func (d *side) close() {
	if d.client != nil {
		d.client.close()
	}
	if d.backend != nil {
		d.backend.close()
	}
}

// errOver cuts the calls that still run at the end of the run. They count as
// failed.
var errOver = errors.New("the demo is over")

// gaugeEvery is how often the queues are measured.
const gaugeEvery = 50 * time.Millisecond

// load makes the calls of the scenario on all sides, each at its time, and
// returns when all are over.
func load(ctx context.Context, s Scenario, start time.Time, sides *[Sides]side) {
	var running sync.WaitGroup
	defer running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	sleep := func(until time.Duration) bool {
		timer.Reset(until - time.Since(start))
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		}
	}
	gauge := time.Duration(0)
	for id, at := range s.Arrivals() {
		if !sleep(at) {
			return
		}
		if at >= gauge {
			gauge = at + gaugeEvery
			for i := range sides {
				sides[i].recorder.gauge(Gauge{At: time.Since(start), Waiting: int(sides[i].backend.waiting.Load())})
			}
		}
		for i := range sides {
			sides[i].recorder.late(time.Since(start) - at)
			running.Go(func() { sides[i].call(ctx, id, start) })
		}
	}
}

// call makes one call and records it, unless the run was interrupted.
func (d *side) call(ctx context.Context, id int, start time.Time) {
	c := Call{At: time.Since(start)}
	c.Result, c.Why = d.caller.call(ctx, id)
	c.Took = time.Since(start) - c.At
	if ctx.Err() == nil || context.Cause(ctx) == errOver {
		d.recorder.call(c)
	}
}

// round makes a duration readable.
func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
