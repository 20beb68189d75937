package sluice

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
)

// Now returns the mark that a runner without a source of its own reads now.
func Now() clock.Mark { return (&settings{}).now() }

// Sealed returns the content of a snapshot with its sum.
func Sealed(content []byte) []byte {
	return binary.LittleEndian.AppendUint32(content, crc32.ChecksumIEEE(content))
}

// Held returns how many calls may still step a keyed cell of the pipeline, and
// the states of those that are not as new.
func Held(p *Pipeline) (refs int64, used []string) {
	now := p.now()
	for _, c := range p.layout.Load().steps {
		if c == nil || c.one != nil {
			continue
		}
		boxes := c.list
		if c.overflow != nil {
			boxes = append(slices.Clone(boxes), c.overflow)
		}
		for _, b := range boxes {
			refs += b.refs.Load()
			if !b.fresh(now, c.kind) {
				b.mu.Lock()
				used = append(used, c.name+" "+cell.Text(b.cell, now))
				b.mu.Unlock()
			}
		}
	}
	return refs, used
}
