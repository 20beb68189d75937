package tokenbucket_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
)

// A turn that no mark can hold is never: the 300th caller at one permit a year.
func TestTurnsOverflow(t *testing.T) {
	const year = 365 * 24 * time.Hour
	m, err := tokenbucket.New(tokenbucket.Config{Count: 1, Period: year})
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []uint64{292, 300, 1 << 32, 1<<64 - 2} {
		if at := m.TurnAfter(0, ahead, 1, 0); at != clock.Never {
			t.Errorf("behind %d permits the turn is at %v", ahead, at)
		}
	}
	if at := m.TurnAfter(0, 290, 1, 0); at != clock.Mark(290*year) {
		t.Errorf("behind 290 permits the turn is at %v", at)
	}
	if tat := m.Charge(0, 300, 0); tat != clock.Never {
		t.Errorf("300 permits are paid at %v", tat)
	}
}
