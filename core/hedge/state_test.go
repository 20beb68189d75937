package hedge_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

func machine(t *testing.T, c hedge.Config) *hedge.Machine {
	t.Helper()
	m, err := hedge.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The delay is the nearest rank of the last durations, recounted from the list of
// all; states are values, and their bytes restore them.
func TestDelayIsTheNearestRank(t *testing.T) {
	seed := testenv.Seed()
	for n := range 300 {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		c := hedge.Config{Percentile: reducer.Millionths(1 + r.Uint32N(reducer.Whole)), Samples: 1 + r.Uint32N(12)}
		c.Minimum = 1 + r.Uint32N(c.Samples)
		m := machine(t, c)
		s := m.Init(0)
		var all []time.Duration
		for range 40 {
			took := time.Duration(r.IntN(9))
			before, old := m.AppendState(nil, s), s
			next, effects := m.Reduce(s, reducer.Action{Kind: reducer.Observe, Value: uint64(took)}, 5)
			if !effects.Answer.Changed || !bytes.Equal(before, m.AppendState(nil, old)) {
				t.Fatal("a step changed the state before it, or says that it changed nothing")
			}
			s, all = next, append(all, took)
			last := slices.Sorted(slices.Values(all[max(0, len(all)-int(c.Samples)):]))
			want, known := time.Duration(0), len(last) >= int(c.Minimum)
			if known {
				rank := (len(last)*int(c.Percentile.Millionths()) + int(reducer.Whole) - 1) / int(reducer.Whole)
				want = last[rank-1]
			}
			answer := m.Step(&s, reducer.Action{Kind: reducer.Peek}, 9, nil)
			if got, ok := hedge.Delay(answer); ok != known || got != want || answer.Changed {
				t.Fatalf("seed %d, case %d: delay %v %v of %v, want %v %v", seed, n, got, ok, last, want, known)
			}
			restored, err := m.DecodeState(m.AppendState(nil, s))
			if err != nil || m.Check(restored) != nil || !bytes.Equal(m.AppendState(nil, restored), m.AppendState(nil, s)) {
				t.Fatalf("seed %d, case %d: restored %v, %v", seed, n, restored, err)
			}
		}
	}
}

// A budget of the hedge's own grants as a retry's does; without one every hedge is
// granted.
func TestBudget(t *testing.T) {
	c := hedge.Config{After: time.Second, Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(50), MinimumPeriod: time.Second, Window: time.Minute}}
	m := machine(t, c)
	s := m.Init(0)
	ask := func() reducer.Verdict { return m.Step(&s, reducer.Action{Kind: reducer.Acquire}, 1, nil).Verdict }
	for range 4 {
		m.Step(&s, reducer.Action{Kind: reducer.Record}, 1, nil)
	}
	for i, want := range []reducer.Verdict{reducer.Admit, reducer.Admit, reducer.Reject} {
		if got := ask(); got != want {
			t.Errorf("hedge %d: %v, want %v", i, got, want)
		}
	}
	free := machine(t, hedge.Config{Percentile: reducer.Percent(100)})
	s = free.Init(0)
	if got := free.Step(&s, reducer.Action{Kind: reducer.Acquire}, 1, nil).Verdict; got != reducer.Admit {
		t.Errorf("without a budget: %v", got)
	}
	if got := string(m.AppendText(nil, s, 1)); got != "retries left 0" {
		t.Errorf("its text is %q", got)
	}
	for _, c := range []hedge.Config{c, {Percentile: reducer.Percent(100)}} {
		m := machine(t, c)
		s := m.Init(0)
		reset := func() bool { return m.Step(&s, reducer.Action{Kind: reducer.Reset}, 1, nil).Changed }
		m.Step(&s, reducer.Action{Kind: reducer.Observe, Value: 5}, 1, nil)
		m.Step(&s, reducer.Action{Kind: reducer.Record}, 1, nil)
		if m.Fresh(s, 1) || !reset() || reset() || !m.Fresh(s, 1) {
			t.Errorf("%+v: a reset forgets what there is, once", c)
		}
	}
	if machine(t, hedge.Config{After: 1}).Cells() != nil || free.Cells() == nil || m.Cells() == nil {
		t.Error("a hedge has cells when it has a percentile or a budget")
	}
}

// Under another configuration the latest durations stay, as many as there may be;
// bytes of another configuration are refused.
func TestAdopt(t *testing.T) {
	wide := machine(t, hedge.Config{Percentile: reducer.Percent(100), Samples: 4, Minimum: 1})
	narrow := machine(t, hedge.Config{Percentile: reducer.Percent(100), Samples: 2, Minimum: 1})
	fixed := machine(t, hedge.Config{After: time.Second, Budgeted: true, Budget: budget.Config{Ratio: reducer.Millionths(1)}})
	s := wide.Init(0)
	for _, took := range []uint64{9, 1, 2, 8, 3} {
		wide.Step(&s, reducer.Action{Kind: reducer.Observe, Value: took}, 0, nil)
	}
	text := func(m *hedge.Machine, s hedge.State) string { return string(m.AppendText(nil, s, 0)) }
	if got := text(wide, s); got != "durations 4 delay 8ns" {
		t.Errorf("at first %q", got)
	}
	if _, err := narrow.DecodeState(wide.AppendState(nil, s)); !errors.Is(err, reducer.ErrConfiguration) {
		t.Errorf("bytes of another configuration: %v", err)
	}
	kept := narrow.Adopt(wide.Clone(s), wide, 0, nil)
	if got := text(narrow, kept); got != "durations 2 delay 8ns" {
		t.Errorf("narrowed %q", got)
	}
	narrow.Step(&kept, reducer.Action{Kind: reducer.Observe, Value: 1}, 0, nil)
	if got := text(narrow, kept); got != "durations 2 delay 3ns" {
		t.Errorf("narrowed and observed %q", got)
	}
	if got := text(wide, wide.Adopt(narrow.Clone(kept), narrow, 0, nil)); got != "durations 2 delay 3ns" {
		t.Errorf("widened %q", got)
	}
	if got := fixed.Adopt(s, wide, 0, nil); !fixed.Fresh(got, 0) {
		t.Errorf("without a percentile %q", text(fixed, got))
	}
	if same := wide.Adopt(wide.Clone(s), wide, clock.Mark(5), nil); !bytes.Equal(wide.AppendState(nil, same), wide.AppendState(nil, s)) {
		t.Error("an equal configuration changes something")
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	m := machine(t, hedge.Config{Percentile: reducer.Percent(100), Samples: 4, Minimum: 1, Budgeted: true, Budget: budget.Config{Ratio: reducer.Millionths(1)}})
	s := m.Init(0)
	for i := range uint64(6) {
		m.Step(&s, reducer.Action{Kind: reducer.Observe, Value: i * 1000}, 0, nil)
		m.Step(&s, reducer.Action{Kind: reducer.Record}, clock.Mark(i), nil)
	}
	src := m.AppendState(nil, s)
	for n := range src {
		if _, err := m.DecodeState(src[:n]); !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("%d of %d bytes: %v", n, len(src), err)
		}
	}
	if _, err := m.DecodeState(append(slices.Clone(src), 0)); !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("a byte left over: %v", err)
	}
}

// Without a budget, counting and time change nothing. Actions that a hedge does not
// have are stale. Durations and their order have no marks; a shift moves the marks of
// a budget.
func TestActionsAndMarks(t *testing.T) {
	free := machine(t, hedge.Config{Percentile: reducer.Percent(100), Minimum: 1})
	own := machine(t, hedge.Config{Percentile: reducer.Percent(100), Minimum: 1, Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(100)}})
	s := free.Init(0)
	for kind, want := range map[reducer.Kind]reducer.Verdict{
		reducer.Record: reducer.Done, reducer.Commit: reducer.Done, reducer.Tick: reducer.Done, reducer.Configure: reducer.Done,
		reducer.Acquire: reducer.Admit, reducer.TryAcquire: reducer.Admit, reducer.Cancel: reducer.Stale, reducer.Serve: reducer.Stale,
	} {
		if got := free.Step(&s, reducer.Action{Kind: kind}, 3, nil); got.Verdict != want || got.Changed {
			t.Errorf("%v: %v", kind, got)
		}
	}
	for _, m := range []*hedge.Machine{free, own} {
		s := m.Init(0)
		for _, took := range []uint64{9, 1, 5} {
			m.Step(&s, reducer.Action{Kind: reducer.Observe, Value: took}, 3, nil)
		}
		m.Step(&s, reducer.Action{Kind: reducer.Record}, 3, nil)
		later := m.Shift(s, 4)
		want := m.Clone(s)
		if m == own {
			want.Budget.Origin, want.Budget.Last = 7, 7
		}
		if got := m.AppendState(nil, later); !bytes.Equal(got, m.AppendState(nil, want)) {
			t.Errorf("shifted it is %x", got)
		}
	}
}
