//go:build tinygo

// Package bump is the memory of a module that frees nothing: objects of a kilobyte or
// more are kept, and smaller ones until the next call of the host. It takes the place
// of package heap where a program keeps no other objects, and is a tenth of its size.
package bump

import (
	"runtime"
	"unsafe"
)

const (
	// kept is the least size of an object that is kept.
	kept = 1024
	// scratch is how many bytes the small objects of a call may have.
	scratch = 4096
	// most bounds the memory of an instance: 256 MiB.
	most = 256 << 20
)

var small, next, end uintptr

//go:extern __heap_base
var heapBase [0]byte

//export llvm.wasm.memory.size.i32
func memorySize(index int32) int32

//export llvm.wasm.memory.grow.i32
func memoryGrow(index, delta int32) int32

//go:linkname memzero runtime.memzero
func memzero(ptr unsafe.Pointer, size uintptr)

func start() uintptr { return (uintptr(unsafe.Pointer(&heapBase)) + 15) &^ 15 }

//go:linkname initHeap runtime.initHeap
func initHeap() {
	small = start()
	next = small + scratch
	end = uintptr(memorySize(0)) << 16
}

// Safe is called between calls of the host, while no function of the program holds a
// pointer: the small objects are not used any more.
func Safe() { small = start() }

// Room reports whether an object of the size can be allocated, and grows the memory
// for it.
func Room(size uint32) bool {
	want := next + uintptr(size)
	if want > most {
		return false
	}
	if want > end {
		more := max((want-end+65535)>>16, end>>16/4)
		if memoryGrow(0, int32(more)) < 0 {
			return false
		}
		end += more << 16
	}
	return true
}

//go:linkname alloc runtime.alloc
//go:noinline
func alloc(size uintptr, layout unsafe.Pointer) unsafe.Pointer {
	size = (size + 15) &^ 15
	var at uintptr
	switch {
	case size >= kept:
		if !Room(uint32(size)) {
			panic("out of memory")
		}
		at = next
		next += size
	case small+size > start()+scratch:
		panic("out of memory")
	default:
		at = small
		small += size
	}
	memzero(unsafe.Pointer(at), size)
	return unsafe.Pointer(at)
}

// What else TinyGo asks of a collector. Nothing of the module uses it.

//go:linkname release runtime.free
func release(unsafe.Pointer) {}

//go:linkname markRoots runtime.markRoots
func markRoots(_, _ uintptr) {}

//go:linkname gc runtime.GC
func gc() {}

//go:linkname setFinalizer runtime.SetFinalizer
func setFinalizer(_, _ any) {}

//go:linkname readMemStats runtime.ReadMemStats
func readMemStats(*runtime.MemStats) {}
