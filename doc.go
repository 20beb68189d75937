// Package sluice guards calls with a resilience policy: timeouts, retries,
// circuit breakers, rate limits, bulkheads. A policy is a document or a Go
// value; what it decides is decided by the pure core, the same in this package,
// in sluice eval and wherever else the core runs.
//
//	set, err := sluice.Load("policy.yaml")
//	...
//	price, err := sluice.Do(ctx, set.Pipeline("vendor"), func(ctx context.Context) (Price, error) {
//		return client.Price(ctx, item)
//	})
//
// The example of this package is the same with a document, compiled and run.
//
// Each mechanism stands alone too: [Limiter], [KeyedLimiter], [Breaker],
// [Bulkhead] and [Retry].
//
// # Calls
//
// [Do] takes a call through the steps of a [Pipeline], outermost first, runs the
// function on the caller's goroutine, and leaves the steps in reverse order.
// What stands below a retry is passed anew by every attempt. All or nothing: a
// call that is refused, cut or cancelled before it runs gives back what it took.
// [DoWith] brings a key, a cost or attributes. [Pipeline.Begin] is for work that
// is not a function, [Hold] for answers that are read after the function.
//
// A panic or [runtime.Goexit] of the function, and a panic of a listener or of
// any other function of the caller, gives back what is held, counts as a failure
// where an attempt was running, and goes on.
//
// # Waits
//
// A call waits in the queue of a limit or a bulkhead with a wait setting, and
// between attempts. No wait outlives the context, the timeouts above it, or its
// own setting; who gives up frees the place, and those behind move up. A call whose
// turn at a limit would not come before the deadlines above it is refused at once,
// with [ReasonDeadline]: it could only hold a place. No call overtakes in a queue. At one mark ends come before what begins: a wait that is
// over and a turn that comes with the end of a timeout are a timeout. The order
// in which several queues move at one mark is not promised.
//
// # Timeouts
//
// A timeout is cooperative: it ends the context of the attempt, and its cut
// votes in breakers and starts the backoff at its own mark, however late the
// function returns. Until then the function keeps its place in a bulkhead, and
// no other attempt starts. A success that comes late is returned, unless
// [WithRefuseLate] says otherwise. The deadline of the caller's context is a
// timeout above all steps, named deadline.
//
// The context of an attempt has no timer until somebody asks for Done. It ends
// with the attempt. Where nothing can cut an attempt it is the caller's own.
//
// # Hedges
//
// With a hedge step the attempts of a call run beside each other, each on a goroutine
// of its own, with a context that [AttemptOf] tells the number of. The caller's
// goroutine waits for them and returns with the first success. The contexts of the
// others end then, with [ErrHedgeLost] as their cause; the call does not wait until
// their functions return, but places in bulkheads are held until then. What they return
// goes to Request.Discard. A timeout that cuts an attempt is not waited for either, and a
// success that comes after it is lost.
//
// A panic or [runtime.Goexit] of an attempt that the call waits for ends the call, as one
// on the caller's goroutine does, and goes on there; of an attempt that lost it ends that
// attempt. Every panic of an attempt with a goroutine of its own is logged at level error
// with its stack, to the logger of [WithLogger], else to [log/slog.Default]: the process lives
// on.
//
// A function whose effects must not happen twice is not hedged with Request.NoHedge; it
// then runs on the caller's goroutine, as under a hedge in shadow. [Pipeline.Begin] makes
// one attempt.
//
// # Errors
//
//   - [RejectedError], for [errors.Is] an [ErrRejected]: a step refused. It has
//     the step, the reason, and after what time to come again.
//   - [TimeoutError], for [errors.Is] a [context.DeadlineExceeded].
//   - [RetryError]: the retry gave up, and why.
//   - [CancelError]: the caller gave up between two attempts.
//   - The function's own error, untouched, when there was no more to it.
//
// All of them unwrap to the error of the last attempt, if there was one. The
// value is the last attempt's where the error is its own or a RetryError, and
// zero where the policy refused. An error means a failure unless it is an
// [Outcomer], as [Ignore] and [Throttle] make one, or [WithClassify] knows
// better. An error that looks like a cancellation does not say that the caller
// cancelled: that is asked of the caller's context.
//
// # Goroutines and memory
//
// There is no goroutine per call, but under a hedge, and no timer while no call
// waits, but for a soft limit that has a listener. A cell at which calls wait has one
// timer. Nothing needs closing.
//
// A call without timeouts allocates nothing, one with timeouts the 32 bytes of
// its context, one with a lease a context for [Renew]. A step with `per` has at most
// `keys` cells: a new key takes the cell of the least recently used one at which no
// call waits, holds a place or has a probe out, or shares a cell with other new keys
// (`when_full`). Its memory is bounded, too: where keys are longer than 512 bytes on
// average, it has fewer of them. [StepState] counts evictions and shared uses.
//
// # Listeners and metrics
//
// [Pipeline.Listen] hears every decision on the goroutine that caused it, with
// no lock held, so that it may call back, even into the same pipeline. While
// nobody listens it costs one load. [Metrics] are counted from the same events.
//
// # Changes
//
// [Set.Reload] and [Pipeline.Configure] change the policy in force. Steps are
// matched by name, mechanism and keys and keep their state; calls under way keep
// the plan under which they began. An error changes nothing.
// [Pipeline.Snapshot] and [Pipeline.Restore] carry limits, breakers and budgets
// with their keys over to another process. Places and waiters stay behind with
// theirs, as does the cell that new keys share. Where a step has many keys, their
// order by last use is kept about.
//
// # Clocks
//
// Marks are read from the monotonic clock, once for most decisions, and not at
// all by a closed breaker that counts calls. Tests run in the virtual time of
// testing/synctest, or, where nothing waits, with a [clock.Virtual] by
// [WithClock].
package sluice
