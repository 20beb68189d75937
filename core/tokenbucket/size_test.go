package tokenbucket_test

import (
	"testing"
	"unsafe"

	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/script"
)

// A bucket is two words; where nothing is ever refunded, one.
func TestSize(t *testing.T) {
	script.Sized[tokenbucket.State](t, 16)
	m, err := tokenbucket.New(tokenbucket.Config{Count: 1, Period: 1, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	word := m.Init(0).TAT
	word, _ = m.Take(word, 1, 0)
	size := unsafe.Sizeof(word)
	if size != 8 {
		t.Errorf("the word of Take takes %d bytes", size)
	}
}
