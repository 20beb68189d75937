// Package linearizability holds tests of the concurrent runner against the pure
// machines: for all concurrent operations of some goroutines on a limiter, a breaker,
// a bulkhead or a pipeline there must be an order, consistent with real time, in which
// the machine of core gives the same answers. Porcupine searches for the order.
//
// The histories are drawn from a seed, and run on real goroutines, which also
// yield where they have just read the clock. SLUICE_SEED gives other histories,
// SLUICE_TIMES more of them:
//
//	SLUICE_SEED=42 SLUICE_TIMES=100 go test -race ./internal/proof/linearizability
//
// A failure prints the seed and the history, and draws it for a browser. The seed
// repeats the operations of the clients, not how they interleave.
//
// # Time
//
// A caller reads the clock, and takes a step with that mark somewhat later, when
// others may have taken steps with later marks. Histories happen in two places:
//
//   - In a bubble of testing/synctest. Time does not advance while a goroutine can
//     run, also between the clock read and the step. So each step has exactly
//     the mark of its call, and marks never go back along the order. Here callers
//     wait: timers cost nothing.
//   - With a virtual clock, which the clients advance while others are in the
//     runner. A step may have had any mark that the clock showed between call
//     and return, and the model tries all of them. A machine that counts an old
//     mark as its last one still uses one of these, because the caller of the last
//     step had read that mark by then. The token bucket of a limiter alone is one word
//     and has no last mark: it is stricter for an old one, and so is the model. Only a breaker alone
//     reads the clock while it is locked: there the passing of time is an
//     operation that has its place in the order, and every step has the mark at
//     its own place. Here no caller waits, because the runner's timers do not use
//     the virtual clock.
//
// # Steps
//
// One call of a caller may be several operations, which follow each other between
// the call and the return. A wait is two operations: to acquire, at the mark of the
// call, and to end, at the mark of the return. The grant itself is not an operation of
// a caller. In the model as in the runner it happens when a step finds it due, and the
// wait must end at the mark of the grant. A caller that is cancelled leaves the queue,
// or returns the permit that it was granted at the same mark.
//
// A call of a pipeline is not one step: it asks one cell after another, and a refused
// call has held for a moment the permits that it returns. Its operations are those on
// single cells, all at one mark until it waits. The history does not show in which
// queue a cancelled call was, so callers are only cancelled where there is one queue
// at most.
//
// Cells of different keys have histories of their own. A cell that equals a new one
// may be forgotten before every step. Where new keys share a cell, a
// refusal may be right though a key's own machine would admit; an admission never.
// That holds for buckets and bulkheads. A window that keys share begins when another
// key's does, and a breaker records the outcomes of all: these are compared as long
// as nothing is shared. Where keys lose their cells to others, a history is compared
// as long as no cell that differs from a new one is lost.
//
// # Defects
//
// Every model has tests with defects planted in the runner: a permit too many, a
// lost release, a cancel that is ignored. They fail where no history shows the
// defect.
package linearizability
