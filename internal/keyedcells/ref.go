package keyedcells

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Ref is a cell in a shard that is locked until Unlock. It is valid until then.
type Ref struct {
	s     *shard
	index uint32
}

// Unlock unlocks the shard, after it has noted whether the cell is held.
func (r Ref) Unlock() {
	s := r.s
	if s.config.Bucket != nil {
		s.table.Stepped(r.index)
	} else if r.index != keyed.Spare {
		s.note(r.index)
	}
	s.mu.Unlock()
}

// Acquire returns an acquire as the cell is to be asked: it begins no block where as many
// keys as may be have one.
func (r Ref) Acquire(a reducer.Action) reducer.Action {
	if s := r.s; s.blocks && r.index != keyed.Spare && !s.table.MayBlock() {
		return a.WithoutBlock()
	}
	return a
}

// Answered counts the answer of the cell to an action that Acquire has returned.
func (r Ref) Answered(a *reducer.Action, answer *reducer.Answer) {
	if r.s.blocks {
		r.s.table.CountUnblocked(a, answer)
	}
}

// Cell returns the cell, valid until Unlock. The cell of a token bucket is a view of its state.
func (r Ref) Cell() cell.Cell {
	s := r.s
	if s.config.Bucket == nil {
		return *s.cells.At(r.index)
	}
	s.view = bucket{s, r.index}
	return &s.view
}

// SetCell replaces the cell by one of Config.Maker at which no caller waits, or its state by
// the state of the other.
func (r Ref) SetCell(c cell.Cell) { r.s.set(r.index, c) }

// Word returns the TAT of a token bucket and its machine, nil for all else. A caller that
// takes permits by the word steps no older mark than Use had.
func (r Ref) Word() (*uint64, *tokenbucket.Machine) {
	if m := r.s.config.Bucket; m != nil {
		return r.s.table.Word(r.index), m.TokenBucket()
	}
	return nil, nil
}

// ReadyAt returns the mark from which a permit of a limit may be used that the last step
// granted or reserved.
func (r Ref) ReadyAt(p reducer.Permit) clock.Mark {
	s := r.s
	if s.config.Bucket != nil {
		state := s.bucket(r.index)
		return s.config.Bucket.ReadyAt(&state, p)
	}
	m, state := limiter.Of(*s.cells.At(r.index))
	return m.ReadyAt(state, p)
}

// Fresh reports whether the cell decides as a new one would.
func (r Ref) Fresh(now clock.Mark) bool { return r.s.fresh(r.index, now) }

// Text returns the one-line form of the cell's state, for people.
func (r Ref) Text(now clock.Mark) string {
	if s := r.s; s.config.Bucket != nil {
		state := s.bucket(r.index)
		return string(s.config.Bucket.AppendText(nil, &state, now))
	}
	return cell.Text(*r.s.cells.At(r.index), now)
}

// Out is where steps of the cell append. The caller empties it before Unlock.
func (r Ref) Out() *reducer.Out { return &r.s.out }

// Key returns the key of the cell, empty for the spare cell and where names are
// not kept.
func (r Ref) Key() string {
	if !r.s.config.Names {
		return ""
	}
	return *r.s.names.At(r.index)
}

// Shared reports whether it is the cell that new keys share.
func (r Ref) Shared() bool { return r.index == keyed.Spare }

// Handle names the cell until its key is evicted.
func (r Ref) Handle() keyed.Handle { return r.s.table.Handle(r.index) }

// Last returns the latest mark at which the shard was used. A caller cancels no
// earlier: a refund at a mark before another caller's grant would return too much.
func (r Ref) Last() clock.Mark { return r.s.last }

// Side returns what SetSide keeps beside the cell, nil for nothing.
func (r Ref) Side() any { return r.s.sides[r.s.table.Hash(r.index)] }

// SetSide keeps a value beside the cell: the waiters of a held cell, for example.
// It is forgotten when the key is evicted. nil removes it.
func (r Ref) SetSide(side any) {
	s := r.s
	h := s.table.Hash(r.index)
	if side == nil {
		if delete(s.sides, h); len(s.sides) == 0 {
			s.sides = nil
		}
		return
	}
	if s.sides == nil {
		s.sides = map[keyed.Hash]any{}
	}
	s.sides[h] = side
}
