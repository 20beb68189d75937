package explore

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Use says how a cell is used.
type Use[S any] struct {
	// Cell is the machine. Required.
	Cell reducer.Cell[S]
	// New makes the cell in a script, as in "concurrent=2 queue=1".
	New string
	// Callers who may hold a permit or wait at one time, at most MaxCallers.
	// Their ids count from 1. Without callers, the books do not keep permits, and
	// a Record names no permit, as for a budget.
	Callers int
	// Alphabet has the actions that may happen. A caller that acquires (Acquire,
	// TryAcquire, Reserve) has neither a permit nor a place in the queue; a caller
	// that ends or renews a permit holds it; a caller of Leave or Expire waits.
	// Permits are filled in. Cost is the cost of an acquisition; for an action on a
	// permit, 0 means the cost of the permit. Mark, where an action has one, counts
	// from the mark of the action.
	Alphabet []reducer.Action
	// Late has the actions that may happen with a permit or a ticket that is over.
	Late []reducer.Action
	// Memory is for how long Room.Recent keeps a grant. 0 for not at all.
	Memory time.Duration
	// Modes are the names of the states of a breaker.
	Modes []string
}

// MaxCallers of a Use.
const MaxCallers = 64

// Standing is the relation of a caller to a cell.
type Standing uint8

// The standings.
const (
	// No permit, and no place in the queue.
	None Standing = iota
	// Waits in the queue.
	Waits
	// Holds a permit.
	Holds
	// Late: its permit or its wait is over, and it may act as if it were not.
	Late
)

// Caller is the record of a caller in the books.
type Caller struct {
	Standing Standing
	Cost     uint32
	Permit   reducer.Permit // while it Holds, and of Late
	Ticket   uint64         // while it Waits, and of Late
	Since    clock.Mark     // when it began to wait, or was granted
}

// Grant is a permit that was granted and not cancelled.
type Grant struct {
	At     clock.Mark
	Cost   uint32
	Permit reducer.Permit
}

// Room is a cell's state with the books of its callers.
type Room[S any] struct {
	State S
	// Bytes is the encoded state, as it was when the state was made.
	Bytes []byte
	// Callers by their ids, counted from 1.
	Callers []Caller
	// Queue has the ids of the waiters, in the order of arrival.
	Queue []uint64
	// Recent has the grants of the last Use.Memory that were not cancelled, the
	// oldest first.
	Recent []Grant
}

// Deed is an action of a caller, 0 for no caller. Its permit is in the books.
type Deed struct {
	Caller uint64
	Action reducer.Action
}

var errCell = errors.New("explore: the use has no cell")

// ForCell returns the model of a cell and its callers. The caller sets marks and
// invariants. The key distinguishes all rooms, and may be replaced by a coarser one.
// An action may come at any of the marks, whether or not the owner of the cell has
// processed what was due before. The interpreter of the scripts checks each retry
// delay for an owner that is never late, so it may refuse such a path for that alone.
func ForCell[S any](u Use[S]) (Model[Room[S], Deed, reducer.Effects], error) {
	var m Model[Room[S], Deed, reducer.Effects]
	switch {
	case u.Cell == nil:
		return m, errCell
	case u.Callers < 0 || u.Callers > MaxCallers:
		return m, bad("callers", u.Callers, "0 to 64")
	case u.Memory < 0:
		return m, reducer.BadDuration("memory", u.Memory, "0 or more")
	}
	d := &desk[S]{u, reducer.ValuesOf(u.Cell)}
	m.Machine, m.Actions, m.Key = d, d.deeds, AppendKey[S]
	m.Script = Script[Room[S], Deed, reducer.Effects]{New: u.New, Action: d.appendDeed, Effects: d.appendEffects, State: d.appendState}
	return m, nil
}

// AppendKey appends a key that distinguishes a room at a mark from all others.
func AppendKey[S any](dst []byte, room Room[S], now clock.Mark) []byte {
	dst = words(append(dst, room.Bytes...), uint64(now))
	for _, c := range room.Callers {
		dst = append(dst, byte(c.Standing))
		if c.Standing != None {
			dst = words(dst, uint64(c.Cost), c.Permit.Generation, c.Permit.ID, uint64(c.Permit.Mark), c.Ticket, uint64(c.Since))
		}
	}
	for _, id := range room.Queue {
		dst = append(dst, byte(id))
	}
	for _, g := range room.Recent {
		dst = words(dst, uint64(g.At), uint64(g.Cost), g.Permit.Generation, g.Permit.ID, uint64(g.Permit.Mark))
	}
	return dst
}

func words(dst []byte, all ...uint64) []byte {
	for _, v := range all {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// desk is the machine whose states are rooms.
type desk[S any] struct {
	Use[S]
	values reducer.Values[S]
}

// Init implements reducer.Machine.
func (d *desk[S]) Init(now clock.Mark) Room[S] {
	state := d.values.Init(now)
	return Room[S]{State: state, Bytes: d.values.AppendState(nil, state), Callers: make([]Caller, d.Callers)}
}

// NextWake implements reducer.Machine.
func (d *desk[S]) NextWake(room Room[S]) (clock.Mark, bool) { return d.values.NextWake(room.State) }

// Reduce implements reducer.Machine.
func (d *desk[S]) Reduce(room Room[S], deed Deed, at clock.Mark) (Room[S], reducer.Effects) {
	action := room.Action(deed)
	state, effects := d.values.Reduce(room.State, action, at)
	next := Room[S]{State: state, Bytes: d.values.AppendState(make([]byte, 0, len(room.Bytes)), state),
		Callers: slices.Clone(room.Callers), Queue: room.Queue, Recent: d.recent(room.Recent, at)}
	next.note(deed, action, effects, at, d.Memory > 0)
	if len(d.Late) == 0 {
		for i := range next.Callers {
			if next.Callers[i].Standing == Late {
				next.Callers[i] = Caller{}
			}
		}
	}
	return next, effects
}

// recent returns the grants that are still remembered.
func (d *desk[S]) recent(all []Grant, at clock.Mark) []Grant {
	for len(all) > 0 && at.Sub(all[0].At) > d.Memory {
		all = all[1:]
	}
	return all
}

// Action returns the deed with the permit or the ticket of its caller.
func (r *Room[S]) Action(deed Deed) reducer.Action {
	a := deed.Action
	if deed.Caller == 0 || deed.Caller > uint64(len(r.Callers)) {
		return a
	}
	c := &r.Callers[deed.Caller-1]
	switch about(a.Kind) {
	case asking:
		a.ID = deed.Caller
	case waiting:
		a.ID = c.Ticket
	case holding:
		a.Permit = c.Permit
		if a.Cost == 0 {
			a.Cost = c.Cost
		}
	}
	return a
}

// actor says which callers may take an action.
type actor uint8

const (
	none    actor = iota // the owner of the cell
	asking               // a caller without a permit or a place in the queue
	waiting              // a waiter
	holding              // the holder of a permit
)

func about(kind reducer.Kind) actor {
	switch kind {
	case reducer.Acquire, reducer.TryAcquire, reducer.Reserve:
		return asking
	case reducer.Leave, reducer.Expire:
		return waiting
	case reducer.Commit, reducer.Cancel, reducer.Release, reducer.Record, reducer.Renew:
		return holding
	}
	return none
}

// deeds appends what may happen in the room.
func (d *desk[S]) deeds(dst []Deed, room Room[S], at clock.Mark) []Deed {
	for _, a := range d.Alphabet {
		if a.Mark != 0 {
			a.Mark = at.Add(time.Duration(a.Mark))
		}
		switch about(a.Kind) {
		case none:
			dst = append(dst, Deed{Action: a})
		case asking:
			dst = d.askers(dst, room, a)
		case waiting:
			dst = by(dst, room, a, Waits)
		case holding:
			if len(room.Callers) == 0 && a.Kind == reducer.Record {
				dst = append(dst, Deed{Action: a})
			}
			dst = by(dst, room, a, Holds)
		}
	}
	for _, a := range d.Late {
		dst = by(dst, room, a, Late)
	}
	return dst
}

// askers appends the action by each caller that may acquire. Of callers with equal
// records one is enough.
func (d *desk[S]) askers(dst []Deed, room Room[S], a reducer.Action) []Deed {
	if len(room.Callers) == 0 {
		return append(dst, Deed{Action: a})
	}
	for i, c := range room.Callers {
		if (c.Standing == None || c.Standing == Late) && !slices.Contains(room.Callers[:i], c) {
			dst = append(dst, Deed{uint64(i + 1), a})
		}
	}
	return dst
}

func by[S any](dst []Deed, room Room[S], a reducer.Action, standing Standing) []Deed {
	for i := range room.Callers {
		if room.Callers[i].Standing == standing {
			dst = append(dst, Deed{uint64(i + 1), a})
		}
	}
	return dst
}
