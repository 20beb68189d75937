package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

func example() []byte {
	b := Mark(U64(U32(append(Header(nil, 'x'), 0xab), 0x01020304), 0x05060708090a0b0c), -2)
	return append(b, "rest"...)
}

// The layout is little-endian, without gaps.
func TestLayout(t *testing.T) {
	want := []byte{1, 'x', 0xab, 4, 3, 2, 1, 0xc, 0xb, 0xa, 9, 8, 7, 6, 5, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'r', 'e', 's', 't'}
	if got := example(); !bytes.Equal(got, want) {
		t.Errorf("encoded %v, want %v", got, want)
	}
}

func read(src []byte) (ok bool, left int, err error) {
	r := NewReader(src, 'x')
	ok = r.U8() == 0xab && r.U32() == 0x01020304 && r.U64() == 0x05060708090a0b0c && r.Mark() == clock.Mark(-2)
	left = r.Left()
	ok = ok && string(r.Bytes(4)) == "rest"
	return ok, left, r.Close()
}

func TestReader(t *testing.T) {
	src := example()
	if ok, left, err := read(src); !ok || left != 4 || err != nil {
		t.Errorf("read %v with %d left: %v", ok, left, err)
	}
	for n := range src {
		if ok, _, err := read(src[:n]); ok || !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("cut at %d: %v %v", n, ok, err)
		}
	}
	if _, _, err := read(append(src, 0)); !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("a byte left over: %v", err)
	}
	for i := range 2 {
		other := bytes.Clone(src)
		other[i]++
		if _, _, err := read(other); !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("byte %d of the header changed: %v", i, err)
		}
	}
}

// After the first error every field is zero, and that error stays.
func TestReaderStops(t *testing.T) {
	r := NewReader([]byte{1, 'x', 7}, 'x')
	if r.U32() != 0 || r.U8() != 0 || r.U64() != 0 || r.Mark() != 0 || r.Bytes(1) != nil || r.Left() != 0 {
		t.Error("a field after the end is not zero")
	}
	if err := r.Close(); !errors.Is(err, errShort) {
		t.Error(err)
	}
	if err := Broken(errors.New("why")); !errors.Is(err, reducer.ErrEncoding) || err.Error() == reducer.ErrEncoding.Error() {
		t.Error(err)
	}
}
