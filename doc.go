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
// Each mechanism can also be used alone: [Limiter], [KeyedLimiter], [Breaker],
// [Bulkhead], [Retry] and [Hedge]. [Must], [PolicyOf], [Exponential], [Constant], [AbortOn]
// and [RetryOn] make a policy of Go values short.
//
// # Calls
//
// [Do] takes a call through the steps of a [Pipeline], outermost first, runs the
// function on the caller's goroutine, and leaves the steps in reverse order.
// Every attempt passes the steps below a retry again. All or nothing: a call that
// is refused, cut or cancelled before it runs returns all permits that it took.
// [DoWith] adds a key, a cost or attributes, and settings of one call; [Run] is for a
// function without a value, [Wrap] for one that keeps its signature. [Pipeline.Begin] is
// for work that is not a function, [Hold] and [Extend] for answers that are read after
// the function. [Map], [Executor] and [Queue] guard many calls at once.
//
// A panic or [runtime.Goexit] of the function, and a panic of any other function of the
// caller, releases all that the call holds, counts as a failure where an attempt was
// running, and continues on the caller's goroutine. A listener that panics is removed, and
// the call goes on.
//
// # Waits
//
// A call waits in the queue of a limit or a bulkhead with a wait setting, and
// between attempts. No wait outlives the context, the timeouts above it, or its
// own setting; a waiter that is cancelled frees its place, and the waiters behind it
// move up. A call whose turn at a limit would not come before the deadlines above it
// is refused at once, with [ReasonDeadline]: it could only occupy a place in the queue.
// No call overtakes another one in a queue. At one mark, ends are processed before
// starts: if a wait and a timeout end at the same mark, or a turn comes at the mark of
// the timeout, the call ends by the timeout. The order in which several queues move at
// one mark is not specified.
//
// # Timeouts
//
// A timeout is cooperative: it ends the context of the attempt. Breakers count the
// timeout, and the backoff starts, at the timeout's own mark, however late the
// function returns. Until the function returns it keeps its place in a bulkhead, and
// no other attempt starts. A success that comes late is returned, unless
// [WithRefuseLate] says otherwise. The deadline of the caller's context is a
// timeout above all steps, named deadline.
//
// The context of an attempt has no timer until a caller uses Done. It ends with the
// attempt. Where nothing can cut an attempt, its context is the caller's own.
//
// # Hedges
//
// With a hedge step the attempts of a call run beside each other, each on a goroutine
// of its own; [AttemptOf] returns the number of the attempt from its context. The caller's
// goroutine waits for them and returns with the first success. The contexts of the
// others end then, with [ErrHedgeLost] as their cause; the call does not wait until
// their functions return, but places in bulkheads are held until then. What they return
// goes to Request.Discard. A timeout that cuts an attempt is not waited for either, and a
// success that comes after it is lost.
//
// A panic or [runtime.Goexit] of an attempt that the call waits for ends the call, as one
// on the caller's goroutine does, and continues there; of an attempt that lost, it ends that
// attempt only. Every panic of an attempt with a goroutine of its own is logged at level
// error with its stack, to the logger of [WithLogger], else to [log/slog.Default]; it does
// not end the process.
//
// A function whose effects must not happen twice is not hedged with Request.NoHedge; it
// then runs on the caller's goroutine, as under a hedge in shadow. [Pipeline.Begin] makes
// one attempt.
//
// # Errors
//
//   - [RejectedError], for [errors.Is] an [ErrRejected]: a step refused. It has
//     the step, the reason and the retry delay.
//   - [TimeoutError], for [errors.Is] a [context.DeadlineExceeded].
//   - [InjectedError], for [errors.Is] an [ErrInjected]: a chaos step ended the
//     attempt in place of the function.
//   - [RetryError]: the retry step gave up, and why. It has the errors of earlier
//     attempts, too.
//   - [CancelError]: the caller cancelled between two attempts.
//   - The function's own error, unchanged, in all other cases.
//
// All of them unwrap to the error of the last attempt, if there was one. The
// value is the last attempt's where the error is its own or a RetryError, and
// zero where the policy refused. An error counts as a failure unless it is an
// [Outcomer], as the [OutcomeError] that [Ignore] and [Throttle] return, or [AbortOn],
// [RetryOn] or the function of [WithClassify] classifies it differently; the function of
// [WithClassifyResult] sees values and steps, too. [OrElse] and its fallbacks take the place of
// an error. An error that looks like a cancellation does not mean that the caller cancelled:
// only the caller's context decides that.
//
// # Goroutines and memory
//
// Calls start no goroutines, except under a hedge; [Map], [Executor] and [Queue] run items
// and jobs on goroutines that end with them. There is no timer while no call
// waits, except for a soft limit that has a listener. A cell at which calls wait has one
// timer. Nothing has to be closed.
//
// A call without timeouts allocates nothing, one with timeouts the 32 bytes of
// its context, one with a lease a context for [Renew]. A step with `per` has at most
// `keys` cells: a new key takes the cell of the least recently used one at which no
// call waits, holds a place or runs a probe, or shares a cell with other new keys
// (`when_full`). Its memory is bounded, too: where keys are longer than 512 bytes on
// average, it has fewer of them. [StepState] counts evictions and shared uses.
//
// # Listeners and metrics
//
// [Pipeline.Listen] calls a listener with every decision, on the goroutine that caused
// it and with no lock held, so that the listener may call the same pipeline. Without a
// listener this costs one atomic load. [Metrics] are counted from the same events.
//
// # Changes
//
// [Set.Reload] and [Pipeline.Configure] change the active policy. Steps are
// matched by name, mechanism and keys and keep their state; running calls keep
// the plan under which they began. An error changes nothing.
// [Pipeline.Snapshot] and [Pipeline.Restore] transfer the state of limits, breakers and
// budgets with their keys to another process. Places, waiters and the cell that new keys
// share are not transferred. Where a step has many keys, their order by last use is
// transferred approximately.
//
// # Clocks
//
// Marks are read from the monotonic clock, once for most decisions, and not at
// all by a closed breaker that counts calls. Tests run in the virtual time of
// testing/synctest, or, where nothing waits, with a [clock.Virtual] by
// [WithClock].
package sluice
