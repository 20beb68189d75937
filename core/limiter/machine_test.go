package limiter_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
)

func TestScripts(t *testing.T) {
	for a := limiter.TokenBucket; a <= limiter.LeakyBucket; a++ {
		t.Run(a.String(), func(t *testing.T) { script.Limits(t, "testdata/"+a.String(), a) })
	}
}
