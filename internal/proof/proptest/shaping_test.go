package proptest

import (
	"fmt"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// L12: a limiter with a queue and a burst of one is a leaky queue. Departures follow the
// recursion departure = max(arrival, departure before + interval), in the order of arrival, and
// a caller is dropped exactly when the queue is full, or when the departure would come after
// the maximum wait.
func L12(m machine, h history) error {
	_, c := m.begin(h)
	c.limit.Burst = 1
	every := clock.Mark(interval(c.limit))
	r := newRig(m.make(c), m.kind)
	next := clock.Always // the earliest mark of the next departure
	var due []clock.Mark // departures of the accepted callers
	taken := map[uint64]int{}
	for _, w := range h.steps() {
		r.advance(r.now + clock.Mark(w%16*(w>>4%2)))
		r.callers++
		waiting := uint32(len(r.waiting))
		departs := max(r.now, next)
		full, late := waiting >= c.limit.Queue && departs > r.now, departs > r.now.Add(c.limit.Wait)
		x := r.step(reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: r.callers}})
		if refused := x.Verdict == reducer.Reject; refused != (full || late) {
			return fmt.Errorf("L12: %s with %d of %d waiting and a departure at %s: %s", r.now, waiting, c.limit.Queue, departs, x)
		} else if refused {
			continue
		}
		if departs > r.now {
			m.meet()
		}
		taken[r.callers] = len(due)
		due, next = append(due, departs), departs+every
	}
	r.advance(r.now + 1_000)
	if len(r.grants) != len(due) {
		return fmt.Errorf("L12: %d were accepted, %d departed", len(due), len(r.grants))
	}
	for i, g := range r.grants {
		if n, ok := taken[g.caller]; !ok || n != i || g.at != due[n] {
			return fmt.Errorf("L12: departure %d is that of caller %d at %s, by the recursion at %s", i, g.caller, g.at, due[i])
		}
	}
	return r.err
}
