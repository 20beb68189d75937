package sluice

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Reservation is permits that are taken ahead of their use. They may be used from their turn
// on, and come back until then. Copies are the same reservation.
type Reservation struct{ shared *reservation }

// reserver is a limiter whose permits are reserved.
type reserver interface {
	now() clock.Mark
	// giveBack cancels a reservation before its turn.
	giveBack(x *reservation, now clock.Mark)
}

type reservation struct {
	limiter   reserver
	permit    reducer.Permit
	cost      uint32
	turn      clock.Mark
	cancelled atomic.Bool
}

func reserved(l reserver, n uint32, p reducer.Permit, turn clock.Mark) Reservation {
	return Reservation{&reservation{limiter: l, permit: p, cost: n, turn: turn}}
}

// reserve asks the cell of a limiter for n permits whose turn is after at most wait, and
// returns the turn of those that it admits, else clock.Always.
func reserve(c cell.Cell, n uint32, wait time.Duration, now clock.Mark, out *reducer.Out) (reducer.Answer, clock.Mark) {
	answer := c.Step(reducer.Action{Kind: reducer.Reserve, Cost: n, Permit: reducer.Permit{Mark: now.Add(wait)}}, now, out)
	if answer.Verdict != reducer.Admit {
		return answer, clock.Always
	}
	if n == 0 {
		return answer, now
	}
	m, state := limiter.Of(c)
	return answer, max(now, m.ReadyAt(state, answer.Permit))
}

// Delay returns how long to wait before the permits may be used, 0 for those that
// were cancelled.
func (r Reservation) Delay() time.Duration {
	if r.shared == nil || r.shared.cancelled.Load() {
		return 0
	}
	return max(0, r.shared.turn.Sub(r.shared.limiter.now()))
}

// Cancel returns those permits on which no later reservation depends, before their turn: a
// caller that cancels from its turn on may have used them, and nothing comes back. Only the
// first call counts, of all copies.
func (r Reservation) Cancel() {
	x := r.shared
	if x == nil || !x.cancelled.CompareAndSwap(false, true) {
		return
	}
	if now := x.limiter.now(); now < x.turn {
		x.limiter.giveBack(x, now)
	}
}
