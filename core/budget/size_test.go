package budget_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestSize(t *testing.T) { script.Sized[budget.State](t, 112) }

// Encoded, a budget takes 24 bytes and two varints a bucket that counted.
func TestEncodedSize(t *testing.T) {
	m, err := budget.New(budget.Config{Ratio: reducer.Percent(100), Window: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	fits := func(s budget.State, most int) {
		t.Helper()
		if n := len(m.Encode(nil, &s)); n > most {
			t.Errorf("%+v takes %d bytes, at most %d were promised", s, n, most)
		}
	}
	late := clock.Mark(1) << 61
	s := reducer.ValuesOf(m).Init(late)
	fits(s, 7)
	for second := range 15 {
		for range 10_000 {
			m.Step(&s, reducer.Action{Kind: reducer.Record}, late, nil)
			m.Step(&s, reducer.Action{Kind: reducer.Acquire}, late, nil)
		}
		fits(s, 24+4*min(10, second+1))
		late = late.Add(time.Second)
	}
	late = late.Add(time.Minute)
	m.Step(&s, reducer.Action{Kind: reducer.Record}, late, nil)
	fits(s, 24+2)
}

// The state of another window is refused, and carried over without its counts.
func TestOtherWindow(t *testing.T) {
	c := budget.Config{Ratio: reducer.Percent(100), Window: 10 * time.Second}
	m, err := budget.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := reducer.ValuesOf(m).Init(0)
	m.Step(&s, reducer.Action{Kind: reducer.Record}, 7, nil)
	c.Window = time.Minute
	next, err := budget.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reducer.ValuesOf(next).DecodeState(m.Encode(nil, &s)); !errors.Is(err, reducer.ErrConfiguration) {
		t.Errorf("another window: %v", err)
	}
	if a := reducer.ValuesOf(next).Adopt(s, m, 9, nil); a.Origin != 7 || a.Buckets != (budget.State{}).Buckets || next.Check(&a) != nil {
		t.Errorf("adopted: %+v, %v", a, next.Check(&a))
	}
	if a := reducer.ValuesOf(next).Adopt(s, nil, 9, nil); a != reducer.ValuesOf(next).Init(9) {
		t.Errorf("adopted from another mechanism: %+v", a)
	}
}

// A state that says that more is taken than there is grants nothing, and comes back to the
// capacity by what is refunded.
func TestMoreTakenThanThereIs(t *testing.T) {
	for _, c := range []budget.Config{
		{Rule: budget.Tokens, Tokens: 5, Retry: 5, Timeout: 1, Refund: 1},
		{Rule: budget.Throttle, Tokens: 4, TokenRatio: reducer.Percent(100)},
	} {
		m, err := budget.New(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, taken := range []uint32{c.Tokens*1_000 + 1, 1<<32 - 1} {
			for _, outcome := range []reducer.Outcome{reducer.OK, reducer.Fail} {
				s := reducer.ValuesOf(m).Init(0)
				s.Taken = taken
				for _, kind := range []reducer.Kind{reducer.Peek, reducer.Acquire, reducer.TryAcquire} {
					if a := m.Step(&s, reducer.Action{Kind: kind, Outcome: reducer.Fail}, 0, nil); a.Verdict != reducer.Reject {
						t.Errorf("%+v, %d taken: %v is answered %v", c, taken, kind, a.Verdict)
					}
				}
				if m.Step(&s, reducer.Action{Kind: reducer.Release, Outcome: outcome}, 0, nil); s.Taken > c.Tokens*1_000 {
					t.Errorf("%+v, %d taken: %d after %v", c, taken, s.Taken, outcome)
				}
			}
		}
	}
}
