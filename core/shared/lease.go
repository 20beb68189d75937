package shared

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// held are the permits that this process holds under leases at the cells of a step.
type held struct {
	list  []place
	index map[Key]int // in list
}

// place are the permits at one cell. The key of a step without keys is the zero one.
type place struct {
	key    Key
	count  int
	permit reducer.Permit // the latest
}

// note notes what became of a permit.
func (h *held) note(of *Key, a *reducer.Action, answer *reducer.Answer) {
	var key Key
	if of != nil {
		key = *of
	}
	at, known := h.index[key]
	switch {
	case answer.Verdict == reducer.Admit:
		if !known {
			if h.index == nil {
				h.index = map[Key]int{}
			}
			at = len(h.list)
			h.index[key] = at
			h.list = append(h.list, place{key: key})
		}
		h.list[at].count++
		h.list[at].permit = answer.Permit
	case !known || a.Kind != reducer.Release && a.Kind != reducer.Cancel:
	case h.list[at].count > 1:
		h.list[at].count--
	default:
		last := len(h.list) - 1
		h.list[at] = h.list[last]
		h.index[h.list[at].key] = at
		h.list = h.list[:last]
		delete(h.index, key)
	}
}

// renewAll renews the leases of this process. A permit that a lease has lost meanwhile stays
// lost.
func (s *step) renewAll(now clock.Mark) {
	if len(s.held.list) == 0 || now.Sub(s.last) < s.renew {
		return
	}
	s.last = now
	for i := range s.held.list {
		at := &s.held.list[i]
		key := &at.key
		if at.key == (Key{}) {
			key = nil
		}
		s.cells.step(key, reducer.Action{Kind: reducer.Renew, Permit: at.permit})
	}
}
