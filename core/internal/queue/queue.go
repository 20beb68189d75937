package queue

import (
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
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

// Queue is a value whose slots are shared by copies until Clone.
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
		if q.slots[i].Ticket != 0 {
			q.slots[i].Ends = q.slots[i].Ends.Add(by)
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
	if q.back == none {
		q.front = at
	} else {
		q.slots[q.back-1].behind = at
	}
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
	if prev == none {
		q.first = at
	} else {
		q.slots[prev-1].later = at
	}
	if next == none {
		q.last = at
	} else {
		q.slots[next-1].sooner = at
	}
}

// Find returns the waiter with the ticket.
func (q *Queue) Find(ticket uint64) (Waiter, bool) {
	at := uint32(ticket & slotMask)
	if at == none || int(at) > len(q.slots) || q.slots[at-1].Ticket != ticket {
		return Waiter{}, false
	}
	return q.slots[at-1], true
}

// Remove takes the waiter with the ticket out.
func (q *Queue) Remove(ticket uint64) (Waiter, bool) {
	w, ok := q.Find(ticket)
	if !ok {
		return w, false
	}
	if w.before == none {
		q.front = w.behind
	} else {
		q.slots[w.before-1].behind = w.behind
	}
	if w.behind == none {
		q.back = w.before
	} else {
		q.slots[w.behind-1].before = w.before
	}
	if w.sooner == none {
		q.first = w.later
	} else {
		q.slots[w.sooner-1].later = w.later
	}
	if w.later == none {
		q.last = w.sooner
	} else {
		q.slots[w.later-1].sooner = w.sooner
	}
	at := uint32(ticket & slotMask)
	q.slots[at-1] = Waiter{behind: q.free}
	q.free = at
	q.length--
	q.cost -= uint64(w.Cost)
	return w, true
}

// Front returns the oldest waiter.
func (q *Queue) Front() (Waiter, bool) { return q.at(q.front) }

// Back returns the newest waiter.
func (q *Queue) Back() (Waiter, bool) { return q.at(q.back) }

// Behind returns who came after w.
func (q *Queue) Behind(w Waiter) (Waiter, bool) { return q.at(w.behind) }

// Before returns who came before w.
func (q *Queue) Before(w Waiter) (Waiter, bool) { return q.at(w.before) }

// Soonest returns the waiter whose wait ends first.
func (q *Queue) Soonest() (Waiter, bool) { return q.at(q.first) }

// Later returns the waiter whose wait ends after w's.
func (q *Queue) Later(w Waiter) (Waiter, bool) { return q.at(w.later) }

func (q *Queue) at(i uint32) (Waiter, bool) {
	if i == none {
		return Waiter{}, false
	}
	return q.slots[i-1], true
}

// Append writes the queue: its slots as they are, since tickets name them.
func (q *Queue) Append(dst []byte) []byte {
	dst = wire.U64(dst, q.serial)
	for _, v := range [...]uint32{q.front, q.back, q.first, q.last, q.free, uint32(len(q.slots))} {
		dst = wire.U32(dst, v)
	}
	for i := range q.slots {
		w := &q.slots[i]
		dst = wire.U64(dst, w.Caller)
		dst = wire.U64(dst, w.Ticket)
		dst = wire.Mark(dst, w.Ends)
		for _, v := range [...]uint32{w.Cost, w.before, w.behind, w.later, w.sooner} {
			dst = wire.U32(dst, v)
		}
	}
	return dst
}

// slotSize is the length of an encoded slot.
const slotSize = 3*8 + 5*4

// Read reads what Append wrote. The caller closes the reader and calls Check.
func Read(r *wire.Reader) Queue {
	q := Queue{serial: r.U64(), front: r.U32(), back: r.U32(), first: r.U32(), last: r.U32(), free: r.U32()}
	n := r.U32()
	if n > slotMask || int(n)*slotSize > r.Left() {
		n = 0
		q.front = 1 // Check refuses a link that leads nowhere.
	}
	for range n {
		w := Waiter{Caller: r.U64(), Ticket: r.U64(), Ends: r.Mark(), Cost: r.U32(),
			before: r.U32(), behind: r.U32(), later: r.U32(), sooner: r.U32()}
		q.slots = append(q.slots, w)
		if w.Ticket != 0 {
			q.length++
			q.cost += uint64(w.Cost)
		}
	}
	return q
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
	seen := uint32(0)
	prev := uint32(none)
	for at := q.front; at != none; at = q.slots[at-1].behind {
		if uint64(at) > uint64(len(q.slots)) || seen > q.length || q.slots[at-1].before != prev {
			return errLinks
		}
		if q.slots[at-1].Ticket&slotMask != uint64(at) {
			return errLinks
		}
		seen, prev = seen+1, at
	}
	if seen != q.length || q.back != prev {
		return errLinks
	}
	seen, prev = 0, none
	for at := q.first; at != none; at = q.slots[at-1].later {
		if uint64(at) > uint64(len(q.slots)) || seen > q.length || q.slots[at-1].sooner != prev || q.slots[at-1].Ticket == 0 {
			return errLinks
		}
		if prev != none && q.slots[prev-1].Ends > q.slots[at-1].Ends {
			return errLinks
		}
		seen, prev = seen+1, at
	}
	if seen != q.length || q.last != prev {
		return errLinks
	}
	for at := q.free; at != none; at = q.slots[at-1].behind {
		if uint64(at) > uint64(len(q.slots)) || int(seen) > len(q.slots) || q.slots[at-1].Ticket != 0 {
			return errLinks
		}
		seen++
	}
	if int(seen) != len(q.slots) {
		return errLinks
	}
	return nil
}
