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
	for n := range 600 {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		c := hedge.Config{Percentile: reducer.Millionths(1 + r.Uint32N(reducer.Whole)), Samples: 1 + r.Uint32N(12)}
		c.Minimum = 1 + r.Uint32N(c.Samples)
		m := machine(t, c)
		s := reducer.ValuesOf(m).Init(0)
		var all []observed
		for range 40 {
			x := observed{took: r.IntN(9), cut: n%2 == 1 && r.IntN(3) == 0}
			before, old := m.Encode(nil, &s), s
			next, effects := reducer.ValuesOf(m).Reduce(s, x.action(), 5)
			if !effects.Answer.Changed || !bytes.Equal(before, m.Encode(nil, &old)) {
				t.Fatal("a step changed the state before it, or says that it changed nothing")
			}
			s, all = next, append(all, x)
			last := all[max(0, len(all)-int(c.Samples)):]
			want, known := 0, len(last) >= int(c.Minimum)
			if known {
				want = recounted(last, int(c.Percentile.Millionths()))
			}
			answer := m.Step(&s, reducer.Action{Kind: reducer.Peek}, 9, nil)
			if got, ok := answer.Delay(); ok != known || got != time.Duration(want) || answer.Changed {
				t.Fatalf("seed %d, case %d: delay %v %v of %v, want %v %v", seed, n, got, ok, last, want, known)
			}
			restored, err := reducer.ValuesOf(m).DecodeState(m.Encode(nil, &s))
			if err != nil || m.Check(&restored) != nil || !bytes.Equal(m.Encode(nil, &restored), m.Encode(nil, &s)) {
				t.Fatalf("seed %d, case %d: restored %v, %v", seed, n, restored, err)
			}
		}
	}
}

// observed is the duration of an attempt, up to its end or until it was cut.
type observed struct {
	took int
	cut  bool
}

func (x observed) action() reducer.Action {
	a := reducer.Action{Kind: reducer.Observe, Outcome: reducer.OK, Value: uint64(x.took)}
	if x.cut {
		a.Outcome = reducer.Cancelled
	}
	return a
}

// recounted is the percentile by its definition: the share of the samples above a duration,
// where of those that were alive at each end that many ended.
func recounted(samples []observed, millionths int) int {
	greatest := 0
	for _, x := range samples {
		greatest = max(greatest, x.took)
	}
	weight, sum := int(reducer.Whole), 0
	for at := range greatest {
		ends, cut, alive := 0, 0, 0
		for _, x := range samples {
			switch {
			case x.took > at:
				alive++
			case x.took == at && x.cut:
				cut++
			case x.took == at:
				ends++
			}
		}
		for range ends {
			if sum += weight; sum >= len(samples)*millionths {
				return at
			}
		}
		for ; cut > 0; cut-- {
			weight += weight / (alive + cut - 1)
		}
	}
	return greatest
}

// A hedge whose attempts are all cut waits as long as the longest of them ran.
func TestAllCut(t *testing.T) {
	m := machine(t, hedge.Config{Percentile: reducer.Percent(50), Samples: 3, Minimum: 1})
	s := reducer.ValuesOf(m).Init(0)
	for _, took := range []int{4, 9, 2} {
		m.Step(&s, observed{took, true}.action(), 0, nil)
	}
	if got := string(m.AppendText(nil, &s, 0)); got != "durations 3 delay 9ns" {
		t.Error(got)
	}
}

// A budget of the hedge's own grants as a retry's does; without one every hedge is
// granted.
func TestBudget(t *testing.T) {
	c := hedge.Config{After: time.Second, Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(50), MinimumPeriod: time.Second, Window: time.Minute}}
	m := machine(t, c)
	s := reducer.ValuesOf(m).Init(0)
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
	s = reducer.ValuesOf(free).Init(0)
	if got := free.Step(&s, reducer.Action{Kind: reducer.Acquire}, 1, nil).Verdict; got != reducer.Admit {
		t.Errorf("without a budget: %v", got)
	}
	if got := string(m.AppendText(nil, &s, 1)); got != "retries left 0" {
		t.Errorf("its text is %q", got)
	}
	for _, c := range []hedge.Config{c, {Percentile: reducer.Percent(100)}} {
		m := machine(t, c)
		s := reducer.ValuesOf(m).Init(0)
		reset := func() bool { return m.Step(&s, reducer.Action{Kind: reducer.Reset}, 1, nil).Changed }
		m.Step(&s, reducer.Action{Kind: reducer.Observe, Value: 5}, 1, nil)
		m.Step(&s, reducer.Action{Kind: reducer.Record}, 1, nil)
		if reducer.ValuesOf(m).Fresh(s, 1) || !reset() || reset() || !reducer.ValuesOf(m).Fresh(s, 1) {
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
	s := reducer.ValuesOf(wide).Init(0)
	for _, took := range []uint64{9, 1, 2, 8, 3} {
		wide.Step(&s, reducer.Action{Kind: reducer.Observe, Outcome: reducer.OK, Value: took}, 0, nil)
	}
	text := func(m *hedge.Machine, s hedge.State) string { return string(m.AppendText(nil, &s, 0)) }
	if got := text(wide, s); got != "durations 4 delay 8ns" {
		t.Errorf("at first %q", got)
	}
	if _, err := reducer.ValuesOf(narrow).DecodeState(wide.Encode(nil, &s)); !errors.Is(err, reducer.ErrConfiguration) {
		t.Errorf("bytes of another configuration: %v", err)
	}
	kept := reducer.ValuesOf(narrow).Adopt(reducer.ValuesOf(wide).Clone(s), wide, 0, nil)
	if got := text(narrow, kept); got != "durations 2 delay 8ns" {
		t.Errorf("narrowed %q", got)
	}
	narrow.Step(&kept, reducer.Action{Kind: reducer.Observe, Value: 1}, 0, nil)
	if got := text(narrow, kept); got != "durations 2 delay 3ns" {
		t.Errorf("narrowed and observed %q", got)
	}
	if got := text(wide, reducer.ValuesOf(wide).Adopt(reducer.ValuesOf(narrow).Clone(kept), narrow, 0, nil)); got != "durations 2 delay 3ns" {
		t.Errorf("widened %q", got)
	}
	if got := reducer.ValuesOf(fixed).Adopt(s, wide, 0, nil); !reducer.ValuesOf(fixed).Fresh(got, 0) {
		t.Errorf("without a percentile %q", text(fixed, got))
	}
	if same := reducer.ValuesOf(wide).Adopt(reducer.ValuesOf(wide).Clone(s), wide, clock.Mark(5), nil); !bytes.Equal(wide.Encode(nil, &same), wide.Encode(nil, &s)) {
		t.Error("an equal configuration changes something")
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	m := machine(t, hedge.Config{Percentile: reducer.Percent(100), Samples: 4, Minimum: 1, Budgeted: true, Budget: budget.Config{Ratio: reducer.Millionths(1)}})
	s := reducer.ValuesOf(m).Init(0)
	for i := range uint64(6) {
		m.Step(&s, reducer.Action{Kind: reducer.Observe, Value: i * 1000}, 0, nil)
		m.Step(&s, reducer.Action{Kind: reducer.Record}, clock.Mark(i), nil)
	}
	src := m.Encode(nil, &s)
	for n := range src {
		if _, err := reducer.ValuesOf(m).DecodeState(src[:n]); !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("%d of %d bytes: %v", n, len(src), err)
		}
	}
	if _, err := reducer.ValuesOf(m).DecodeState(append(slices.Clone(src), 0)); !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("a byte left over: %v", err)
	}
}

// Without a budget, counting and time change nothing. Actions that a hedge does not
// have are stale. Durations and their order have no marks; a shift moves the marks of
// a budget.
func TestActionsAndMarks(t *testing.T) {
	free := machine(t, hedge.Config{Percentile: reducer.Percent(100), Minimum: 1})
	own := machine(t, hedge.Config{Percentile: reducer.Percent(100), Minimum: 1, Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(100)}})
	s := reducer.ValuesOf(free).Init(0)
	for kind, want := range map[reducer.Kind]reducer.Verdict{
		reducer.Record: reducer.Done, reducer.Commit: reducer.Done, reducer.Tick: reducer.Done, reducer.Configure: reducer.Done,
		reducer.Acquire: reducer.Admit, reducer.TryAcquire: reducer.Admit, reducer.Cancel: reducer.Stale, reducer.Serve: reducer.Stale,
	} {
		if got := free.Step(&s, reducer.Action{Kind: kind}, 3, nil); got.Verdict != want || got.Changed {
			t.Errorf("%v: %v", kind, got)
		}
	}
	for _, m := range []*hedge.Machine{free, own} {
		s := reducer.ValuesOf(m).Init(0)
		for _, took := range []uint64{9, 1, 5} {
			m.Step(&s, reducer.Action{Kind: reducer.Observe, Outcome: reducer.OK, Value: took}, 3, nil)
		}
		m.Step(&s, reducer.Action{Kind: reducer.Record}, 3, nil)
		later := reducer.ValuesOf(m).Shift(s, 4)
		want := reducer.ValuesOf(m).Clone(s)
		if m == own {
			want.Budget.Origin, want.Budget.Last = 7, 7
		}
		if got := m.Encode(nil, &later); !bytes.Equal(got, m.Encode(nil, &want)) {
			t.Errorf("shifted it is %x", got)
		}
	}
}
