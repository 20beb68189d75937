package sluice

import "context"

// Wrap returns fn guarded, with the same signature. Wrap1 and Wrap2 are for functions
// with one and two arguments beside the context, WrapRun, WrapRun1 and WrapRun2 for those
// without a value. A guard that is nil refuses every call, as a nil Pipeline does.
func Wrap[T any](g Guard, fn func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) { return apply(ctx, g, fn) }
}

// Wrap1 is Wrap for a function of one argument.
func Wrap1[A, T any](g Guard, fn func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (T, error) {
		return apply(ctx, g, func(ctx context.Context) (T, error) { return fn(ctx, a) })
	}
}

// Wrap2 is Wrap for a function of two arguments.
func Wrap2[A, B, T any](g Guard, fn func(context.Context, A, B) (T, error)) func(context.Context, A, B) (T, error) {
	return func(ctx context.Context, a A, b B) (T, error) {
		return apply(ctx, g, func(ctx context.Context) (T, error) { return fn(ctx, a, b) })
	}
}

// WrapRun is Wrap for a function without a value.
func WrapRun(g Guard, fn func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return applyRun(ctx, g, fn) }
}

// WrapRun1 is WrapRun for a function of one argument.
func WrapRun1[A any](g Guard, fn func(context.Context, A) error) func(context.Context, A) error {
	return func(ctx context.Context, a A) error {
		return applyRun(ctx, g, func(ctx context.Context) error { return fn(ctx, a) })
	}
}

// WrapRun2 is WrapRun for a function of two arguments.
func WrapRun2[A, B any](g Guard, fn func(context.Context, A, B) error) func(context.Context, A, B) error {
	return func(ctx context.Context, a A, b B) error {
		return applyRun(ctx, g, func(ctx context.Context) error { return fn(ctx, a, b) })
	}
}

// WrapWith is Wrap with the request of every call.
func WrapWith[T any](p *Pipeline, q Request, fn func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) { return DoWith(ctx, p, q, fn) }
}

// WrapWith1 is Wrap1 with a function that makes the request of a call of its argument.
func WrapWith1[A, T any](p *Pipeline, request func(A) Request, fn func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (T, error) {
		return DoWith(ctx, p, request(a), func(ctx context.Context) (T, error) { return fn(ctx, a) })
	}
}

// WrapWith2 is Wrap2 with a function that makes the request of a call of its arguments.
func WrapWith2[A, B, T any](p *Pipeline, request func(A, B) Request, fn func(context.Context, A, B) (T, error)) func(context.Context, A, B) (T, error) {
	return func(ctx context.Context, a A, b B) (T, error) {
		return DoWith(ctx, p, request(a, b), func(ctx context.Context) (T, error) { return fn(ctx, a, b) })
	}
}

// applyRun is apply for a function without a value.
func applyRun(ctx context.Context, g Guard, fn func(context.Context) error) error {
	if p, ok := g.(*Pipeline); ok {
		return Run(ctx, p, fn)
	}
	_, err := apply(ctx, g, func(ctx context.Context) (any, error) { return nil, fn(ctx) })
	return err
}
