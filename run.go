package sluice

import (
	"context"

	"github.com/sluice-go/sluice/internal/runner"
)

// Run is Do for a function without a value.
func Run(ctx context.Context, p *Pipeline, fn func(context.Context) error) error {
	return RunWith(ctx, p, Request{}, fn)
}

// RunWith is Run for a request with a key, a cost, attributes or settings of its own.
func RunWith(ctx context.Context, p *Pipeline, q Request, fn func(context.Context) error) error {
	if p == nil || p.engine == nil {
		return p.Err()
	}
	return runner.Run(ctx, p.engine, &q, fn)
}
