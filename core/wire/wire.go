package wire

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Version is the first byte of every encoded state.
const Version = 2

// HeaderSize is the size of the header in bytes: version, mechanism, digest of
// the configuration in 4.
const HeaderSize = 6

// wrong is an error of bytes that are not a state: why they are not.
type wrong string

var (
	errVersion = Broken(errors.New("unknown version"))
	errTag     = Broken(errors.New("the state of another mechanism"))
	errShort   = Broken(errors.New("truncated"))
	errLong    = Invalid("bytes left over")
	errRange   = Invalid("a number out of range")
)

// Invalid returns an error that says why bytes, or a state, are not valid. Without
// texts of errors it is reducer.ErrEncoding.
func Invalid(why string) error {
	if !reducer.ErrorTexts {
		return reducer.ErrEncoding
	}
	return errors.New(why)
}

// Foreign returns the error of a state that another configuration made.
func Foreign() error {
	if !reducer.ErrorTexts {
		return reducer.ErrEncoding
	}
	return errors.Join(reducer.ErrEncoding, reducer.ErrConfiguration)
}

// Error implements error.
func (w wrong) Error() string { return reducer.ErrEncoding.Error() + "\n" + string(w) }

// Unwrap returns reducer.ErrEncoding.
func (w wrong) Unwrap() error { return reducer.ErrEncoding }

// Broken returns the error of bytes that read well but are not a state.
func Broken(err error) error {
	if !reducer.ErrorTexts {
		return reducer.ErrEncoding
	}
	return wrong(err.Error())
}

// Coder goes through the fields of a state in their order and appends them, or
// reads them. One list of fields serves both ways: they cannot differ, and half
// the code reaches a small runtime. A reader remembers the first error; after it
// every field reads as zero.
type Coder struct {
	bytes []byte // those appended, or those not yet read
	err   error
	reads bool
}

// Writer returns a coder that appends fields to dst, behind the header: the
// version, the tag of the mechanism, the digest of its configuration.
func Writer(dst []byte, tag byte, digest uint32) Coder {
	return Coder{bytes: binary.LittleEndian.AppendUint32(append(dst, Version, tag), digest)}
}

// Reader returns a coder that reads what a Writer wrote. It checks the header: a
// state that was made under another configuration is refused with
// reducer.ErrConfiguration, never misread.
func Reader(src []byte, tag byte, digest uint32) Coder {
	c := Coder{reads: true}
	switch {
	case len(src) < HeaderSize:
		c.err = errShort
	case src[0] != Version:
		c.err = errVersion
	case src[1] != tag:
		c.err = errTag
	case binary.LittleEndian.Uint32(src[2:]) != digest:
		c.err = Foreign()
	default:
		c.bytes = src[HeaderSize:]
	}
	return c
}

// Bare returns a coder without a header, which appends to bytes or reads them.
func Bare(bytes []byte, reads bool) Coder { return Coder{bytes: bytes, reads: reads} }

// Digest sums up the settings that shape a state, by FNV-1a over their words.
// Begin with NewDigest.
type Digest uint32

// NewDigest is the digest of no settings.
const NewDigest Digest = 2166136261

// Add returns the digest with one more setting.
func (d Digest) Add(word uint64) Digest {
	for range 8 {
		d = (d ^ Digest(word&0xff)) * 16777619
		word >>= 8
	}
	return d
}

// Reads reports whether fields are read.
func (c *Coder) Reads() bool { return c.reads }

// Failed reports whether a reader met an error.
func (c *Coder) Failed() bool { return c.err != nil }

// Refuse makes a reader refuse what it reads, as a number out of range.
func (c *Coder) Refuse() { c.Fail(errRange) }

// Left returns how many bytes a reader has not yet read.
func (c *Coder) Left() int { return len(c.bytes) }

// Bytes returns what was appended.
func (c *Coder) Bytes() []byte { return c.bytes }

// Close returns the first error of a reader; bytes left over are one.
func (c *Coder) Close() error {
	if c.err == nil && len(c.bytes) > 0 {
		c.Fail(errLong)
	}
	return c.err
}

// take reads the next n bytes, none where there are fewer.
func (c *Coder) take(n uint64) []byte {
	if n > uint64(len(c.bytes)) {
		c.bytes = nil
		if c.err == nil {
			c.err = errShort
		}
		return nil
	}
	taken := c.bytes[:n]
	c.bytes = c.bytes[n:]
	return taken
}

// U8 codes a byte.
func (c *Coder) U8(v *uint8) {
	if !c.reads {
		c.bytes = append(c.bytes, *v)
		return
	}
	*v = 0
	if src := c.take(1); len(src) > 0 {
		*v = src[0]
	}
}

// Bool codes a byte that is 0 or 1. To read any other is an error.
func (c *Coder) Bool(v *bool) {
	word := uint8(0)
	if *v {
		word = 1
	}
	c.U8(&word)
	if word > 1 {
		c.take(1 << 63)
	}
	*v = word == 1
}

// U32 codes a field of four bytes.
func (c *Coder) U32(v *uint32) {
	if !c.reads {
		c.bytes = binary.LittleEndian.AppendUint32(c.bytes, *v)
		return
	}
	*v = 0
	if src := c.take(4); len(src) > 0 {
		*v = binary.LittleEndian.Uint32(src)
	}
}

// U64 codes a field of eight bytes.
//
//go:noinline
func (c *Coder) U64(v *uint64) {
	if !c.reads {
		c.bytes = binary.LittleEndian.AppendUint64(c.bytes, *v)
		return
	}
	*v = 0
	if src := c.take(8); len(src) > 0 {
		*v = binary.LittleEndian.Uint64(src)
	}
}

// Uvarint codes a number in as few bytes as it needs, 7 bits in each. One that is
// written in more is refused, so that every number has one form.
func (c *Coder) Uvarint(v *uint64) {
	if !c.reads {
		for n, more := *v, true; more; n >>= 7 {
			b := byte(n)
			if more = n >= 1<<7; more {
				b |= 1 << 7
			}
			c.bytes = append(c.bytes, b)
		}
		return
	}
	number, size := Number(c.bytes)
	if *v = number; size == 0 {
		c.take(1 << 63)
		return
	}
	c.bytes = c.bytes[size:]
}

// Number reads a number that Uvarint appended at the beginning of bytes, and returns how
// many bytes it has, 0 where there is none.
func Number(src []byte) (n uint64, size int) {
	for i, b := range src {
		if n |= uint64(b&0x7f) << (7 * i); b >= 1<<7 && i < binary.MaxVarintLen64-1 {
			continue
		}
		if i > 0 && b == 0 || i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		return n, i + 1
	}
	return 0, 0
}

// UvarintSize returns how many bytes a number takes as a Uvarint.
func UvarintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// UvarintsSize returns the most bytes that n numbers take as Uvarints, none where their
// sum is greater than a value.
func UvarintsSize(n, sum uint64) int {
	size := n
	for sum >>= 7; sum > 0; sum >>= 7 {
		size += min(n, sum)
	}
	return int(size)
}

// Fail makes a reader refuse what it reads, for the reason. An error before it
// counts.
//
//go:noinline
func (c *Coder) Fail(why error) {
	if c.err == nil {
		c.err, c.bytes = Broken(why), nil
	}
}

// Mark codes a mark.
func (c *Coder) Mark(v *clock.Mark) {
	word := uint64(*v)
	c.U64(&word)
	*v = clock.Mark(word)
}

// Span codes a duration.
func (c *Coder) Span(v *time.Duration) {
	word := uint64(*v)
	c.U64(&word)
	*v = time.Duration(word)
}

// Uvarint32 is Uvarint for 32 bits.
func (c *Coder) Uvarint32(v *uint32) {
	number := uint64(*v)
	if c.Uvarint(&number); number > 1<<32-1 {
		c.Refuse()
		number = 0
	}
	*v = uint32(number)
}

// After codes a mark that does not lie before base, by the time between them.
func (c *Coder) After(v *clock.Mark, base clock.Mark) {
	between := uint64(*v) - uint64(base)
	c.Uvarint(&between)
	*v = clock.Mark(uint64(base) + between)
	if c.reads && *v < base {
		c.Refuse()
		*v = base
	}
}

// Len codes how many items of size bytes follow, and returns it. To read more
// of them than there are bytes for is an error, and there are none.
func (c *Coder) Len(n, size int) int {
	count := uint32(n)
	c.U32(&count)
	if c.reads && uint64(count)*uint64(size) > uint64(len(c.bytes)) {
		c.take(1 << 63)
		return 0
	}
	return int(count)
}

// Blob codes bytes, behind their number.
func (c *Coder) Blob(v *[]byte) {
	n := c.Len(len(*v), 1)
	if c.reads {
		*v = c.take(uint64(n))
	} else {
		c.bytes = append(c.bytes, *v...)
	}
}

// Text codes a text, behind the number of its bytes.
func (c *Coder) Text(v *string) {
	n := uint64(len(*v))
	c.Uvarint(&n)
	if c.reads {
		*v = string(c.take(n))
	} else {
		c.bytes = append(c.bytes, *v...)
	}
}
