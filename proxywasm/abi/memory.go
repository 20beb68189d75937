package abi

import "unsafe"

// ArenaSize is how many bytes the host can return between two calls of Enter.
const ArenaSize = 64 << 10

var (
	arena [ArenaSize]byte
	used  uint32
)

// Enter begins a callback: what the host returned before is not valid any more.
func Enter() { used = 0 }

// Reclaim is Enter within a callback, for one that reads more than the arena has room
// for.
func Reclaim() { used = 0 }

// Allocate returns memory for the host, nil where the arena has no room. A filter
// exports it as malloc, which hosts call first, and which the ABI calls
// proxy_on_memory_allocate.
func Allocate(size uint32) unsafe.Pointer {
	from := used
	if size > ArenaSize-from {
		return nil
	}
	used = min(from+(size+7)&^7, ArenaSize)
	return unsafe.Pointer(&arena[from])
}

// returned is the place into which the host writes the address and the size of what it
// returns. The address is a u32 also where pointers are longer.
type returned struct {
	at, size uint32
}

// bytes are what the host returned.
func (r *returned) bytes() []byte {
	base := uint32(uintptr(unsafe.Pointer(&arena)))
	if r.size == 0 || r.at-base > ArenaSize-1 || r.size > ArenaSize-(r.at-base) {
		return nil
	}
	return arena[r.at-base:][:r.size:r.size]
}

// data returns the address of bytes for the host.
func data[T string | []byte](b T) unsafe.Pointer {
	switch b := any(b).(type) {
	case string:
		return unsafe.Pointer(unsafe.StringData(b))
	case []byte:
		return unsafe.Pointer(unsafe.SliceData(b))
	}
	return nil
}

func size[T string | []byte](b T) uint32 { return uint32(len(b)) }
