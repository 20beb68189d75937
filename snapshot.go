package sluice

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// snapshotVersion is the first byte of a snapshot.
const snapshotVersion = 1

// ErrSnapshot is wrapped by every error of Restore.
var ErrSnapshot = errors.New("sluice: not a snapshot")

// Snapshot returns the state of the steps: limiters, breakers and budgets with
// their keys. Who holds a place or waits belongs to this process and is not in
// it. Another process restores it under the same policy or a similar one; the
// time between the two counts as passed up to the wall clock's precision.
func (p *Pipeline) Snapshot() []byte {
	l := p.layout.Load()
	dst := []byte{snapshotVersion}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.now()))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(time.Now().UnixNano()))
	for _, c := range l.steps {
		if c == nil || c.kind == pipeline.Bulkhead {
			continue
		}
		c.mu.Lock()
		boxes := append([]*box(nil), c.list...)
		c.mu.Unlock()
		if c.one != nil {
			boxes = append(boxes, c.one)
		}
		for _, b := range boxes {
			dst = appendText(dst, c.name)
			dst = appendText(dst, b.key)
			b.mu.Lock()
			state := b.cell.AppendState(nil)
			b.mu.Unlock()
			dst = appendText(dst, string(state))
		}
	}
	return dst
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

// saved is a cell of a snapshot.
type saved struct {
	cells *cells
	key   string
	state []byte
}

// Restore puts the states of a snapshot in place. Steps that the policy does
// not have are left out, as are keys beyond the maximum. An error changes
// nothing.
func (p *Pipeline) Restore(src []byte) error {
	if len(src) < 17 || src[0] != snapshotVersion {
		return ErrSnapshot
	}
	taken := clock.Mark(binary.LittleEndian.Uint64(src[1:]))
	wall := int64(binary.LittleEndian.Uint64(src[9:]))
	passed := max(0, time.Duration(time.Now().UnixNano()-wall))
	shift := p.now().Sub(taken.Add(passed))
	found, err := p.readSaved(src[17:])
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := s.cells.trial().Revive(s.state, shift); err != nil {
			return fmt.Errorf("%w: step %s: %w", ErrSnapshot, s.cells.name, err)
		}
	}
	for _, s := range found {
		s.put(p, shift)
	}
	return nil
}

// trial returns a cell on which a state can be tried.
func (c *cells) trial() cell.Cell {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maker.New(c.pipeline.now())
}

// put puts a state that has been tried in the place of a cell's. Who waits
// there now has to try again.
func (s saved) put(p *Pipeline, shift time.Duration) {
	b := s.cells.one
	if b == nil {
		b = s.cells.at(s.key, p.now())
		defer b.refs.Add(-1)
	}
	b.mu.Lock()
	for _, w := range b.waiters {
		b.out = append(b.out, reducer.Effect{Kind: reducer.Drop, Reason: reducer.ReasonFull, Caller: w.caller})
	}
	// It decoded just now.
	_ = b.cell.Revive(s.state, shift)
	b.settle(p.now())
}

func (p *Pipeline) readSaved(src []byte) (found []saved, err error) {
	l := p.layout.Load()
	for len(src) > 0 {
		name, rest, ok1 := cutText(src)
		key, rest, ok2 := cutText(rest)
		state, rest, ok3 := cutText(rest)
		if !ok1 || !ok2 || !ok3 {
			return nil, ErrSnapshot
		}
		src = rest
		for _, c := range l.steps {
			if c != nil && c.name == name && c.kind != pipeline.Bulkhead && (c.one == nil || key == "") {
				found = append(found, saved{c, key, []byte(state)})
			}
		}
	}
	return found, nil
}
