package budget_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/internal/script"
)

func TestSize(t *testing.T) { script.Sized[budget.State](t, 112) }
