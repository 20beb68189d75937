package queue

import "github.com/sluice-go/sluice/core/internal/assert"

// Assert asserts what holds of each queue: of a short one all, of a long one its lengths.
func (q *Queue) Assert() {
	assert.That(q.head <= len(q.buffer), "queue: its head is in its buffer")
	assert.That(q.byEnd == nil || len(q.byEnd) == int(q.Len()), "queue: each waiter has a place in the order of ends")
	if q.Len() > assert.Few {
		return
	}
	assert.Sound(q.Check())
	cost := uint64(0)
	for i := range q.waiters() {
		w := q.At(i)
		cost += uint64(w.Cost)
		next := q.Ending(i + 1)
		assert.That(q.Ending(i) != nil && (next == nil || q.Ending(i).Ends <= next.Ends), "queue: waits end in their order")
	}
	assert.That(cost == q.cost, "queue: its cost is the sum of the costs of the waiters")
}
