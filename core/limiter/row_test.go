package limiter_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// TestWords holds the words of the row to the names of the algorithms.
func TestWords(t *testing.T) {
	words := limiter.Row().Setting("algorithm").Words
	for a := limiter.TokenBucket; a <= limiter.LeakyBucket; a++ {
		if got := mechanism.WordAt(words, int(a)); got != a.String() {
			t.Errorf("algorithm %d is %q in documents and %q in texts", a, got, a)
		}
	}
	if got := mechanism.WordAt(words, int(limiter.LeakyBucket)+1); got != "" {
		t.Errorf("%q is no algorithm", got)
	}
}
