// Package sizes says what an object takes in the memory of the wasm module, for the
// allocator and for those that count beforehand.
package sizes

const (
	// Page is the size of a page, of 1 << PageBits bytes.
	PageBits = 13
	Page     = 1 << PageBits
	// HeadSmall is what a page of small objects begins with: its class and the marks.
	HeadSmall = 16 + Page/16/8
	// HeadLarge is what a larger object begins with: its number of pages and its mark.
	HeadLarge = 16
	// MaxSmall is the greatest size of a small object.
	MaxSmall = 4048
)

// Small are the sizes of small objects. The three greatest fit four, three and two times
// into a page; each but the least ones is at most half as great again as the one before.
var Small = [...]uint16{16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512, 768, 1008, 1344, 1616, 2016, 2704, MaxSmall}

// Of returns what an object of a size takes.
func Of(size uint32) uint32 {
	if size > MaxSmall {
		return (size + HeadLarge + Page - 1) &^ (Page - 1)
	}
	class := 0
	for uint32(Small[class]) < size {
		class++
	}
	return uint32(Small[class])
}
