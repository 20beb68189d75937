package wire

import (
	"encoding/binary"
	"errors"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Version is the first byte of every encoded state.
const Version = 1

var (
	errVersion = errors.Join(reducer.ErrEncoding, errors.New("unknown version or mechanism"))
	errShort   = errors.Join(reducer.ErrEncoding, errors.New("truncated"))
	errLong    = errors.Join(reducer.ErrEncoding, errors.New("bytes left over"))
)

// Header appends the version and the tag that names the mechanism.
func Header(dst []byte, tag byte) []byte { return append(dst, Version, tag) }

// U32 appends v.
func U32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }

// U64 appends v.
func U64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// Mark appends m.
func Mark(dst []byte, m clock.Mark) []byte { return U64(dst, uint64(m)) }

// Reader reads fields in the order in which they were written and remembers
// the first error; after it every field reads as zero.
type Reader struct {
	rest []byte
	err  error
}

// NewReader checks the header.
func NewReader(src []byte, tag byte) Reader {
	if len(src) < 2 {
		return Reader{err: errShort}
	}
	if src[0] != Version || src[1] != tag {
		return Reader{err: errVersion}
	}
	return Reader{rest: src[2:]}
}

// Left returns how many bytes are unread.
func (r *Reader) Left() int { return len(r.rest) }

// U8 reads a byte.
func (r *Reader) U8() byte {
	if len(r.rest) < 1 {
		r.fail()
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

// U32 reads a field of four bytes.
func (r *Reader) U32() uint32 {
	if len(r.rest) < 4 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return v
}

// U64 reads a field of eight bytes.
func (r *Reader) U64() uint64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return v
}

// Mark reads a mark.
func (r *Reader) Mark() clock.Mark { return clock.Mark(r.U64()) }

// Bytes reads the next n bytes.
func (r *Reader) Bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

// Close returns the first error; bytes left over are one.
func (r *Reader) Close() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = errLong
	}
	return r.err
}

func (r *Reader) fail() {
	r.rest = nil
	if r.err == nil {
		r.err = errShort
	}
}

// Broken returns the error of bytes that read well but are not a state.
func Broken(err error) error { return errors.Join(reducer.ErrEncoding, err) }
