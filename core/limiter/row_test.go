package limiter_test

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/limiter"
)

// TestWords holds the words of the row to the names of the algorithms.
func TestWords(t *testing.T) {
	words := strings.Fields(limiter.Row().Setting("algorithm").Words)
	for a := range limiter.Algorithms {
		if words[a] != a.String() {
			t.Errorf("algorithm %d is %q in documents and %q in texts", a, words[a], a)
		}
	}
	if more := words[limiter.Algorithms:]; len(more) > 0 {
		t.Errorf("%q are no algorithms", more)
	}
}
