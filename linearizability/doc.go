// Package linearizability holds tests of the concurrent runner against the pure
// machines: for whatever some goroutines did to a limiter, a breaker, a bulkhead
// or a pipeline at the same time there must be an order, in agreement with who
// came after whom, in which the machine of core gives the same answers. Porcupine
// looks for the order.
//
// The histories are drawn from a seed, and happen on real goroutines, which also
// let each other pass where they have just read the clock. SLUICE_SEED gives
// other histories, SLUICE_TIMES more of them:
//
//	SLUICE_SEED=42 SLUICE_TIMES=100 go test -race ./linearizability
//
// A failure prints the seed and the history, and draws it for a browser. The seed
// repeats what the clients ask, not the moments at which they meet.
//
// # Time
//
// A caller reads the clock, and takes a step with that mark somewhat later, when
// others may have taken steps with later marks. Histories happen in two places:
//
//   - In a bubble of testing/synctest. Time stands still while anybody can run,
//     also between the look at the clock and the step. So each step has exactly
//     the mark at which it was asked for, and marks never go back along the
//     order. Here callers wait: timers cost nothing.
//   - By a virtual clock, which the clients advance while others are in the
//     runner. A step may have had any mark that the clock showed between call
//     and return, and the model tries all of them. A machine that counts an old
//     mark as its last one comes to another one of these, for whoever brought
//     that mark had read it by then. A bucket of one word has no last mark and is
//     stricter for an old one; there the model is as strict. Only a breaker alone
//     reads the clock while it is locked: there the passing of time is an
//     operation that has its place in the order, and every step has the mark at
//     its own place. Nobody waits, as the runner's timers know no virtual clock.
//
// # Steps
//
// What a caller asks for at once may be several operations, which follow each
// other between its call and its return. A wait is two: to ask, at the mark of the
// call, and to end, at the mark of the return. The grant itself is nobody's
// operation. It happens in the model as in the runner when a step finds it due,
// and the wait must have ended at the very mark of the grant, by it. A caller that
// gives up leaves the queue, or gives back what it was granted at the same mark.
//
// A call of a pipeline is not one step: it asks one cell after another, and what a
// refused call gives back it held for a moment. Its operations are those on
// single cells, all asked at one mark until it waits. Which queue a call stood in
// when its caller gave up is not told, so that nobody gives up where there are
// two.
//
// Cells of different keys have histories of their own. A cell that cannot be told
// from a new one may be forgotten before every step. Where new keys share a cell, a
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
