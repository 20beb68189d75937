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

func bulkheadScene(name string, c bulkhead.Config, callers, depth int) scene[bulkhead.State] {
	of := func(kinds ...reducer.Kind) (all []reducer.Action) {
		for _, kind := range kinds {
			all = append(all, reducer.Action{Kind: kind})
		}
		return all
	}
	return scene[bulkhead.State]{
		name: name, depth: depth,
		use: explore.Use[bulkhead.State]{Cell: must(bulkhead.New(c)), Callers: callers,
			New: fmt.Sprintf("concurrent=%d queue=%d wait=%s lease=%s", c.Concurrent, c.Queue, c.Wait, c.Lease),
			Alphabet: append(of(reducer.Release, reducer.Cancel, reducer.Renew, reducer.Leave, reducer.Expire, reducer.Tick, reducer.Serve),
				reducer.Action{Kind: reducer.Acquire, Cost: 1}, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}),
			Late: of(reducer.Release)},
		late:  of(reducer.Release, reducer.Cancel, reducer.Renew, reducer.Leave),
		marks: explore.Marks{After: []time.Duration{0, 1}, Wake: []time.Duration{0}},
		key:   placesKey,
		last:  func(s *bulkhead.State) (clock.Mark, bool) { return s.Last, true },
		move:  moveMark,
		rules: placesRules(c),
	}
}

// placesKey reads the encoded state, whose layout is part of the format, and
// leaves out what no step can tell: where on the line of marks it is, the serial
// numbers of grants and tickets, and who is who.
func placesKey(dst []byte, r room[bulkhead.State], now clock.Mark) []byte {
	const header, holder, waiter, links = 22, 32, 44, 24
	all := r.Bytes[header:]
	holders := int(binary.LittleEndian.Uint32(all[12:]))
	dst = append(dst, all[:16]...)
	mark := func(at []byte) {
		left := clock.Mark(binary.LittleEndian.Uint64(at))
		if left != clock.Never {
			left = max(0, left-now) // what is over is over
		}
		dst = append(dst, byte(min(left, 255)))
	}
	flag := func(at []byte) {
		dst = append(dst, byte(min(1, binary.LittleEndian.Uint64(at))))
	}
	for all = all[16:]; holders > 0; holders-- {
		flag(all)
		mark(all[16:])
		dst = append(dst, all[24:holder]...)
		all = all[holder:]
	}
	all = all[8:]
	dst = append(dst, all[:links]...)
	for all = all[links:]; len(all) > 0; all = all[waiter:] {
		flag(all[8:])
		mark(all[16:])
		dst = append(dst, all[28:waiter]...)
	}
	var pages [explore.MaxCallers]uint16
	for i := range r.Callers {
		// Of what is over only the place is left.
		p := &r.Callers[i]
		pages[i] = uint16(p.Standing)<<12 | uint16(p.Permit.ID&7)<<8 | uint16(p.Ticket&7)
	}
	slices.Sort(pages[:len(r.Callers)])
	for i := range r.Callers {
		dst = binary.LittleEndian.AppendUint16(dst, pages[i])
	}
	return dst
}
