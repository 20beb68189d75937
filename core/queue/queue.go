package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/sorting"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Waiter is a caller in the queue.
type Waiter struct {
	Caller uint64
	// Ticket is the number of the waiter: greater than the tickets of all before it.
	Ticket uint64
	Ends   clock.Mark // of the wait; clock.Never for none
	Cost   uint32
}

// Copies of a Queue share its memory until Clone. The waiters that it returns are
// read before the queue next changes.
type Queue struct {
	buffer []Waiter
	head   int // of the waiters in the buffer
	serial uint64
	cost   uint64
	// byEnd has the tickets in the order in which the waits end, nil while that is
	// the order of arrival.
	byEnd []uint64
}

func (q *Queue) waiters() []Waiter { return q.buffer[q.head:] }

// Len returns how many callers wait.
func (q *Queue) Len() uint32 { return uint32(len(q.buffer) - q.head) }

// Cost returns the sum of the costs of the waiters.
func (q *Queue) Cost() uint64 { return q.cost }

// Tickets returns how many tickets were issued so far.
func (q *Queue) Tickets() uint64 { return q.serial }

// Clone returns a queue that shares no memory with q.
func (q Queue) Clone() Queue {
	q.buffer, q.head = slices.Clone(q.waiters()), 0
	q.byEnd = slices.Clone(q.byEnd)
	return q
}

// Emptied returns a queue without waiters that does not issue their tickets again.
func (q Queue) Emptied() Queue { return Queue{serial: q.serial} }

// Shift moves the ends of all waits.
func (q *Queue) Shift(by time.Duration) {
	for i := range q.waiters() {
		w := q.At(i)
		w.Ends = w.Ends.Add(by)
	}
}

// Push appends a waiter and returns its ticket.
func (q *Queue) Push(caller uint64, cost uint32, ends clock.Mark) (ticket uint64) {
	if last := q.Back(); last != nil && (q.byEnd != nil || last.Ends > ends) {
		q.order()
		at, _ := slices.BinarySearchFunc(q.byEnd, ends, func(ticket uint64, ends clock.Mark) int {
			if q.Find(ticket).Ends > ends {
				return 1
			}
			return -1
		})
		q.byEnd = sorting.Insert(q.byEnd, at, q.serial+1)
	}
	if len(q.buffer) == cap(q.buffer) && q.head > len(q.buffer)/2 {
		q.buffer, q.head = q.buffer[:copy(q.buffer, q.waiters())], 0
	}
	q.serial++
	q.buffer = append(q.buffer, Waiter{Caller: caller, Ticket: q.serial, Ends: ends, Cost: cost})
	q.cost += uint64(cost)
	return q.serial
}

// order makes byEnd.
func (q *Queue) order() {
	if q.byEnd != nil {
		return
	}
	ends := make([]sorting.Item, q.Len())
	for i := range ends {
		ends[i] = sorting.Item{Key: sorting.Signed(int64(q.At(i).Ends)), Index: uint32(i)}
	}
	sorting.Sort(ends)
	q.byEnd = make([]uint64, len(ends))
	for i := range ends {
		q.byEnd[i] = q.At(int(ends[i].Index)).Ticket
	}
}

// Index returns the place of the waiter with the ticket, the oldest having 0.
func (q *Queue) Index(ticket uint64) (i int, found bool) {
	if w := q.Front(); w != nil && w.Ticket == ticket {
		return 0, true
	}
	return slices.BinarySearchFunc(q.waiters(), ticket, func(w Waiter, ticket uint64) int { return cmp.Compare(w.Ticket, ticket) })
}

// Find returns the waiter with the ticket, nil for none.
func (q *Queue) Find(ticket uint64) *Waiter {
	if i, found := q.Index(ticket); found {
		return q.At(i)
	}
	return nil
}

// Remove removes the waiter with the ticket. It returns false for none.
func (q *Queue) Remove(ticket uint64) bool {
	w := q.Find(ticket)
	if w == nil {
		return false
	}
	q.Take(w)
	return true
}

// Take removes a waiter and returns its caller.
func (q *Queue) Take(w *Waiter) (caller uint64) {
	caller = w.Caller
	q.cost -= uint64(w.Cost)
	if q.byEnd != nil {
		at := slices.Index(q.byEnd, w.Ticket)
		q.byEnd = sorting.Remove(q.byEnd, at)
	}
	i, _ := q.Index(w.Ticket)
	if all := q.waiters(); i < len(all)/2 {
		copy(all[1:], all[:i])
		q.head++
	} else {
		copy(all[i:], all[i+1:])
		q.buffer = q.buffer[:len(q.buffer)-1]
	}
	if q.Len() == 0 {
		q.buffer, q.head, q.byEnd = q.keep(), 0, nil
	}
	return caller
}

// keepWaiters is how many waiters' room an empty queue keeps.
const keepWaiters = 16

func (q *Queue) keep() []Waiter {
	if cap(q.buffer) > keepWaiters {
		return nil
	}
	return q.buffer[:0]
}

// Drop removes a waiter, with an effect that has the reason.
func (q *Queue) Drop(w *Waiter, why reducer.Reason, out *reducer.Out) {
	*out = append(*out, reducer.Effect{Kind: reducer.Drop, Reason: why, Caller: q.Take(w)})
}

// DropTo drops the oldest waiters until no more than keep are left.
func (q *Queue) DropTo(keep uint32, why reducer.Reason, out *reducer.Out) {
	for q.Len() > keep {
		q.Drop(q.Front(), why, out)
	}
}

// At returns the waiter at a place, the oldest having 0.
func (q *Queue) At(i int) *Waiter { return &q.buffer[q.head+i] }

// Front returns the oldest waiter, nil for none.
func (q *Queue) Front() *Waiter {
	if q.Len() == 0 {
		return nil
	}
	return q.At(0)
}

// Back returns the newest waiter, nil for none.
func (q *Queue) Back() *Waiter {
	if q.Len() == 0 {
		return nil
	}
	return &q.buffer[len(q.buffer)-1]
}

// Ending returns the waiter whose wait is the i-th to end, nil for none.
func (q *Queue) Ending(i int) *Waiter {
	switch {
	case i >= int(q.Len()):
		return nil
	case q.byEnd != nil:
		return q.Find(q.byEnd[i])
	}
	return q.At(i)
}

// Soonest returns the waiter whose wait ends first, nil for none.
func (q *Queue) Soonest() *Waiter { return q.Ending(0) }

// Over returns how many waits end before a mark, and true where these are the oldest
// waiters and no wait ends at the mark itself.
func (q *Queue) Over(now clock.Mark) (n int, ok bool) {
	if q.byEnd != nil {
		return 0, false
	}
	n, at := slices.BinarySearchFunc(q.waiters(), now, func(w Waiter, now clock.Mark) int { return cmp.Compare(w.Ends, now) })
	return n, !at
}

// Behind returns a queue without the n oldest waiters, to be read. It shares the memory of q.
func (q *Queue) Behind(n int) Queue {
	rest := Queue{buffer: q.buffer, head: q.head + n, serial: q.serial}
	if rest.Len() > 0 {
		rest.cost = q.cost
		for i := range n {
			rest.cost -= uint64(q.At(i).Cost)
		}
	}
	return rest
}

// InOrder reports whether waits end in the order of arrival.
func (q *Queue) InOrder() bool { return q.byEnd == nil }

// EndsAt returns the mark at which the first wait ends, clock.Never for none.
func (q *Queue) EndsAt() clock.Mark {
	if w := q.Soonest(); w != nil {
		return w.Ends
	}
	return clock.Never
}

// waiterSize is the least length of an encoded waiter.
const waiterSize = 4

// Code codes the queue: how many tickets were given, and if any were, how many
// wait, and each of them: its caller, its ticket after the ticket of the
// waiter before, the end of its wait after the end of the waiter before, its cost. Who
// reads closes the coder and calls Check.
func (q *Queue) Code(c *wire.Coder) {
	serial := q.serial
	if c.Uvarint(&serial); serial != 0 {
		q.CodeBehind(c, serial)
	}
}

// CodeBehind is Code for a caller that has coded the number of tickets, which is not 0: a
// reader that finds none needs no queue.
func (q *Queue) CodeBehind(c *wire.Coder, tickets uint64) {
	q.serial = tickets
	n := uint64(q.Len())
	c.Uvarint(&n)
	if c.Reads() {
		if n > uint64(c.Left()/waiterSize) {
			c.Fail(errQueue)
			return
		}
		q.buffer = make([]Waiter, n)
	}
	ticket, ends := uint64(0), clock.Mark(0)
	for i := range q.waiters() {
		w := q.At(i)
		c.Uvarint(&w.Caller)
		step, cost := w.Ticket-ticket, uint64(w.Cost)
		c.Uvarint(&step)
		ends = codeEnds(c, ends, w.Ends)
		c.Uvarint(&cost)
		if !c.Reads() {
			ticket = w.Ticket
			continue
		}
		if step == 0 || step > q.serial-ticket || cost > 1<<32-1 {
			c.Fail(errQueue)
			return
		}
		ticket += step
		w.Ticket, w.Ends, w.Cost = ticket, ends, uint32(cost)
		q.cost += cost
		if i > 0 && ends < q.At(i-1).Ends {
			q.byEnd = []uint64{}
		}
	}
	if q.byEnd != nil {
		q.byEnd = nil
		q.order()
	}
}

// codeEnds codes the end of a wait as the difference to the one before it, with the
// sign in the lowest bit.
func codeEnds(c *wire.Coder, before, ends clock.Mark) clock.Mark {
	more := int64(ends - before) // wraps around
	word := uint64(more)<<1 ^ uint64(more>>63)
	c.Uvarint(&word)
	return before + (clock.Mark(word>>1) ^ -clock.Mark(word&1))
}

var errQueue = wire.Invalid("queue: tickets out of order or never given, or a length that is not there")

// Check returns an error when the tickets are not in order, or one was not given.
func (q *Queue) Check() error {
	ticket := uint64(0)
	for i := range q.waiters() {
		w := q.At(i)
		if w.Ticket <= ticket || w.Ticket > q.serial {
			return errQueue
		}
		ticket = w.Ticket
	}
	return nil
}
