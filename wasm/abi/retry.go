package abi

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Next decides after an attempt of a call whose state is Slots.Attempt, the
// attempts that have started, and Slots.Before. It returns 1 when another one
// follows, Slots.Millis after now; else 0, with Slots.Reason. after is what the
// answer named as retry-after, NaN for nothing; until is the deadline, NaN for
// none. seed is the call's. Slots.Began is when the call began, for a retry with a
// longest time.
func (m *Module) Next(handle, outcome uint32, after, until, now float64, seedLow, seedHigh uint32) int32 {
	r := m.get(handle).retry
	if r == nil {
		return m.lost()
	}
	if outcome > 255 {
		return m.fail(BadArgument, "no such outcome")
	}
	s := &m.Slots
	end := retry.End{Outcome: reducer.Outcome(outcome), Deadline: clock.Never, Began: m.mark(m.Slots.Began, 0), Seed: uint64(seedHigh)<<32 | uint64(seedLow)}
	end.RetryAfter, end.Told = m.span(after)
	if !math.IsNaN(until) {
		end.Deadline = m.mark(until, 0)
	}
	at := m.mark(now, 0)
	state, verdict := r.Next(retry.State{Before: time.Duration(s.Before), Attempt: s.Attempt}, end, at)
	s.Before, s.Reason = int64(state.Before), uint32(verdict.Reason)
	if !verdict.Again {
		return 0
	}
	s.Millis = millisOf(int64(verdict.Until.Sub(at)))
	return 1
}
