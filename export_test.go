package sluice

import (
	"encoding/binary"
	"hash/crc32"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
)

// AttemptSize is the size of the context of an attempt.
const AttemptSize = unsafe.Sizeof(attempt{})

// Now returns the mark that a runner without a source of its own reads now.
func Now() clock.Mark { return (&settings{}).now() }

// Sealed returns the content of a snapshot with its sum.
func Sealed(content []byte) []byte {
	return binary.LittleEndian.AppendUint32(content, crc32.ChecksumIEEE(content))
}
