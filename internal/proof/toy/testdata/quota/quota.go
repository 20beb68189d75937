// Package quota admits a number of calls and then no more. It is as small as a
// mechanism can be, and lives in a test alone.
package quota

import (
	"encoding/binary"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Config is what a quota is made of.
type Config struct {
	// Calls that are admitted, 1 to 1000.
	Calls uint32
}

// Cells validates the configuration and returns a maker of cells.
func Cells(c Config) (cell.Maker, error) {
	if c.Calls == 0 || c.Calls > 1000 {
		return nil, reducer.BadCount("calls", uint64(c.Calls), "1 to 1000")
	}
	return &maker{c}, nil
}

type maker struct{ config Config }

func (m *maker) New(clock.Mark) cell.Cell { return &quota{config: m.config} }

func (m *maker) Adopt(old cell.Cell, _ clock.Mark, _ *reducer.Out) bool {
	q, ok := old.(*quota)
	if ok {
		q.config = m.config
	}
	return ok
}

func (m *maker) MaxSize() int { return 4 }

type quota struct {
	config Config
	used   uint32
}

func (q *quota) Step(a reducer.Action, now clock.Mark, _ *reducer.Out) reducer.Answer {
	if a.Kind == reducer.Peek {
		return reducer.Answer{Free: q.config.Calls - min(q.used, q.config.Calls)}
	}
	if a.Kind != reducer.Acquire && a.Kind != reducer.TryAcquire {
		return reducer.Answer{}
	}
	if p, ok := q.Enter(a.Cost, a.Permit.ID, clock.Never, now); ok {
		return reducer.Admitted(p)
	}
	return reducer.Rejected(reducer.ReasonCapacity, clock.Never)
}

func (q *quota) Enter(cost uint32, _ uint64, _, _ clock.Mark) (reducer.Permit, bool) {
	if cost > q.config.Calls-min(q.used, q.config.Calls) {
		return reducer.Permit{}, false
	}
	q.used += cost
	return reducer.Permit{ID: 1}, true
}

func (q *quota) Exit(reducer.Permit, clock.Mark) bool { return true }
func (q *quota) Held() bool                           { return false }
func (q *quota) Due() reducer.Due                     { return reducer.NothingDue() }
func (q *quota) Class(clock.Mark) (reducer.Class, clock.Mark) {
	return reducer.Steady(q.used == 0)
}
func (q *quota) Revive(src []byte, _ time.Duration) error { return q.Restore(src) }

func (q *quota) AppendState(dst []byte) []byte { return binary.LittleEndian.AppendUint32(dst, q.used) }

func (q *quota) Restore(src []byte) error {
	if len(src) != 4 {
		return reducer.ErrEncoding
	}
	q.used = binary.LittleEndian.Uint32(src)
	return nil
}
