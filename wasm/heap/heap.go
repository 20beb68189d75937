//go:build tinygo

// Package heap is the memory of the wasm module: an allocator, and a collector
// that runs between calls of the host alone. TinyGo takes it in place of its
// own by the build tag gc.custom of target.json.
//
// Between two calls nothing of the program is on the stack, so that what is live
// is what the globals reach. TinyGo's own collectors run in the middle of a
// call; they need a record of every pointer that a function holds, which costs
// a fifth of the module's size and a quarter of its speed, and which misses some
// once functions are inlined (TinyGo 0.41.1 with -opt=2: the conformance vectors
// found a slice that was freed while it was appended). Here no such record is
// kept: target.json gives the collector a name of its own, for which the
// compiler inserts none.
//
// Memory is cut into pages of 8 KiB. A page holds objects of one size with a bit
// for each that marks it, or is part of a larger object. Pointers are not distinguished
// from other words: a word that looks like one keeps an object (Boehm and Weiser,
// Garbage Collection in an Uncooperative Environment, 1988).
package heap

import (
	"runtime"
	"unsafe"
)

const (
	pageBits = 13
	page     = 1 << pageBits
	// maxPages bounds the memory of an instance: 256 MiB.
	maxPages = 1 << 15
	// wasmPages is how many pages one of wasm has.
	wasmPages = 65536 / page

	// A page of small objects begins with its class and the marks.
	headSmall = 16 + page/16/8
	// A larger object begins with its number of pages and its mark.
	headLarge = 16

	stackSize = page / 4
)

// sizes of small objects. The greatest fits four times into a page.
var sizes = [...]uint16{16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512, 768, 1008, 2016}

const maxSmall = 2016

// The kinds of pages.
const (
	pageFree = iota
	pageSmall
	pageLarge
	pageMore // of a larger object, behind its first
)

var (
	kinds *[maxPages]uint8    // by page
	stack *[stackSize]uintptr // objects that are marked and not yet scanned
	base  uintptr             // where page 0 is
	pages uintptr             // that there are
	hint  uintptr             // no page before it is free

	free  [len(sizes)]uintptr // lists of free objects, linked by their first word
	depth int
	// lost says that an object did not fit the stack.
	lost bool
	// used counts the bytes since the last collection, due is when the next is.
	used, due uintptr
)

//go:extern __heap_base
var heapBase [0]byte

//go:extern __global_base
var globalBase [0]byte

//export llvm.wasm.memory.size.i32
func memorySize(index int32) int32

//export llvm.wasm.memory.grow.i32
func memoryGrow(index, delta int32) int32

//go:linkname memzero runtime.memzero
func memzero(ptr unsafe.Pointer, size uintptr)

func word(at uintptr) *uintptr { return (*uintptr)(unsafe.Pointer(at)) }

// least is how many bytes are allocated between collections at least.
const least = 256 << 10

//go:linkname initHeap runtime.initHeap
func initHeap() {
	start := (uintptr(unsafe.Pointer(&heapBase)) + page - 1) &^ (page - 1)
	kinds = (*[maxPages]uint8)(unsafe.Pointer(start))
	stack = (*[stackSize]uintptr)(unsafe.Pointer(start + maxPages))
	base = start + maxPages + page
	due = least
	if !grow(wasmPages) {
		panic("out of memory")
	}
}

// grow makes at least n more pages.
func grow(n uintptr) bool {
	end := uintptr(memorySize(0)) << 16
	want := base + (pages+n)<<pageBits
	if pages+n > maxPages {
		return false
	}
	if want > end {
		more := max((want-end+65535)>>16, end>>16/4)
		if memoryGrow(0, int32(more)) < 0 {
			return false
		}
		end += more << 16
	}
	pages = min((end-base)>>pageBits, maxPages)
	return true
}

//go:linkname alloc runtime.alloc
//go:noinline
func alloc(size uintptr, layout unsafe.Pointer) unsafe.Pointer {
	used += size
	if size > maxSmall {
		return large(size)
	}
	class := 0
	for uintptr(sizes[class]) < size {
		class++
	}
	p := free[class]
	if p == 0 {
		p = refill(class)
	}
	free[class] = *word(p)
	memzero(unsafe.Pointer(p), uintptr(sizes[class]))
	return unsafe.Pointer(p)
}

// refill cuts a page into objects and returns their list.
func refill(class int) (list uintptr) {
	at := take(1)
	kinds[(at-base)>>pageBits] = pageSmall
	*word(at) = uintptr(class)
	size := uintptr(sizes[class])
	for p := at + headSmall + (page-headSmall)/size*size; p > at+headSmall; {
		p -= size
		*word(p) = list
		list = p
	}
	return list
}

func large(size uintptr) unsafe.Pointer {
	n := (size + headLarge + page - 1) >> pageBits
	at := take(n)
	first := (at - base) >> pageBits
	kinds[first] = pageLarge
	for i := first + 1; i < first+n; i++ {
		kinds[i] = pageMore
	}
	memzero(unsafe.Pointer(at), n<<pageBits)
	*word(at) = n
	return unsafe.Pointer(at + headLarge)
}

// take returns the address of n free pages in a row.
func take(n uintptr) uintptr {
	for {
		run := uintptr(0)
		for i := hint; i < pages; i++ {
			if kinds[i] != pageFree {
				run = 0
				continue
			}
			if run++; run == n {
				if n == 1 {
					hint = i + 1
				}
				at := base + (i+1-n)<<pageBits
				// A page that was another's has its head.
				memzero(unsafe.Pointer(at), headSmall)
				return at
			}
		}
		if !grow(n) {
			panic("out of memory")
		}
	}
}

// Safe is called between calls of the host, while no function of the program
// holds a pointer. It collects when enough has been allocated.
func Safe() {
	if used >= due {
		collect()
	}
}

//go:noinline
func collect() {
	// The lists are built again: the old ones would keep free objects.
	free = [len(sizes)]uintptr{}
	scan(uintptr(unsafe.Pointer(&globalBase)), uintptr(unsafe.Pointer(&heapBase)))
	follow()
	for lost {
		lost = false
		remark()
	}
	live := sweep()
	// As much as is live, so that a byte costs the same however many there are;
	// less where that would not fit.
	due = max(least, min(live, (maxPages<<pageBits-live)/2))
	used = 0
}

// scan marks what the words of a range point to.
func scan(from, to uintptr) {
	for at := from &^ 3; at+4 <= to; at += 4 {
		mark(*word(at))
	}
}

// mark marks the object that an address is in.
func mark(p uintptr) {
	if p-base >= pages<<pageBits {
		return
	}
	i := (p - base) >> pageBits
	at := p &^ (page - 1)
	switch kinds[i] {
	case pageSmall:
		if p-at < headSmall {
			return
		}
		n := (p - at - headSmall) / uintptr(sizes[*word(at)])
		bits := word(at + 16 + n>>5<<2)
		if *bits&(1<<(n&31)) != 0 {
			return
		}
		*bits |= 1 << (n & 31)
		push(at + headSmall + n*uintptr(sizes[*word(at)]))
	case pageMore:
		for kinds[i] == pageMore {
			i--
			at -= page
		}
		fallthrough
	case pageLarge:
		if marked := word(at + 4); *marked == 0 {
			*marked = 1
			push(at + headLarge)
		}
	}
}

func push(object uintptr) {
	if depth == stackSize {
		lost = true
		return
	}
	stack[depth] = object
	depth++
}

// follow scans what is marked until nothing new is.
func follow() {
	for depth > 0 {
		depth--
		object := stack[depth]
		at := object &^ (page - 1)
		if kinds[(at-base)>>pageBits] == pageSmall {
			scan(object, object+uintptr(sizes[*word(at)]))
		} else {
			scan(object, at+*word(at)<<pageBits)
		}
	}
}

// remark scans all that is marked again, for what did not fit the stack.
func remark() {
	for i := uintptr(0); i < pages; i++ {
		at := base + i<<pageBits
		switch kinds[i] {
		case pageSmall:
			size := uintptr(sizes[*word(at)])
			for n := uintptr(0); n < (page-headSmall)/size; n++ {
				if *word(at + 16 + n>>5<<2)&(1<<(n&31)) != 0 {
					push(at + headSmall + n*size)
					follow()
				}
			}
		case pageLarge:
			if *word(at + 4) != 0 {
				push(at + headLarge)
				follow()
			}
		}
	}
}

// sweep frees what is not marked, takes the marks away, and returns how many
// bytes are live.
func sweep() (live uintptr) {
	hint = 0
	for i := uintptr(0); i < pages; i++ {
		at := base + i<<pageBits
		switch kinds[i] {
		case pageSmall:
			live += sweepPage(i, at)
		case pageLarge:
			if *word(at + 4) != 0 {
				*word(at + 4) = 0
				live += *word(at) << pageBits
				continue
			}
			for n := *word(at); n > 0; n-- {
				kinds[i+n-1] = pageFree
			}
		}
	}
	return live
}

func sweepPage(i, at uintptr) (live uintptr) {
	class := *word(at)
	size := uintptr(sizes[class])
	was := free[class]
	for n := uintptr(0); n < (page-headSmall)/size; n++ {
		if *word(at + 16 + n>>5<<2)&(1<<(n&31)) != 0 {
			live += size
			continue
		}
		p := at + headSmall + n*size
		*word(p) = free[class]
		free[class] = p
	}
	memzero(unsafe.Pointer(at+16), headSmall-16)
	if live == 0 {
		kinds[i] = pageFree
		free[class] = was
	}
	return live
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
