package queue

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// An empty queue keeps room for a few waiters, so that a short queue allocates once,
// and not for as many as it once had (G20).
func TestRoomOfAnEmptyQueue(t *testing.T) {
	for n, want := range map[int]int{1: 1, keepWaiters: keepWaiters, 1_000: 0} {
		var q Queue
		for id := range n {
			q.Push(uint64(id), 1, clock.Mark(n-id))
		}
		q.DropTo(0, reducer.ReasonFull, new(reducer.Out))
		if room := cap(q.buffer); want == 0 && room > 0 || room < want || q.head != 0 || q.byEnd != nil {
			t.Errorf("after %d waiters there is room for %d", n, room)
		}
	}
}
