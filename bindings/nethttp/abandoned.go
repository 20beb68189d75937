package nethttp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/attempt"
)

// Abandoned says what becomes of an attempt whose client has left, for WithAbandoned. A
// service goes on with a request after its client has left, and many do not notice a
// connection that is closed: a place that is free at once lets a client that leaves have
// as many requests at the service as it likes.
type Abandoned struct {
	// Wait is how long the attempt goes on for the answer of the service. After it, and at
	// a timeout of the policy, the connection to the service is closed. 0: closed at once.
	Wait time.Duration
	// Grace is how long the attempt keeps its places after its connection was closed before
	// the end of the answer. 0: they are free at once.
	Grace time.Duration
	// Until ends what waits when it ends, as at the end of the process. nil: nothing does.
	Until context.Context
}

// WithAbandoned has attempts keep their places in bulkheads and adaptive limits while the
// service may still work on a request whose client has left. The attempt ends as cancelled, without a
// vote and a retry, at the answer of the service or the end of Wait; the answer is dropped.
// A request that has not been sent when its client leaves ends at once. Where the client
// leaves in the middle of an answer, or has the request end by its own deadline, the
// connection to the service is closed at once, and Grace holds. Default: attempts end when
// their clients leave. Transport.Proxy alone.
func WithAbandoned(a Abandoned) Option { return func(s *settings) { s.abandoned = &a } }

// over reports whether what waits ends now.
func (a *Abandoned) over() bool { return a.Until != nil && a.Until.Err() != nil }

// lingering is the context of an attempt that goes on for a time when its client leaves. It
// is the one of the runner otherwise.
type lingering struct {
	attempt.Cancellable
	attemptContext
	bounds *Abandoned
	own    bool         // a deadline is the client's
	hook   attempt.Hook // in the context of the runner

	watched atomic.Bool // every end of the context of the runner is noticed

	// mu is not held while contexts are asked or ended, which may call ContextEnded.
	mu    sync.Mutex
	state exchangeState
	left  bool // the client has left, and the exchange goes on
	cut   bool // the exchange was ended after that
	timer *time.Timer
	stop  func() bool // of Until, nil before left
}

// exchangeState is how far the exchange of an attempt is.
type exchangeState uint8

const (
	sent     exchangeState = iota // all of a transport that does not say, as far as is known
	unsent                        // nothing was sent so far
	answered                      // the headers of the answer are there
)

// valuesOf is the parent of the Cancellable of a lingering context: it has the values of
// the attempt and no end.
type valuesOf lingering

// Deadline, Done, Err and Value implement context.Context.
func (v *valuesOf) Deadline() (at time.Time, ok bool) { return at, false }
func (v *valuesOf) Done() <-chan struct{}             { return nil }
func (v *valuesOf) Err() error                        { return nil }
func (v *valuesOf) Value(key any) any                 { return v.attemptContext.Value(key) }

// newLingering makes the context of an attempt out of the runner's.
func newLingering(ctx context.Context, details *Details, bounds *Abandoned, own bool) *lingering {
	l := &lingering{attemptContext: attemptContext{ctx, details}, bounds: bounds, own: own}
	l.Init((*valuesOf)(l), clock.Never, nil)
	l.hook.Of = l
	if h, ok := ctx.(attempt.Hooked); !ok || own || !h.Attach(&l.hook) {
		l.watch()
	}
	return l
}

// watch has every end of the context of the runner end this one, ends by deadlines
// included.
func (l *lingering) watch() {
	if l.watched.CompareAndSwap(false, true) {
		context.AfterFunc(l.Context, l.ContextEnded)
	}
}

// Deadline implements context.Context. One of the client does not end the exchange.
func (l *lingering) Deadline() (time.Time, bool) {
	if l.own {
		return time.Time{}, false
	}
	return l.Context.Deadline()
}

// Done implements context.Context.
func (l *lingering) Done() <-chan struct{} {
	done := l.Cancellable.Done()
	l.watch()
	_ = l.Err() // notes an end that has come
	return done
}

// Err implements context.Context.
func (l *lingering) Err() error {
	if l.Context.Err() != nil {
		l.ended()
	}
	return l.Cancellable.Err()
}

// Value implements context.Context.
func (l *lingering) Value(key any) any {
	if _, ok := key.(attempt.SelfKey); ok {
		return l
	}
	return l.Cancellable.Value(key)
}

// Attach, Follow and Detach implement attempt.Hooked.
func (l *lingering) Attach(h *attempt.Hook) bool { return l.Cancellable.Attach(h) }
func (l *lingering) Detach(h *attempt.Hook) bool { return l.Cancellable.Detach(h) }
func (l *lingering) Follow() {
	l.attemptContext.Follow()
	_ = l.Err() // notes an end that has come
}

// Unsent implements attempt.Sending.
func (l *lingering) Unsent() {
	l.mu.Lock()
	l.state = unsent
	left := l.left
	l.mu.Unlock()
	if left {
		l.close()
	}
}

// Sends implements attempt.Sending.
func (l *lingering) Sends() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == unsent {
		l.state = sent
	}
}

// ContextEnded is called when the context of the runner has ended, once or more often, as
// after every answer.
func (l *lingering) ContextEnded() {
	l.mu.Lock()
	over := l.state == answered
	l.mu.Unlock()
	if !over || l.Awaited() {
		l.ended()
	}
}

// ended ends the context, unless the exchange goes on.
func (l *lingering) ended() {
	wait := time.Duration(0)
	if !l.bounds.over() && l.clientLeft() {
		wait = l.bounds.Wait
	}
	if at, ok := l.Context.Deadline(); ok && !l.own {
		wait = min(wait, time.Until(at))
	}
	if !l.lingers(wait) {
		l.End(l.Context)
	}
}

// lingers reports whether the exchange goes on.
func (l *lingering) lingers(wait time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.left:
		return true
	case l.state != sent || wait <= 0:
		return false
	}
	l.left = true
	l.timer = time.AfterFunc(wait, l.close)
	if l.bounds.Until != nil {
		l.stop = context.AfterFunc(l.bounds.Until, l.close)
	}
	return true
}

// clientLeft reports whether the context of the runner ended because the client left: no
// timeout of the policy, no other attempt, and not the end of the process.
func (l *lingering) clientLeft() bool {
	return errors.Is(l.Context.Err(), context.Canceled) && context.Cause(l.Context) == context.Canceled
}

// close ends an exchange whose client has left.
func (l *lingering) close() {
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
	l.End(l.Context)
}

// ends notes that the round tripper has returned. It reports whether the client has left
// meanwhile, and whether the exchange was ended after that. A client that leaves from here on
// ends the rest of the exchange.
func (l *lingering) ends() (left, cut bool) {
	l.mu.Lock()
	if l.state == sent {
		l.state = answered
	}
	left, cut = l.left, l.cut
	timer, stop := l.timer, l.stop
	l.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if stop != nil {
		stop()
	}
	return left, cut
}

// detach lets another attempt have a hook in the contexts of the request.
func (l *lingering) detach() {
	if h, ok := l.Context.(attempt.Hooked); ok {
		h.Detach(&l.hook)
	}
}

// isUnsent reports whether nothing was sent.
func (l *lingering) isUnsent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == unsent
}

// abandons keeps what an attempt holds for the grace, because its connection was closed
// before the service was done. An attempt of a hedged request has a goroutine of its own,
// and holds nothing beyond its function.
func (a *Abandoned) abandons(ctx context.Context) {
	if a.Grace <= 0 || a.over() {
		return
	}
	if _, _, ok := sluice.AttemptOf(ctx); !ok {
		time.AfterFunc(a.Grace, sluice.Hold(ctx))
		return
	}
	timer := time.NewTimer(a.Grace)
	defer timer.Stop()
	var until <-chan struct{}
	if a.Until != nil {
		until = a.Until.Done()
	}
	select {
	case <-timer.C:
	case <-until:
	}
}
