package proptest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The exploration of bulkheads.

// exploredPlaces has 2 places with leases and a queue of 2, in nanoseconds.
var exploredPlaces = bulkhead.Config{Concurrent: 2, Queue: 2, Wait: 2, Lease: 3}

// exploredCosts has 3 places and a queue of 2.
var exploredCosts = bulkhead.Config{Concurrent: 3, Queue: 2, Wait: 2, Lease: 2}

// asking acquires at a cost.
func asking(cost uint32) []reducer.Action {
	return []reducer.Action{{Kind: reducer.Acquire, Cost: cost}, {Kind: reducer.TryAcquire, Cost: cost}}
}

func bulkheadScene(name string, c bulkhead.Config, callers, depth int, asks ...reducer.Action) scene[bulkhead.State] {
	of := func(kinds ...reducer.Kind) (all []reducer.Action) {
		for _, kind := range kinds {
			all = append(all, reducer.Action{Kind: kind})
		}
		return all
	}
	return scene[bulkhead.State]{
		name: name, depth: depth,
		use: explore.Use[bulkhead.State]{Cell: must(bulkhead.New(c)), Callers: callers,
			New:      fmt.Sprintf("concurrent=%d queue=%d wait=%s lease=%s", c.Concurrent, c.Queue, c.Wait, c.Lease),
			Alphabet: append(of(reducer.Release, reducer.Cancel, reducer.Renew, reducer.Leave, reducer.Expire, reducer.Tick, reducer.Serve), asks...),
			Late:     of(reducer.Release)},
		late:  of(reducer.Release, reducer.Cancel, reducer.Renew, reducer.Leave),
		marks: explore.Marks{After: []time.Duration{0, 1}, Wake: []time.Duration{0}},
		key:   placesKey,
		last:  func(s *bulkhead.State) (clock.Mark, bool) { return s.Last, true },
		move:  moveMark,
		rules: placesRules(c),
	}
}

// placesKey reads the encoded holders, whose layout is part of the format, and omits
// the parts that no step depends on: its absolute marks, the serial numbers of grants
// and tickets, and the identity of callers.
func placesKey(dst []byte, r room[bulkhead.State], now clock.Mark) []byte {
	const header = 6 + 8 // and the mark of the latest change
	left := func(at clock.Mark) {
		if at != clock.Never {
			at = max(0, at-now) // of a place that was freed, only this is known
		}
		dst = append(dst, byte(min(at, 255)))
	}
	all := r.Bytes[header:]
	number := func() uint64 {
		v, n := binary.Uvarint(all)
		all = all[n:]
		return v
	}
	number()                                     // of grants
	leased, others := number(), number()%(1<<20) // above it, where costs above 1 follow
	dst = append(dst, byte(leased), byte(others))
	until := clock.Never
	for i := range leased + others {
		slot := number()
		number() // of the grant
		number() // the caller
		switch {
		case i >= leased:
			until = clock.Never
		case i == 0:
			until = clock.Mark(binary.LittleEndian.Uint64(all))
			all = all[8:]
		default:
			until += clock.Mark(number())
		}
		dst = append(dst, byte(slot))
		left(until)
	}
	dst = append(dst, byte(len(r.Queue)))
	for _, id := range r.Queue {
		if w := r.State.Queue.Find(r.Callers[id-1].Ticket); w != nil {
			left(w.Ends)
		}
	}
	var pages [explore.MaxCallers]uint16
	for i := range r.Callers {
		p := &r.Callers[i]
		pages[i] = uint16(p.Standing)<<12 | uint16(p.Cost)<<8
		switch p.Standing {
		case explore.Holds:
			pages[i] |= uint16(p.Permit.ID)
		case explore.Waits:
			pages[i] |= uint16(slices.Index(r.Queue, uint64(i+1)))
		}
	}
	slices.Sort(pages[:len(r.Callers)])
	for i := range r.Callers {
		dst = binary.LittleEndian.AppendUint16(dst, pages[i])
	}
	return dst
}
