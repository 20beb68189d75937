package shared

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/clock"
)

// Absent is the version of a key without a value.
const Absent = 0

// Store has values that several processes share, with a version that each write changes.
// It may hold more than what this package writes, and may forget a value: a cell that is
// forgotten begins anew. It is for one goroutine at a time, as all that uses it here.
type Store interface {
	// Get returns the value of a key and its version, Absent where there is none. The caller
	// does not change the value, which is valid until the next Get or Swap; Now leaves it as it is.
	Get(key []byte) (value []byte, version uint64)
	// Swap writes a value if the version of the key is still the given one; with Absent it
	// writes a value for a key that has none. It returns false, and has changed nothing, where
	// another process was first. It keeps neither slice. A version that a key had once does not
	// come back.
	Swap(key, value []byte, version uint64) bool
	// Now returns the mark of a clock that all processes of the store have. A mark may be
	// earlier than one before it: the cells then take the latest one that they know.
	Now() clock.Mark
}

// Update replaces the value of a key by what change makes of it, and returns false where
// another process was first: nothing has changed then, and the caller may try again. old is nil
// where there is no value. change is a function of its arguments, which are valid until it
// returns; with nil the value stays as it is, which costs no write.
func Update(s Store, key []byte, change func(old []byte, now clock.Mark) (value []byte)) bool {
	old, version := s.Get(key)
	// The clock is read after the value: an earlier mark would refuse what is admitted.
	value := change(old, s.Now())
	return value == nil || s.Swap(key, value, version)
}

// SharedSeed returns the seed that the processes of a store have under a key. The first one
// writes its own.
func SharedSeed(s Store, key []byte, own Seed) Seed {
	var seed [16]byte
	binary.LittleEndian.PutUint64(seed[:], own[0])
	binary.LittleEndian.PutUint64(seed[8:], own[1])
	for !Update(s, key, func(old []byte, _ clock.Mark) []byte {
		if len(old) != len(seed) {
			return seed[:]
		}
		copy(seed[:], old)
		return nil
	}) {
	}
	return Seed{binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])}
}
