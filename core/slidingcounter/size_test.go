package slidingcounter_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/internal/script"
)

func TestSize(t *testing.T) { script.Sized[slidingcounter.State](t, 96) }
