package tokenbucket_test

import (
	"reflect"
	"testing"

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
	word, admitted := m.Take(m.Init(0).TAT, 1, 0)
	if size := reflect.TypeOf(word).Size(); size != 8 || !admitted {
		t.Errorf("the word of Take takes %d bytes, admitted: %v", size, admitted)
	}
}
