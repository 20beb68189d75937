package runner

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// snapshotVersion is the first byte of a snapshot.
const snapshotVersion = 2

// What an entry of a snapshot has.
const (
	savedCell  = iota // the state of the cell of a step, or of a key of it
	savedBlock        // until when an operator blocks a key of a step
)

// ErrSnapshot is wrapped by every error of Restore.
var ErrSnapshot = errors.New("sluice: not a snapshot")

// Snapshot returns the state of the steps.
func (p *Pipeline) Snapshot() []byte {
	l := p.layout.Load()
	dst := []byte{snapshotVersion}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Now()))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(time.Now().UnixNano()))
	for i, c := range l.steps {
		if c == nil {
			continue
		}
		name := l.plan.StepName(i)
		if c.one != nil {
			c.one.mu.Lock()
			dst = appendSaved(dst, name, "", c.one.Cell)
			c.one.mu.Unlock()
			continue
		}
		c.cells.Each(func(r keyedcells.Ref) {
			if !r.Shared() {
				dst = appendSaved(dst, name, r.Key(), r.Cell())
			}
		})
		blocked := c.blocks.all(p.Now())
		for _, key := range slices.Sorted(maps.Keys(blocked)) {
			dst = appendText(appendText(append(dst, savedBlock), name), key)
			dst = appendText(dst, string(binary.LittleEndian.AppendUint64(nil, uint64(blocked[key]))))
		}
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst))
}

func appendSaved(dst []byte, step, key string, c cell.Cell) []byte {
	dst = append(dst, savedCell)
	dst = appendText(dst, step)
	dst = appendText(dst, key)
	return appendText(dst, string(c.AppendState(nil)))
}

func appendText(dst []byte, text string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

func cutText(src []byte) (text string, rest []byte, ok bool) {
	n, size := binary.Uvarint(src)
	if size <= 0 || n > uint64(len(src)-size) {
		return "", nil, false
	}
	end := size + int(n)
	return string(src[size:end]), src[end:], true
}

// saved is what was read from a snapshot, and where it belongs: a cell, or the block of a
// key where there is none.
type saved struct {
	cells *StepCells
	key   string
	cell  cell.Cell
	until clock.Mark
}

// Restore replaces the states of the cells by the states of a snapshot, or changes nothing.
func (p *Pipeline) Restore(src []byte) error {
	end := len(src) - crc32.Size
	if end < 17 || src[0] != snapshotVersion || crc32.ChecksumIEEE(src[:end]) != binary.LittleEndian.Uint32(src[end:]) {
		return ErrSnapshot
	}
	events, err := p.restore(src[:end])
	events.EmitAll()
	return err
}

// restore is Restore of a snapshot whose checksum is right. It returns the events of the
// cells, for EmitAll when the caller holds no lock.
func (p *Pipeline) restore(src []byte) (all CellEvents, err error) {
	p.mechanisms.mu.Lock() // so that makers and cells stay as they are
	defer p.mechanisms.mu.Unlock()
	now := p.Now()
	taken := clock.Mark(binary.LittleEndian.Uint64(src[1:]))
	wall := time.Unix(0, int64(binary.LittleEndian.Uint64(src[9:])))
	shift := now.Sub(taken.Add(max(0, time.Since(wall))))
	found, err := p.readSaved(src[17:], shift, now)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		all = append(all, s.put(now))
	}
	return all, nil
}

func (p *Pipeline) readSaved(src []byte, shift time.Duration, now clock.Mark) (found []saved, err error) {
	l := p.layout.Load()
	for len(src) > 0 {
		kind := src[0]
		name, rest, ok1 := cutText(src[1:])
		key, rest, ok2 := cutText(rest)
		state, rest, ok3 := cutText(rest)
		if !ok1 || !ok2 || !ok3 || kind > savedBlock || kind == savedBlock && len(state) != 8 {
			return nil, ErrSnapshot
		}
		src = rest
		for i, c := range l.steps {
			if c == nil || l.plan.StepName(i) != name || c.one != nil && key != "" {
				continue
			}
			if kind == savedBlock {
				if until := clock.Mark(binary.LittleEndian.Uint64([]byte(state))).Add(shift); until > now && c.cells != nil {
					found = append(found, saved{cells: c, key: key, until: until})
				}
				continue
			}
			if revived := revive(l.plan.Maker(i), []byte(state), shift, now); revived != nil {
				found = append(found, saved{cells: c, key: key, cell: revived})
			}
		}
	}
	return found, nil
}

// revive returns a cell with a saved state, nil when the step cannot take it.
func revive(m cell.Maker, state []byte, shift time.Duration, now clock.Mark) cell.Cell {
	made := m.New(now)
	if made.Revive(state, shift) != nil {
		return nil
	}
	return made
}

// put replaces a cell by the saved one and drops its waiters. It keeps a cell in which
// calls hold places, because these calls return the places to it. It returns the events of
// the cell.
func (s saved) put(now clock.Mark) (events cellEvents) {
	if s.cell == nil {
		s.cells.blocks.put(s.key, s.until, now)
		return events
	}
	if b := s.cells.one; b != nil {
		b.mu.Lock()
		if s.cells.holds && b.Cell.Held() {
			b.mu.Unlock()
			return cellEvents{}
		}
		b.queue.drop(&b.Out, reducer.ReasonFull)
		b.Cell = s.cell
		return cellEvents{step: s.cells, changes: b.settle(now), now: now}
	}
	x, at := s.cells.use(s.key, now)
	if x.ref.Shared() || s.cells.holds && x.cell.Held() {
		events := x.events(nil, at)
		x.ref.Unlock()
		return events
	}
	if x.queue != nil {
		x.queue.drop(x.out, reducer.ReasonFull)
	}
	x.ref.SetCell(s.cell)
	x.cell = x.ref.Cell()
	return x.unlocked(at)
}
