package adaptive_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[adaptive.State]{
		New: func(a *script.Args) (reducer.Cell[adaptive.State], error) {
			c := adaptive.Config{
				Initial:   a.Count32("initial", 4),
				Minimum:   a.Count32("minimum", 1),
				Maximum:   a.Count32("maximum", 8),
				Increase:  a.Count32("increase", 1),
				Decrease:  reducer.Millionths(max(a.Share("decrease").Millionths(), reducer.Percent(uint32(a.Count("percent", 0))).Millionths())),
				Tolerance: reducer.Percent(15),
				Over:      a.Duration("over", time.Second),
				OverShare: a.Share("share"),
				Lease:     a.Duration("lease", 0),
			}
			if a.Has("tolerance") {
				c.Tolerance = a.Share("tolerance")
			}
			return adaptive.New(c)
		},
	})
}

func made(t *testing.T, c adaptive.Config) *adaptive.Machine {
	t.Helper()
	m, err := adaptive.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// round plays a round of calls of one place, which end with an outcome after a time.
func round(m *adaptive.Machine, s *adaptive.State, now *clock.Mark, outcome reducer.Outcome, took time.Duration) {
	for grant := s.Round.Grant; s.Round.Grant == grant; {
		var held []reducer.Permit
		for p, ok := m.Enter(s, 1, 0, clock.Never, *now); ok; p, ok = m.Enter(s, 1, 0, clock.Never, *now) {
			held = append(held, p)
		}
		*now = now.Add(took)
		for _, p := range held {
			m.Step(s, reducer.Action{Kind: reducer.Record, Outcome: outcome, Permit: p}, *now, nil)
		}
	}
}

// A4: a limit that is in use rises from the least to the greatest in a bounded number
// of rounds.
func TestRecovers(t *testing.T) {
	m := made(t, adaptive.Config{Minimum: 1, Maximum: 200}.WithDefaults())
	state, now := reducer.ValuesOf(m).Init(0), clock.Mark(0)
	for state.Limit > 1 {
		before := state.Limit
		if round(m, &state, &now, reducer.Timeout, time.Second); state.Limit >= before {
			t.Fatalf("a round of timeouts leads from %d to %d", before, state.Limit)
		}
	}
	rounds := 0
	for ; state.Limit < 200 && rounds < 200; rounds++ {
		before := state.Limit
		if round(m, &state, &now, reducer.OK, time.Second); state.Limit <= before {
			t.Fatalf("a good round leads from %d to %d", before, state.Limit)
		}
	}
	if rounds >= 200 {
		t.Errorf("it takes %d rounds", rounds)
	}
}

// Encoded, an adaptive limit is small, and a place that is held takes a few bytes.
func TestEncodedSize(t *testing.T) {
	m := made(t, adaptive.Config{}.WithDefaults())
	state := reducer.ValuesOf(m).Init(clock.Mark(time.Hour))
	fresh := len(m.Encode(nil, &state))
	if fresh > 40 {
		t.Errorf("a new one takes %d bytes", fresh)
	}
	var held []reducer.Permit
	for range 20 {
		p, _ := m.Enter(&state, 1, 0, clock.Mark(3*time.Hour), clock.Mark(2*time.Hour))
		held = append(held, p)
	}
	if n := len(m.Encode(nil, &state)); n > fresh+16+20*5 {
		t.Errorf("20 places take %d bytes, none %d", n, fresh)
	}
	for _, p := range held {
		m.Step(&state, reducer.Action{Kind: reducer.Record, Outcome: reducer.Timeout, Permit: p}, clock.Mark(3*time.Hour), nil)
	}
	m.Recall(&state)
	if n := len(m.Encode(nil, &state)); m.Held(&state) || n > fresh+24 {
		t.Errorf("empty again it takes %d bytes, a new one %d", n, fresh)
	}
}

// An attempt that ended without a mark of its beginning was not late.
func TestNoBeginning(t *testing.T) {
	m := made(t, adaptive.Config{Initial: 1}.WithDefaults())
	state := reducer.ValuesOf(m).Init(0)
	p, _ := m.Enter(&state, 1, 0, clock.Never, clock.Mark(time.Hour))
	p.Mark = clock.Always
	if !m.Exit(&state, p, clock.Mark(time.Hour)) || state.Round.Quick != 1 {
		t.Errorf("it leads to %s", m.AppendText(nil, &state, 0))
	}
}

// The release of the oldest of many holders moves none of the others, and what costs more
// than a place allocates nothing more than what costs one.
func TestManyHolders(t *testing.T) {
	m := made(t, adaptive.Config{Initial: adaptive.MaxLimit, Maximum: adaptive.MaxLimit}.WithDefaults())
	state := reducer.ValuesOf(m).Init(0)
	var held []reducer.Permit
	for range adaptive.MaxLimit - 2 {
		p, _ := m.Enter(&state, 1, 0, clock.Never, 0)
		held = append(held, p)
	}
	oldest := 0
	if n := testing.AllocsPerRun(1_000, func() {
		p, ok := m.Enter(&state, 2, 0, clock.Never, 0)
		if !ok || !m.Exit(&state, p, 0) || !m.Exit(&state, held[oldest], 0) {
			t.Fatal("a place is not free, or not held")
		}
		held[oldest], _ = m.Enter(&state, 1, 0, clock.Never, 0)
		oldest++
	}); n != 0 {
		t.Errorf("a call allocates %v times", n)
	}
	if err := m.Check(&state); err != nil {
		t.Error(err)
	}
}

// The bytes of other bounds are refused as those of another configuration; the
// state of another mechanism is not carried over.
func TestOtherConfiguration(t *testing.T) {
	c := adaptive.Config{}.WithDefaults()
	m := made(t, c)
	state := reducer.ValuesOf(m).Init(0)
	m.Enter(&state, 1, 0, clock.Never, 0)
	c.Maximum = 10
	c.Initial = 10
	next := made(t, c)
	if _, err := reducer.ValuesOf(next).DecodeState(m.Encode(nil, &state)); err == nil {
		t.Error("a limit of 20 is read where 10 is the most")
	}
	if s := reducer.ValuesOf(next).Adopt(reducer.ValuesOf(m).Clone(state), m, 0, nil); s.Limit != 10 || !next.Held(&s) {
		t.Errorf("adopted: %s", next.AppendText(nil, &s, 0))
	}
	if s := reducer.ValuesOf(next).Adopt(state, nil, 0, nil); next.Held(&s) {
		t.Error("the state of another mechanism is carried over")
	}
}
