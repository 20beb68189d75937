package queue

import (
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
	"github.com/sluice-go/sluice/reducer"
)

// none is the link that leads nowhere; links count from 1.
const none = 0

// slotBits of a ticket hold the slot, the others a serial number, so that the
// ticket of a waiter that left is never another's. The number begins anew after
// 2^44 waiters.
const (
	slotBits   = 20
	slotMask   = 1<<slotBits - 1
	serialMask = 1<<(64-slotBits) - 1
)

// Waiter is who waits.
type Waiter struct {
	Caller uint64
	Ticket uint64 // 0 when the slot is free
	Ends   clock.Mark
	Cost   uint32

	before, behind uint32 // by arrival; behind links free slots
	later, sooner  uint32 // by the end of the wait
}

// Queue is a value whose slots are shared by copies until Clone. The waiters
// that it returns stand in it: they are read before the queue next changes.
type Queue struct {
	slots       []Waiter
	serial      uint64
	cost        uint64
	length      uint32
	front, back uint32 // oldest and newest
	first, last uint32 // soonest and latest end
	free        uint32
}

// Len returns how many wait.
func (q *Queue) Len() uint32 { return q.length }

// Cost returns the sum of what the waiters ask for.
func (q *Queue) Cost() uint64 { return q.cost }

// Clone returns a queue that shares no memory with q.
func (q Queue) Clone() Queue {
	q.slots = slices.Clone(q.slots)
	return q
}

// Shift moves the ends of all waits.
func (q *Queue) Shift(by time.Duration) {
	for i := range q.slots {
		if w := &q.slots[i]; w.Ticket != 0 {
			w.Ends = w.Ends.Add(by)
		}
	}
}

// Push appends a waiter and returns its ticket.
func (q *Queue) Push(caller uint64, cost uint32, ends clock.Mark) uint64 {
	at := q.free
	if at == none {
		q.slots = append(q.slots, Waiter{})
		at = uint32(len(q.slots))
	} else {
		q.free = q.slots[at-1].behind
	}
	q.serial = (q.serial + 1) & serialMask
	w := &q.slots[at-1]
	*w = Waiter{Caller: caller, Ticket: q.serial<<slotBits | uint64(at), Ends: ends, Cost: cost, before: q.back}
	*q.behind(q.back) = at
	q.back = at
	q.linkEnd(at)
	q.length++
	q.cost += uint64(cost)
	return w.Ticket
}

// linkEnd walks back from the latest end; with one wait for all, that is one look.
func (q *Queue) linkEnd(at uint32) {
	w := &q.slots[at-1]
	next, prev := uint32(none), q.last
	for prev != none && q.slots[prev-1].Ends > w.Ends {
		next, prev = prev, q.slots[prev-1].sooner
	}
	w.sooner, w.later = prev, next
	*q.later(prev), *q.sooner(next) = at, at
}

// behind returns the link to who came after a slot, that of none to the front;
// before, later and sooner are the like.
func (q *Queue) behind(at uint32) *uint32 {
	if at == none {
		return &q.front
	}
	return &q.slots[at-1].behind
}

func (q *Queue) before(at uint32) *uint32 {
	if at == none {
		return &q.back
	}
	return &q.slots[at-1].before
}

func (q *Queue) later(at uint32) *uint32 {
	if at == none {
		return &q.first
	}
	return &q.slots[at-1].later
}

func (q *Queue) sooner(at uint32) *uint32 {
	if at == none {
		return &q.last
	}
	return &q.slots[at-1].sooner
}

// Find returns the waiter with the ticket, nil for none.
func (q *Queue) Find(ticket uint64) *Waiter {
	at := uint32(ticket & slotMask)
	if at == none || int(at) > len(q.slots) || q.slots[at-1].Ticket != ticket {
		return nil
	}
	return &q.slots[at-1]
}

// Remove takes the waiter with the ticket out. It returns false for none.
func (q *Queue) Remove(ticket uint64) bool {
	w := q.Find(ticket)
	if w == nil {
		return false
	}
	q.Take(w)
	return true
}

// Take takes a waiter out and returns its caller.
func (q *Queue) Take(w *Waiter) (caller uint64) {
	*q.behind(w.before), *q.before(w.behind) = w.behind, w.before
	*q.later(w.sooner), *q.sooner(w.later) = w.later, w.sooner
	caller, at := w.Caller, uint32(w.Ticket&slotMask)
	q.length--
	q.cost -= uint64(w.Cost)
	*w = Waiter{behind: q.free}
	q.free = at
	return caller
}

// Drop takes a waiter out and tells of it.
func (q *Queue) Drop(w *Waiter, why reducer.Reason, out *reducer.Out) {
	*out = append(*out, reducer.Effect{Kind: reducer.Drop, Reason: why, Caller: q.Take(w)})
}

// DropTo drops the oldest waiters until no more than keep are left.
func (q *Queue) DropTo(keep uint32, why reducer.Reason, out *reducer.Out) {
	for q.length > keep {
		q.Drop(q.Front(), why, out)
	}
}

// Front returns the oldest waiter, nil for none.
func (q *Queue) Front() *Waiter { return q.at(q.front) }

// Back returns the newest waiter, nil for none.
func (q *Queue) Back() *Waiter { return q.at(q.back) }

// Behind returns who came after w, nil for nobody.
func (q *Queue) Behind(w *Waiter) *Waiter { return q.at(w.behind) }

// Before returns who came before w, nil for nobody.
func (q *Queue) Before(w *Waiter) *Waiter { return q.at(w.before) }

// Soonest returns the waiter whose wait ends first, nil for none.
func (q *Queue) Soonest() *Waiter { return q.at(q.first) }

// Later returns the waiter whose wait ends after w's, nil for none.
func (q *Queue) Later(w *Waiter) *Waiter { return q.at(w.later) }

func (q *Queue) at(i uint32) *Waiter {
	if i == none {
		return nil
	}
	return &q.slots[i-1]
}

// EndsAt returns the mark at which the first wait ends, clock.Never for none.
func (q *Queue) EndsAt() clock.Mark {
	if w := q.Soonest(); w != nil {
		return w.Ends
	}
	return clock.Never
}

// slotSize is the length of an encoded slot.
const slotSize = 3*8 + 5*4

// Code codes the queue: its slots as they are, since tickets name them. Who
// reads closes the coder and calls Check.
func (q *Queue) Code(c *wire.Coder) {
	c.U64(&q.serial)
	for _, link := range [...]*uint32{&q.front, &q.back, &q.first, &q.last, &q.free} {
		c.U32(link)
	}
	n := c.Len(len(q.slots), slotSize)
	if c.Reads() {
		q.slots = make([]Waiter, n)
	}
	for i := range q.slots {
		w := &q.slots[i]
		c.U64(&w.Caller)
		c.U64(&w.Ticket)
		c.Mark(&w.Ends)
		for _, v := range [...]*uint32{&w.Cost, &w.before, &w.behind, &w.later, &w.sooner} {
			c.U32(v)
		}
		if c.Reads() && w.Ticket != 0 {
			q.length++
			q.cost += uint64(w.Cost)
		}
	}
}

var (
	errLinks  = errors.New("queue: the links do not lead through its waiters")
	errSerial = errors.New("queue: a serial number that no ticket holds")
)

// Check returns an error when the links are not two lists of all waiters and
// one of all free slots.
func (q *Queue) Check() error {
	if q.serial > serialMask {
		return errSerial
	}
	if len(q.slots) > slotMask || !q.linked() {
		return errLinks
	}
	return nil
}

func (q *Queue) linked() bool {
	seen := uint32(0)
	prev := uint32(none)
	for at := q.front; at != none; at = q.slots[at-1].behind {
		if uint64(at) > uint64(len(q.slots)) || seen > q.length || q.slots[at-1].before != prev || q.slots[at-1].Ticket&slotMask != uint64(at) {
			return false
		}
		seen, prev = seen+1, at
	}
	if seen != q.length || q.back != prev {
		return false
	}
	seen, prev = 0, none
	for at := q.first; at != none; at = q.slots[at-1].later {
		if uint64(at) > uint64(len(q.slots)) || seen > q.length || q.slots[at-1].sooner != prev || q.slots[at-1].Ticket == 0 {
			return false
		}
		if prev != none && q.slots[prev-1].Ends > q.slots[at-1].Ends {
			return false
		}
		seen, prev = seen+1, at
	}
	if seen != q.length || q.last != prev {
		return false
	}
	for at := q.free; at != none; at = q.slots[at-1].behind {
		if uint64(at) > uint64(len(q.slots)) || int(seen) > len(q.slots) || q.slots[at-1].Ticket != 0 {
			return false
		}
		seen++
	}
	return int(seen) == len(q.slots)
}
