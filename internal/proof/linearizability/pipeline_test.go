package linearizability

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// pipelines are the operations of a pipeline that the histories use.
type pipelines struct {
	do      func(ctx context.Context, q sluice.Request, fn func(context.Context) error) error
	begin   func(ctx context.Context, q sluice.Request) (*sluice.Call, error)
	done    func(c *sluice.Call, o reducer.Outcome)
	release func(c *sluice.Call)

	steps  []pipeline.Step
	waits  []bool // by step
	cancel bool   // callers may cancel: there is at most one queue
	keys   []string
}

// pipelinesOf has each call made by the next one of some pipelines that share all cells:
// to its callers they are one pipeline.
func pipelinesOf(all ...*sluice.Pipeline) *pipelines {
	var calls atomic.Uint64
	next := func() *sluice.Pipeline { return all[calls.Add(1)%uint64(len(all))] }
	return &pipelines{
		do: func(ctx context.Context, q sluice.Request, fn func(context.Context) error) error {
			_, err := sluice.DoWith(ctx, next(), q, func(ctx context.Context) (int, error) { return 0, fn(ctx) })
			return err
		},
		begin: func(ctx context.Context, q sluice.Request) (*sluice.Call, error) { return next().Begin(ctx, q) },
		done:  (*sluice.Call).Done, release: (*sluice.Call).Release,
		keys: []string{""},
	}
}

// shared draws the steps of another draw, as mechanisms that several pipelines share.
func shared(draw func(*history) []pipeline.Step) func(*history) []pipeline.Step {
	return func(h *history) []pipeline.Step {
		all := draw(h)
		for i := range all {
			all[i].Mechanism = all[i].Kind().String()
		}
		return all
	}
}

// steps draws a breaker, a limit and a bulkhead in any order.
func steps(h *history) []pipeline.Step {
	b := breakerConfig(h)
	b.SlowOver, b.SlowRate = 0, reducer.Share{} // a history does not show when a call starts
	l := limiter.Config{Algorithm: limiter.Algorithm(h.rng.IntN(2)), Count: 1 + h.rng.Uint32N(3)}
	l.Period = time.Duration(l.Count) * time.Duration(1+h.rng.IntN(2)) * unit
	k := bulkhead.Config{Concurrent: 1 + h.rng.Uint32N(2)}
	if h.marks == nil && h.rng.IntN(2) == 0 {
		l.Wait, l.Queue, l.Order = time.Duration(1+h.rng.IntN(4))*unit, 1+h.rng.Uint32N(2), limiter.Order(h.rng.IntN(2))
	}
	if h.marks == nil && h.rng.IntN(2) == 0 {
		k.Queue, k.Wait, k.Order = 1+h.rng.Uint32N(2), time.Duration(1+h.rng.IntN(3))*unit, limiter.Order(h.rng.IntN(2))
	}
	if h.rng.IntN(4) == 0 {
		k.Lease = time.Duration(1+h.rng.IntN(3)) * unit
	}
	if h.rng.IntN(3) == 0 {
		k.Concurrent++
		k.Cost.Permits = 1 + h.rng.Uint32N(2)
	}
	all := []pipeline.Step{
		{Config: b}, {Config: l}, {Config: k},
	}
	h.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// piping plays a pipeline with the steps that it draws, and most keys, with a
// defect or without.
func piping(draw func(*history) []pipeline.Step, most, keys int, defect func(*pipelines)) scenario {
	return func(h *history) *model {
		all := draw(h)
		h.config = fmt.Sprintf("%+v", all)
		list := make([]*sluice.Pipeline, 1)
		if all[0].Mechanism != "" {
			list = make([]*sluice.Pipeline, 3)
		}
		var mechanisms sluice.Mechanisms
		for i := range list {
			var err error
			list[i], err = sluice.New(pipeline.Policy{Name: "p", Steps: all}, sluice.WithClock(h), sluice.WithMaxKeys(most), sluice.WithMechanisms(&mechanisms))
			if err != nil {
				panic(err)
			}
		}
		p := list[0]
		runner := pipelinesOf(list...)
		m := &model{loose: all[0].WhenFull == keyed.FullShare}
		if keys > 0 {
			runner.keys = letters[:keys]
		}
		runner.steps = all
		queues := 0
		for _, s := range all {
			m.cells = append(m.cells, cellOf(s))
			waits := pipeline.ConfigOf[limiter.Config](s).Queue+pipeline.ConfigOf[bulkhead.Config](s).Queue > 0
			runner.waits = append(runner.waits, waits)
			if waits {
				queues++
			}
		}
		runner.cancel = h.marks == nil && queues < 2
		if defect != nil {
			defect(runner)
		}
		h.play(runner.client)
		for _, s := range p.State() {
			// A key that is used again after its eviction starts as new, and may
			// hold something in the spare cell.
			m.void = m.void || s.Evictions > 0 || s.Shared > 0 && !m.loose
		}
		return m
	}
}

func cellOf(s pipeline.Step) cell {
	switch {
	case s.Kind() == mechanism.Breaker:
		return breakerCell(pipeline.ConfigOf[breaker.Config](s))
	case s.Kind() == mechanism.Bulkhead:
		return bulkheadCell(pipeline.ConfigOf[bulkhead.Config](s))
	case pipeline.ConfigOf[limiter.Config](s).Queue > 0:
		return queuedCell(pipeline.ConfigOf[limiter.Config](s))
	}
	return limitCell(pipeline.ConfigOf[limiter.Config](s))
}

func (p *pipelines) client(c *client) {
	for range 3 {
		c.rest()
		if c.rng.IntN(3) == 0 {
			p.begins(c)
		} else {
			p.does(c)
		}
	}
}

// invocation is a running call of a pipeline.
type invocation struct {
	*client
	p       *pipelines
	key     string
	cost    uint32
	first   int // of its requests, one for each step
	settled func() bool
}

func (p *pipelines) invoke(c *client) (*invocation, context.Context, sluice.Request) {
	ctx, settled := context.Background(), func() bool { return false }
	if p.cancel {
		ctx, settled = c.context(false)
	}
	i := &invocation{client: c, p: p, key: p.keys[c.rng.IntN(len(p.keys))], cost: 1 + c.rng.Uint32N(2), settled: settled}
	i.first = int(c.requests.Add(int64(len(p.steps)))) - len(p.steps)
	return i, ctx, sluice.Request{Key: i.key, Cost: i.cost}
}

func (i *invocation) record(s span, all ...step) {
	for n := range all {
		all[n].key = i.key
	}
	if len(all) > 0 {
		i.client.record(s, all...)
	}
}

// entered are the steps of a call that a step ended, by the error, or none.
func (i *invocation) entered(err error) (all []step) {
	last := len(i.p.steps)
	var refused *sluice.RejectedError
	switch {
	case errors.As(err, &refused):
		last = slices.IndexFunc(i.p.steps, func(s pipeline.Step) bool { return s.Kind().String() == refused.Step })
	case err != nil:
		last = slices.Index(i.p.waits, true)
	}
	for n := range min(last+1, len(i.p.steps)) {
		req := i.first + n
		switch {
		case n == last:
			all = append(all, waited(n, req, i.takes(n), err)...)
		case i.p.waits[n]:
			all = append(all, waited(n, req, i.takes(n), nil)...)
		default:
			all = append(all, asks(n, req, reducer.Acquire, i.takes(n), seen{verdict: reducer.Admit}))
		}
	}
	if last == len(i.p.steps) {
		return all
	}
	for n := last - 1; n >= 0; n-- {
		a := reducer.Action{Kind: reducer.Record, Outcome: reducer.Cancelled}
		switch i.p.steps[n].Kind() {
		case mechanism.Limit:
			a = reducer.Action{Kind: reducer.Cancel, Cost: i.cost}
		case mechanism.Bulkhead:
			a = reducer.Action{Kind: reducer.Release}
		}
		all = append(all, gives(n, i.first+n, a, seen{}))
	}
	return all
}

// takes returns the cost of the call at a step: at a bulkhead the step's, or one place.
func (i *invocation) takes(n int) uint32 {
	if c, ok := i.p.steps[n].Config.(bulkhead.Config); ok {
		return max(1, c.Cost.Permits)
	}
	return i.cost
}

// leaving are the steps of a call whose function has run: the steps of the kinds, in reverse
// order. A limit keeps what ran.
func (i *invocation) leaving(o reducer.Outcome, kinds ...pipeline.Kind) (all []step) {
	for n := len(i.p.steps) - 1; n >= 0; n-- {
		kind := i.p.steps[n].Kind()
		if !slices.Contains(kinds, kind) {
			continue
		}
		a := reducer.Action{Kind: reducer.Release}
		if kind == mechanism.Breaker {
			a = reducer.Action{Kind: reducer.Record, Outcome: o}
		}
		all = append(all, gives(n, i.first+n, a, seen{}))
	}
	return all
}

// does runs a function, which may panic.
func (p *pipelines) does(c *client) {
	i, ctx, q := p.invoke(c)
	outcome, panics := outcomes[c.rng.IntN(7)], c.rng.IntN(8) == 0
	ran := false
	s := c.enter()
	err := calm(func() error {
		return p.do(ctx, q, func(ctx context.Context) error {
			ran = true
			c.exit(&s)
			gone := i.settled()
			i.record(s, i.entered(nil)...)
			c.rest()
			s = c.enter()
			switch {
			case panics:
				outcome = reducer.Fail
				panic(errBoom)
			case gone && outcome == reducer.Fail:
				outcome = reducer.Cancelled
				return errBoom
			}
			return failure(outcome)
		})
	})
	c.exit(&s)
	if !ran {
		i.settled()
		i.record(s, i.entered(err)...)
		return
	}
	i.record(s, i.leaving(outcome, mechanism.Breaker, mechanism.Bulkhead)...)
}

// calm turns a panic into an error.
func calm(f func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = x.(error)
		}
	}()
	return f()
}

// begins makes a call in two phases.
func (p *pipelines) begins(c *client) {
	i, ctx, q := p.invoke(c)
	s := c.enter()
	call, err := p.begin(ctx, q)
	c.exit(&s)
	i.settled()
	i.record(s, i.entered(err)...)
	if err != nil {
		return
	}
	c.rest()
	outcome := outcomes[c.rng.IntN(len(outcomes))]
	var votes []step
	if c.rng.IntN(4) > 0 {
		s = c.enter()
		p.done(call, outcome)
		c.exit(&s)
		i.record(s, i.leaving(outcome, mechanism.Breaker)...)
		c.rest()
	} else {
		votes = i.leaving(reducer.Cancelled, mechanism.Breaker)
	}
	s = c.enter()
	p.release(call)
	c.exit(&s)
	i.record(s, append(votes, i.leaving(outcome, mechanism.Bulkhead)...)...)
}

func TestPipeline(t *testing.T) {
	t.Run("bubble", func(t *testing.T) { linearizable(t, bubbles, 600, piping(steps, 1, 0, nil)) })
	t.Run("clock", func(t *testing.T) { linearizable(t, virtual, 500, piping(steps, 1, 0, nil)) })
	t.Run("shared", func(t *testing.T) { linearizable(t, bubbles, 300, piping(shared(steps), 1, 0, nil)) })
	t.Run("shared clock", func(t *testing.T) { linearizable(t, virtual, 300, piping(shared(steps), 1, 0, nil)) })
}
