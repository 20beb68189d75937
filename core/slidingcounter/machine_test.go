package slidingcounter_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
)

func TestScripts(t *testing.T) { script.Limits(t, "testdata", limiter.SlidingCounter) }
