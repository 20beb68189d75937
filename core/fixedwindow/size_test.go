package fixedwindow_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/internal/script"
)

func TestSize(t *testing.T) { script.Sized[fixedwindow.State](t, 24) }
