package bulkhead

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// A bulkhead reads its own state, however long its leases are and wherever on the line of marks:
// also after a shift that moves the end of a lease beyond the line.
func TestLongLease(t *testing.T) {
	for _, lease := range []time.Duration{1, time.Hour, 292 * 365 * 24 * time.Hour, 1<<63 - 2, 1<<63 - 1} {
		m, err := New(Config{Concurrent: 3, Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		leased(t, m, lease)
		shared, err := NewShared(SharedConfig{Concurrent: 3, Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		leased(t, shared, lease)
	}
}

func leased[S any](t *testing.T, m reducer.Cell[S], lease time.Duration) {
	t.Helper()
	for _, start := range []clock.Mark{clock.Always + 1, -1 << 62, 0, 1 << 62, clock.Never - 2, clock.Never - 1} {
		s := reducer.ValuesOf(m).Init(start)
		for i, at := range []clock.Mark{start, start + 1, max(start, 0), max(start, clock.Never-1)} {
			x := m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: uint64(i)}}, at, new(reducer.Out))
			if i%2 == 0 {
				m.Step(&s, reducer.Action{Kind: reducer.Renew, Permit: x.Permit}, max(at, 1), new(reducer.Out))
			}
			if err := m.Check(&s); err != nil {
				t.Errorf("lease %v, from %d, admission %d at %d: %v", lease, start, i, at, err)
			}
			for _, by := range []time.Duration{100, 1<<63 - 1, -100, -1 << 63} {
				if moved := reducer.ValuesOf(m).Shift(reducer.ValuesOf(m).Clone(s), by); m.Check(&moved) != nil {
					t.Errorf("lease %v, from %d, admission %d at %d, shifted by %v: %v", lease, start, i, at, by, m.Check(&moved))
				}
			}
		}
	}
}
