package wire

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// fields has one of each kind.
type fields struct {
	a    uint8
	b    uint32
	c    uint64
	d    clock.Mark
	e    time.Duration
	rest []byte
}

func (f *fields) code(c *Coder) {
	c.U8(&f.a)
	c.U32(&f.b)
	c.U64(&f.c)
	c.Mark(&f.d)
	c.Span(&f.e)
	c.Blob(&f.rest)
}

func (f *fields) equal(g *fields) bool {
	return f.a == g.a && f.b == g.b && f.c == g.c && f.d == g.d && f.e == g.e && bytes.Equal(f.rest, g.rest)
}

var example = fields{0xab, 0x01020304, 0x05060708090a0b0c, -2, 3, []byte("rest")}

func written() []byte {
	c := Writer(nil, 'x', 0x0a0b0c0d)
	example.code(&c)
	return c.Bytes()
}

// The layout is little-endian, without gaps.
func TestLayout(t *testing.T) {
	want := []byte{2, 'x', 0xd, 0xc, 0xb, 0xa, 0xab, 4, 3, 2, 1, 0xc, 0xb, 0xa, 9, 8, 7, 6, 5, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 'r', 'e', 's', 't'}
	if got := written(); !bytes.Equal(got, want) {
		t.Errorf("encoded %v, want %v", got, want)
	}
}

func read(src []byte) (ok bool, err error) {
	var f fields
	c := Reader(src, 'x', 0x0a0b0c0d)
	f.code(&c)
	return f.equal(&example), c.Close()
}

func TestReader(t *testing.T) {
	src := written()
	if ok, err := read(src); !ok || err != nil {
		t.Errorf("read %v: %v", ok, err)
	}
	for n := range src {
		if ok, err := read(src[:n]); ok || !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("cut at %d: %v %v", n, ok, err)
		}
	}
	if _, err := read(append(src, 0)); !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("a byte left over: %v", err)
	}
	for i := range HeaderSize {
		other := bytes.Clone(src)
		other[i]++
		if _, err := read(other); !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("byte %d of the header changed: %v", i, err)
		} else if digest := i >= 2; digest != errors.Is(err, reducer.ErrConfiguration) {
			t.Errorf("byte %d of the header changed: %v", i, err)
		}
	}
}

// After the first error every field is zero, whatever it was, and that error
// stays.
func TestReaderStops(t *testing.T) {
	f := example
	c := Reader([]byte{2, 'x', 0, 0, 0, 0}, 'x', 0)
	f.code(&c)
	if !f.equal(&fields{}) || c.Len(7, 1) != 0 || !c.Reads() {
		t.Errorf("a field after the end is not zero: %+v", f)
	}
	if err := c.Close(); !errors.Is(err, errShort) || !errors.Is(err, reducer.ErrEncoding) {
		t.Error(err)
	}
	if err := Broken(errors.New("why")); !errors.Is(err, reducer.ErrEncoding) || err.Error() != "not a state of this machine\nwhy" {
		t.Error(err)
	}
}

// No more items are read than there are bytes for.
func TestLen(t *testing.T) {
	for _, c := range []struct {
		src  []byte
		want int
	}{
		{[]byte{2, 'x', 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4}, 2},
		{[]byte{2, 'x', 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3}, 0},
		{[]byte{2, 'x', 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1}, 0},
	} {
		r := Reader(c.src, 'x', 0)
		if got := r.Len(9, 2); got != c.want || (r.err != nil) != (c.want == 0) {
			t.Errorf("%v: %d items, %v", c.src, got, r.err)
		}
	}
}

// Every setting and its place count.
func TestDigest(t *testing.T) {
	seen := map[Digest]bool{}
	for _, d := range []Digest{NewDigest, NewDigest.Add(0), NewDigest.Add(1), NewDigest.Add(1).Add(2), NewDigest.Add(2).Add(1), NewDigest.Add(1 << 56)} {
		if seen[d] {
			t.Errorf("digest %#x twice", uint32(d))
		}
		seen[d] = true
	}
}

// A number has one form; longer ones of it, and those cut short, are refused.
func TestUvarint(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 1 << 32, 1<<64 - 1} {
		w := Writer(nil, 'X', 7)
		w.Uvarint(&v)
		encoded := w.Bytes()
		decode := func(src []byte) (got uint64, err error) {
			r := Reader(src, 'X', 7)
			r.Uvarint(&got)
			return got, r.Close()
		}
		if got, err := decode(encoded); got != v || err != nil {
			t.Errorf("%d is read as %d, %v", v, got, err)
		}
		last := len(encoded) - 1
		longer := append(bytes.Clone(encoded[:last]), encoded[last]|0x80, 0)
		for _, wrong := range [][]byte{longer, encoded[:last]} {
			if got, err := decode(wrong); got != 0 || !errors.Is(err, reducer.ErrEncoding) {
				t.Errorf("%x is read as %d, %v", wrong, got, err)
			}
		}
	}
}

// A value out of its range is refused and reads as the nearest value in it; a writer
// checks nothing, and always appends the same number of bytes.
func TestRanges(t *testing.T) {
	const base = clock.Mark(100)
	for _, c := range []struct {
		name  string
		write func(w *Coder)
		read  func(r *Coder) uint64
		want  uint64
		wrong bool
	}{
		{"a bool of 1", func(w *Coder) { v := true; w.Bool(&v) }, readBool, 1, false},
		{"a bool of 2", func(w *Coder) { v := uint8(2); w.U8(&v) }, readBool, 0, true},
		{"the greatest number of 32 bits", func(w *Coder) { v := uint32(1<<32 - 1); w.Uvarint32(&v) }, readUvarint32, 1<<32 - 1, false},
		{"one more", func(w *Coder) { v := uint64(1 << 32); w.Uvarint(&v) }, readUvarint32, 0, true},
		{"the base", func(w *Coder) { v := base; w.After(&v, base) }, readAfter(base), uint64(base), false},
		{"the end of the line", func(w *Coder) { v := clock.Never; w.After(&v, base) }, readAfter(base), uint64(clock.Never), false},
		{"a mark before the base", func(w *Coder) { v := base - 1; w.After(&v, base) }, readAfter(base), uint64(base), true},
	} {
		w := Writer([]byte("before"), 'x', 0)
		c.write(&w)
		if len(w.Bytes()) <= len("before")+HeaderSize || w.err != nil {
			t.Errorf("%s: written as %x, %v", c.name, w.Bytes(), w.err)
		}
		r := Reader(w.Bytes()[len("before"):], 'x', 0)
		got := c.read(&r)
		if err := r.Close(); got != c.want || (err != nil) != c.wrong || err != nil && !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("%s is read as %d, %v", c.name, got, err)
		}
	}
}

func readBool(r *Coder) uint64 {
	v := false
	if r.Bool(&v); v {
		return 1
	}
	return 0
}

func readUvarint32(r *Coder) uint64 {
	v := uint32(7)
	r.Uvarint32(&v)
	return uint64(v)
}

func readAfter(base clock.Mark) func(r *Coder) uint64 {
	return func(r *Coder) uint64 {
		var v clock.Mark
		r.After(&v, base)
		return uint64(v)
	}
}
