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
//
// An allocation that fails is a trap, which loses the instance. So an export that
// makes something asks Room before it changes anything. Room refuses at a limit far
// below the memory that there can be; what it does not foresee, such as the end of a
// call, is allocated above the limit.
package heap

import (
	"runtime"
	"unsafe"

	"github.com/sluice-go/sluice/wasm/heap/sizes"
)

const (
	pageBits = sizes.PageBits
	page     = sizes.Page
	// maxPages bounds the memory of an instance: 1 GiB.
	maxPages = 1 << 17
	// DefaultLimit is the limit of an instance that sets none: 256 MiB.
	DefaultLimit = 256 << 20
	// MinLimit is the least limit: 4 MiB.
	MinLimit = 4 << 20
	// MaxLimit is the greatest limit: 512 MiB. As much again is left above it.
	MaxLimit = 512 << 20
	// wasmPages is how many pages one of wasm has.
	wasmPages = 65536 / page

	headSmall, headLarge = sizes.HeadSmall, sizes.HeadLarge
	maxSmall             = sizes.MaxSmall
	classes              = len(sizes.Small)

	stackSize = page / 4
)

// The kinds of pages.
const (
	pageFree = iota
	pageSmall
	pageLarge
	pageMore // of a larger object, behind its first
	// A text of the program looks like the address of such a page, which would never
	// be freed. So it is never used (Boehm, Space Efficient Conservative Garbage
	// Collection, 1993, section 3).
	pageBlack
)

var (
	kinds *[maxPages]uint8    // by page
	stack *[stackSize]uintptr // objects that are marked and not yet scanned
	base  uintptr             // where page 0 is
	pages uintptr             // that there are
	hint  uintptr             // no page before it is free
	top   uintptr             // all pages from it on are free

	free  [classes]uintptr // lists of free objects, linked by their first word
	depth int
	// lost says that an object did not fit the stack.
	lost bool
	// used counts the bytes since the last collection, due is when the next is.
	used, due uintptr
	// live is how many bytes the last collection found.
	live uintptr
	// taken is how many pages have objects, or had some when the last collection ended.
	taken uintptr

	// limit is the limit of Room in pages.
	limit uintptr = DefaultLimit >> pageBits
	// blacks is how many pages of the kind pageBlack are below the greatest limit.
	blacks uintptr
	// tight says that a call may pass the limit.
	tight bool
	// Until used is allowed, small objects fit into pages below the limit.
	allowed uintptr
	// What did not fit since the last collection: so many pages, in parts, below a page.
	refused struct{ pages, each, below uintptr }
	// credits is how many objects were freed since the last collection and not
	// made again.
	credits uintptr
	// freed says that objects were freed since the last collection.
	freed bool
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
	if !grow(wasmPages) { // the first objects of the program
		panic("out of memory")
	}
	for at := uintptr(unsafe.Pointer(&globalBase)); at < uintptr(unsafe.Pointer(&heapBase)); at += 4 {
		if i := (*word(at) - base) >> pageBits; *word(at) >= base && i < maxPages && kinds[i] == pageFree {
			kinds[i] = pageBlack
			if i < MaxLimit>>pageBits {
				blacks++
			}
		}
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
		least := (want - end + 65535) >> 16
		more := max(least, end>>16/4)
		if memoryGrow(0, int32(more)) < 0 {
			if more = least; memoryGrow(0, int32(more)) < 0 {
				return false
			}
		}
		end += more << 16
	}
	pages = min((end-base)>>pageBits, maxPages)
	return true
}

//go:linkname alloc runtime.alloc
//go:noinline
func alloc(size uintptr, layout unsafe.Pointer) unsafe.Pointer {
	if size > maxSmall {
		return large(size)
	}
	class := 0
	for uintptr(sizes.Small[class]) < size {
		class++
	}
	used += uintptr(sizes.Small[class])
	p := free[class]
	if p == 0 {
		p = refill(class)
	}
	free[class] = *word(p)
	memzero(unsafe.Pointer(p), uintptr(sizes.Small[class]))
	return unsafe.Pointer(p)
}

// refill cuts a page into objects and returns their list.
func refill(class int) (list uintptr) {
	at := take(1)
	kinds[(at-base)>>pageBits] = pageSmall
	*word(at) = uintptr(class)
	size := uintptr(sizes.Small[class])
	for p := at + headSmall + (page-headSmall)/size*size; p > at+headSmall; {
		p -= size
		*word(p) = list
		list = p
	}
	return list
}

func large(size uintptr) unsafe.Pointer {
	n := (size + headLarge + page - 1) >> pageBits
	used += n << pageBits
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
				if i >= top {
					top = i + 1
					weigh()
				}
				taken += n
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
	if Due() {
		collect()
	}
}

// margin is how many pages there are for calls that ask Room only when memory is
// tight: 256 KiB.
const margin = 256 << 10 >> pageBits

// Tight reports whether a call must ask Room for what it takes. Otherwise there are
// 128 KiB.
func Tight() bool { return tight }

// What a call allocates for.
const (
	// New is for objects that are made. An eighth of the memory is not for them.
	New = iota
	// Spare is for calls of objects that exist.
	Spare
	// Transient is for what is not kept after the call. It may pass the limit.
	Transient
)

// below returns the page that allocations must stay below.
func below(what uint32) uintptr {
	switch what {
	case New:
		return limit - limit/8
	case Spare:
		return limit
	}
	return min(limit+MaxLimit>>pageBits, maxPages) - margin
}

// Room reports whether a call may allocate size bytes in all, no object of more
// than largest. It may collect: it is called while no function of the program holds
// a pointer to what nothing else points to. What is New, Spare or Transient.
func Room(size, largest, what uint32) bool {
	// A page for each class of small objects, and as much again for what larger ones
	// leave of their last page.
	n := 2*uintptr(size)>>pageBits + uintptr(classes)
	each := (uintptr(largest) + headLarge + page - 1) >> pageBits
	if largest <= maxSmall {
		each = 1
	}
	if fits(n, each, below(what)) {
		return true
	}
	if credits > 0 && each == 1 && used < limit<<pageBits/16 && fits(n, each, below(Spare)) {
		credits--
		return true
	}
	if !freed && used < limit<<pageBits/64 {
		return false
	}
	collect()
	return fits(n, each, below(what))
}

// fits reports whether n pages fit below a page, in parts of each at most.
func fits(n, each, most uintptr) bool {
	if each == 1 && used+n<<pageBits < allowed {
		return true
	}
	if taken+n > most {
		return false // a lower limit leaves objects above it, which count
	}
	if end := top + n + blacks; each == 1 && end <= most && commits(end) {
		return true
	}
	if r := &refused; n >= r.pages && each >= r.each && most <= r.below {
		return false
	}
	// The first run that is long enough is taken: at most half of each part is left.
	need := n
	if each > 1 {
		need = 2*n/each + 2
	}
	parts, run, end := uintptr(0), uintptr(0), hint
	for ; end < most && (parts < need && run < n || end < pages); end++ {
		if kinds[end] != pageFree {
			run = 0
		} else if run++; run%each == 0 {
			parts++
		}
		if run == n {
			parts = need
		}
	}
	if parts < need || !commits(end) {
		refused.pages, refused.each, refused.below = n, each, most
		return false
	}
	if each == 1 {
		allowed = used + parts<<pageBits/4
	}
	return true
}

// commits reports whether there are pages up to one, and makes some more for calls that
// do not ask. Where the engine refuses them, there is less memory than the limit.
func commits(end uintptr) bool {
	less := false
	for spare := uintptr(2 * margin); end+spare > pages && !grow(end+spare-pages); spare /= 2 {
		if less = true; spare == 0 {
			break
		}
	}
	if less {
		limit = min(limit, pages)
	}
	weigh()
	return end <= pages
}

// Freed says that an object of the program is not used any more.
func Freed() { credits, freed = credits+1, true }

// Due reports whether the next call collects.
func Due() bool { return used >= due }

// Exceeded reports whether more than the limit is in use. It may collect, as Room does.
func Exceeded() bool {
	if live+used <= limit<<pageBits {
		return false
	}
	collect()
	return live > limit<<pageBits
}

// Used returns how many bytes of pages are in use, as Room counts them, with the bytes of
// objects that the next collection frees.
func Used() uint32 { return uint32(taken << pageBits) }

// Limit returns the limit of Room in bytes.
func Limit() uint32 { return uint32(limit << pageBits) }

// SetLimit sets the limit of Room in bytes. It reports whether it is one.
func SetLimit(size uint32) bool {
	if size < MinLimit || size > MaxLimit {
		return false
	}
	limit, allowed, refused.below = uintptr(size)>>pageBits, 0, 0
	weigh()
	return true
}

//go:noinline
func collect() {
	// The lists are built again: the old ones would keep free objects. So would a
	// number of bytes that looks like the address of one.
	free = [classes]uintptr{}
	used, due, live, allowed = 0, 0, 0, 0
	scan(uintptr(unsafe.Pointer(&globalBase)), uintptr(unsafe.Pointer(&heapBase)))
	follow()
	for lost {
		lost = false
		remark()
	}
	live = sweep()
	// As much as is live, so that a byte costs the same however many there are;
	// less near the limit, but not so little that most of the time is collecting.
	size := limit << pageBits
	due = max(least, live/8, min(live, (max(size, live)-live)/2))
	credits, freed = 0, false
	refused.below = 0
	weigh()
}

// weigh finds whether memory is tight.
func weigh() { tight = top+margin > min(pages, below(New)) }

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
		n := (p - at - headSmall) / uintptr(sizes.Small[*word(at)])
		bits := word(at + 16 + n>>5<<2)
		if *bits&(1<<(n&31)) != 0 {
			return
		}
		*bits |= 1 << (n & 31)
		push(at + headSmall + n*uintptr(sizes.Small[*word(at)]))
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
			scan(object, object+uintptr(sizes.Small[*word(at)]))
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
			size := uintptr(sizes.Small[*word(at)])
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
	hint, top, taken = 0, 0, 0
	for i := uintptr(0); i < pages; i++ {
		at := base + i<<pageBits
		switch kinds[i] {
		case pageSmall:
			if n := sweepPage(i, at); n > 0 {
				live += n
				taken++
				top = i + 1
			}
		case pageLarge:
			if *word(at + 4) != 0 {
				*word(at + 4) = 0
				live += *word(at) << pageBits
				taken += *word(at)
				top = i + *word(at)
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
	size := uintptr(sizes.Small[class])
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
