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
			return adaptive.New(adaptive.Config{
				Initial:  a.Count32("initial", 4),
				Minimum:  a.Count32("minimum", 1),
				Maximum:  a.Count32("maximum", 8),
				Increase: a.Count32("increase", 1),
				Decrease: reducer.Millionths(max(a.Share("decrease").Millionths(), reducer.Percent(uint32(a.Count("percent", 0))).Millionths())),
				Over:     a.Duration("over", time.Second),
			})
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

// A4: a limit that is in use rises from the least to the greatest in a bounded number
// of rounds.
func TestRecovers(t *testing.T) {
	c := adaptive.Config{Minimum: 1, Maximum: 200}.WithDefaults()
	m := made(t, c)
	state := m.Init(0)
	now := clock.Mark(0)
	for ; state.Limit > adaptive.Place; now++ {
		p, _ := m.Enter(&state, 1, 0, now)
		m.Step(&state, reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail, Permit: p}, now, nil)
	}
	rounds := 0
	for ; state.Limit < 200*adaptive.Place; rounds++ {
		var held []reducer.Permit
		for p, ok := m.Enter(&state, 1, 0, now); ok; p, ok = m.Enter(&state, 1, 0, now) {
			held = append(held, p)
		}
		for _, p := range held {
			before := state.Limit
			if now++; !m.Exit(&state, p, now) || state.Limit < before {
				t.Fatalf("from %d a success leads to %d", before, state.Limit)
			}
		}
	}
	// Calls that all end before the next ones begin add half an Increase a round:
	// the second half of them ends while less than half of the limit is in use.
	if rounds > 400 {
		t.Errorf("it takes %d rounds", rounds)
	}
}

// Encoded, an adaptive limit is small, and a place that is held takes a byte or
// two.
func TestEncodedSize(t *testing.T) {
	m := made(t, adaptive.Config{}.WithDefaults())
	state := m.Init(clock.Mark(time.Hour))
	if n := len(m.AppendState(nil, state)); n > 24 {
		t.Errorf("a new one takes %d bytes", n)
	}
	fresh := len(m.AppendState(nil, state))
	p, _ := m.Enter(&state, 1, 0, clock.Mark(2*time.Hour))
	for range 19 {
		m.Enter(&state, 1, 0, clock.Mark(2*time.Hour))
	}
	if n := len(m.AppendState(nil, state)); n > fresh+20*2 {
		t.Errorf("20 places take %d bytes", n-fresh)
	}
	m.Step(&state, reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail, Permit: p}, clock.Mark(3*time.Hour), nil)
	m.Recall(&state)
	if n := len(m.AppendState(nil, state)); m.Held(&state) || n > fresh+10 {
		t.Errorf("empty again it takes %d bytes, a new one %d", n, fresh)
	}
}

// An attempt that ended without a mark of its beginning was not late.
func TestNoBeginning(t *testing.T) {
	m := made(t, adaptive.Config{Initial: 1}.WithDefaults())
	state := m.Init(0)
	p, _ := m.Enter(&state, 1, 0, clock.Mark(time.Hour))
	p.Mark = clock.Always
	if !m.Exit(&state, p, clock.Mark(time.Hour)) || state.Limit != 2*adaptive.Place {
		t.Errorf("it leads to %s", m.AppendText(nil, state, 0))
	}
}

// The bytes of other bounds are refused as those of another configuration; the
// state of another mechanism is not carried over.
func TestOtherConfiguration(t *testing.T) {
	c := adaptive.Config{}.WithDefaults()
	m := made(t, c)
	state := m.Init(0)
	m.Enter(&state, 1, 0, 0)
	c.Maximum = 10
	c.Initial = 10
	next := made(t, c)
	if _, err := next.DecodeState(m.AppendState(nil, state)); err == nil {
		t.Error("a limit of 20 is read where 10 is the most")
	}
	if s := next.Adopt(m.Clone(state), m, 0, nil); s.Limit != 10*adaptive.Place || !next.Held(&s) {
		t.Errorf("adopted: %s", next.AppendText(nil, s, 0))
	}
	if s := next.Adopt(state, nil, 0, nil); next.Held(&s) {
		t.Error("the state of another mechanism is carried over")
	}
}
