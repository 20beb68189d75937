package runner

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// TestRefundAtAnOlderMark has a caller refund a permit at a mark that it read before
// another caller took the next permit: if the refund counted at its own mark, one
// second would have three permits of a burst of two. The cell stores its last mark
// itself.
func TestRefundAtAnOlderMark(t *testing.T) {
	maker, err := limiter.Cells(limiter.Config{Count: 1, Period: 4 * time.Second, Burst: 2})
	if err != nil {
		t.Fatal(err)
	}
	second := func(n int) clock.Mark { return clock.Mark(time.Duration(n) * time.Second) }
	for name, enter := range map[string]func(b *LockedCell, at clock.Mark) reducer.Permit{
		"enter": func(b *LockedCell, at clock.Mark) reducer.Permit { p, _ := b.Enter(1, clock.Never, at); return p },
		"try acquire": func(b *LockedCell, at clock.Mark) reducer.Permit {
			return b.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, at).Permit
		},
		"acquire": func(b *LockedCell, at clock.Mark) reducer.Permit {
			answer, _ := b.Acquire(reducer.Action{Kind: reducer.Acquire, Cost: 1}, at, nil)
			return answer.Permit
		},
	} {
		b := NewLockedCell(maker.New(0), func() clock.Mark { return 0 }, false, nil)
		first := enter(b, second(0))
		enter(b, second(4))
		b.Step(reducer.Action{Kind: reducer.Cancel, Cost: 1, Permit: first}, second(0))
		enter(b, second(5))
		if answer := b.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, second(5)); answer.Verdict != reducer.Reject {
			t.Errorf("%s: three permits in a second", name)
		}
	}
}
