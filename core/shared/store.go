package shared

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/clock"
)

// Absent is the mark of change with which a value is created: no value has it.
const Absent = 1<<32 - 1

// Store has values that several workers share. No call fails but by a change of another
// worker.
type Store interface {
	// Get returns a value and its mark of change, and false where there is none. The
	// value is valid until the next call.
	Get(key []byte) (value []byte, change uint32, ok bool)
	// Set replaces a value that still has the mark of change, or, with Absent, creates
	// it. It returns false where another worker was first.
	Set(key, value []byte, change uint32) bool
	// Now returns the mark of a clock that all workers have.
	Now() clock.Mark
}

// SharedSeed returns the seed that the workers of a store share, under a key. The first
// worker makes it of two numbers.
func SharedSeed(s Store, key []byte, own Seed) Seed {
	for {
		if value, _, ok := s.Get(key); ok && len(value) == 16 {
			return Seed{binary.LittleEndian.Uint64(value), binary.LittleEndian.Uint64(value[8:])}
		}
		var value [16]byte
		binary.LittleEndian.PutUint64(value[:], own[0])
		binary.LittleEndian.PutUint64(value[8:], own[1])
		s.Set(key, value[:], Absent)
	}
}
