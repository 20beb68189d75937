// Package planwire codes the values of plan bytes. Every value has the name that
// the policy document gives it, so that an error can say which one is wrong.
package planwire

import (
	"time"

	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Coder goes through the values of a plan in their order and appends them, or reads
// them. A reader remembers the name of the first value that it cannot read; after it
// every value reads as zero.
type Coder struct {
	wire.Coder
	field string
}

// Writer returns a coder that appends values to dst.
func Writer(dst []byte) Coder { return Coder{Coder: wire.Bare(dst, false)} }

// Reader returns a coder that reads what a Writer wrote.
func Reader(src []byte) Coder { return Coder{Coder: wire.Bare(src, true)} }

// Field returns the name of the first value that could not be read, nothing without
// reducer.ErrorTexts.
func (c *Coder) Field() string { return c.field }

// done notes the name of a value that could not be read. Without texts the names are not
// linked.
func (c *Coder) done(name string) {
	if reducer.ErrorTexts && c.field == "" && c.Failed() {
		c.field = name
	}
}

// Word codes a byte: the index of a word, or flags.
func (c *Coder) Word(name string, v *uint8) {
	c.U8(v)
	c.done(name)
}

// Flag codes a byte that is 0 or 1.
func (c *Coder) Flag(name string, v *bool) {
	c.Bool(v)
	c.done(name)
}

// Count codes a number.
func (c *Coder) Count(name string, v *uint32) {
	c.Uvarint32(v)
	c.done(name)
}

// Share codes a share in millionths.
func (c *Coder) Share(name string, v *reducer.Share) {
	millionths := v.Millionths()
	c.Count(name, &millionths)
	*v = reducer.Millionths(millionths)
}

// Duration codes a duration in nanoseconds, which is 0 or more.
func (c *Coder) Duration(name string, v *time.Duration) {
	nanos := uint64(*v)
	c.Uvarint(&nanos)
	if nanos >= 1<<63 {
		c.Refuse(name)
		nanos = 0
	}
	*v = time.Duration(nanos)
	c.done(name)
}

// Refuse makes a reader refuse the value of a name that was read last.
func (c *Coder) Refuse(name string) {
	c.Coder.Refuse()
	c.done(name)
}

// Text codes a text: its length in bytes, and the bytes.
func (c *Coder) Text(name string, v *string) {
	c.Coder.Text(v)
	c.done(name)
}

// Close notes bytes left over as an error, and reports whether all could be read.
func (c *Coder) Close() bool {
	err := c.Coder.Close()
	c.done("end")
	return err == nil
}
