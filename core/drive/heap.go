package drive

import "github.com/sluice-go/sluice/clock"

// class orders what is due at one mark: first all ends, then what begins.
type class uint8

const (
	ends     class = iota // timeouts and waits, call by call
	leases                // bulkheads
	breakers              // half-open ones with probes out
	serves                // queues, from the outermost step inwards
	resumes               // attempts, in the order of their calls
	injects               // the ends of injected latency, in the order of their calls
)

// entry is a wake of a call or of a cell.
type entry struct {
	at     clock.Mark
	number uint64 // of the call, or of the call that is served next
	class  class
	step   uint8
	pos    int32 // in the heap, counted from 1; 0 when it is not in it
	call   *call
	node   *node
}

func (e *entry) before(f *entry) bool {
	switch {
	case e.at != f.at:
		return e.at < f.at
	case e.class != f.class:
		return e.class < f.class
	case (e.class == serves || e.class == leases) && e.step != f.step:
		return e.step < f.step
	}
	return e.number < f.number
}

// heap is an indexed binary heap: an entry stores its place, so that the wakes of an
// idle machine can be removed.
type heap []*entry

// set moves an entry to its mark; clock.Never takes it out.
func (h *heap) set(e *entry, at clock.Mark) {
	e.at = at
	switch {
	case at == clock.Never:
		h.remove(e)
	case e.pos == 0:
		*h = append(*h, e)
		e.pos = int32(len(*h))
		h.up(e)
	default:
		h.up(e)
		h.down(e)
	}
}

func (h *heap) remove(e *entry) {
	if e.pos == 0 {
		return
	}
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	if last != e {
		last.pos = e.pos
		(*h)[last.pos-1] = last
		h.up(last)
		h.down(last)
	}
	e.pos = 0
}

func (h *heap) up(e *entry) {
	for e.pos > 1 {
		parent := (*h)[e.pos/2-1]
		if !e.before(parent) {
			return
		}
		h.swap(e, parent)
	}
}

func (h *heap) down(e *entry) {
	for {
		child := 2 * e.pos
		if int(child) > len(*h) {
			return
		}
		least := (*h)[child-1]
		if int(child) < len(*h) && (*h)[child].before(least) {
			least = (*h)[child]
		}
		if !least.before(e) {
			return
		}
		h.swap(least, e)
	}
}

// swap exchanges e, which is below f, with f.
func (h *heap) swap(e, f *entry) {
	e.pos, f.pos = f.pos, e.pos
	(*h)[e.pos-1], (*h)[f.pos-1] = e, f
}
