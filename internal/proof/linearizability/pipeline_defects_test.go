package linearizability

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// pipelineDefects are planted in the runner.
var pipelineDefects = map[string]func(p *pipelines){
	"runs what it refuses": func(p *pipelines) {
		do, spare := p.do, &once{}
		p.do = func(ctx context.Context, q sluice.Request, fn func(context.Context) error) error {
			err := do(ctx, q, fn)
			if errors.Is(err, sluice.ErrRejected) && spare.first() {
				return fn(ctx)
			}
			return err
		}
	},
	"takes a failure for a success": func(p *pipelines) {
		done := p.done
		p.done = func(c *sluice.Call, o reducer.Outcome) {
			if o == reducer.Fail {
				o = reducer.OK
			}
			done(c, o)
		}
	},
	"loses a release": func(p *pipelines) {
		release, lost := p.release, &once{}
		p.release = func(c *sluice.Call) {
			if !lost.first() {
				release(c)
			}
		}
	},
	"releases what it held with a delay": func(p *pipelines) {
		release := p.release
		p.release = func(c *sluice.Call) { go release(c) }
	},
	"counts a panic as nothing": func(p *pipelines) {
		do := p.do
		p.do = func(ctx context.Context, q sluice.Request, fn func(context.Context) error) error {
			return do(ctx, q, func(ctx context.Context) error {
				var value any
				err := func() error {
					defer func() { value = recover() }()
					return fn(ctx)
				}()
				if value != nil {
					return sluice.Ignore(errBoom)
				}
				return err
			})
		}
	},
	"takes twice what a call costs": func(p *pipelines) {
		begin := p.begin
		p.begin = func(ctx context.Context, q sluice.Request) (*sluice.Call, error) {
			q.Cost *= 2
			return begin(ctx, q)
		}
	},
	"ignores a cancel": func(p *pipelines) {
		begin := p.begin
		p.begin = func(ctx context.Context, q sluice.Request) (*sluice.Call, error) {
			type answer struct {
				call *sluice.Call
				err  error
			}
			done := make(chan answer, 1)
			go func() {
				made, err := begin(context.WithoutCancel(ctx), q)
				done <- answer{made, err}
			}()
			select {
			case a := <-done:
				return a.call, a.err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	},
}

func TestPipelineDefects(t *testing.T) {
	for name, plant := range pipelineDefects {
		t.Run(name, func(t *testing.T) {
			caught(t, bubbles, 3_000, piping(steps, 1, 0, plant))
			if name != "ignores a cancel" {
				caught(t, virtual, 3_000, piping(steps, 1, 0, plant))
			}
		})
	}
	t.Run("does not share", func(t *testing.T) {
		caught(t, bubbles, 3_000, piping(shared(steps), 1, 0, func(p *pipelines) {
			alone, err := sluice.New(pipeline.Policy{Name: "p", Steps: p.steps})
			require.NoError(t, err)
			do, other := p.do, pipelinesOf(alone).do
			var calls atomic.Uint64
			p.do = func(ctx context.Context, q sluice.Request, fn func(context.Context) error) error {
				if calls.Add(1)%2 == 0 {
					return other(ctx, q, fn)
				}
				return do(ctx, q, fn)
			}
		}))
	})
	t.Run("confuses two keys", func(t *testing.T) {
		for _, kind := range kinds {
			caught(t, bubbles, 3_000, piping(keyedStep(kind), 3, 3, func(p *pipelines) {
				do := p.do
				p.do = func(ctx context.Context, q sluice.Request, fn func(context.Context) error) error {
					if q.Key == "b" {
						q.Key = "a"
					}
					return do(ctx, q, fn)
				}
			}))
		}
	})
}
