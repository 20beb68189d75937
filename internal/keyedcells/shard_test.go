package keyedcells

import (
	"testing"
	"unsafe"
)

// A shard whose size is no multiple of the line of a cache shares its first line with the
// last one of its neighbour, and a use reads one line more.
func TestShardsShareNoLine(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the padding is for pointers of 8 bytes")
	}
	if size := unsafe.Sizeof(shard{}); size%64 != 0 {
		t.Errorf("a shard takes %d bytes, want a multiple of 64", size)
	}
}
