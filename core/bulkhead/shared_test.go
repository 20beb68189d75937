package bulkhead_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestSharedScripts(t *testing.T) {
	script.Run(t, "testdata/shared", script.Spec[bulkhead.SharedState]{
		New: func(a *script.Args) (reducer.Cell[bulkhead.SharedState], error) {
			return bulkhead.NewShared(bulkhead.SharedConfig{
				Concurrent: a.Count32("concurrent", 0), Lease: a.Duration("lease", 0), Members: a.Count32("members", 0),
			})
		},
	})
}

// The lease of a document precedes the one of its user.
func TestShared(t *testing.T) {
	c := bulkhead.Config{Concurrent: 5, Queue: 2, Wait: time.Second}
	if got, want := c.Shared(time.Minute, 4), (bulkhead.SharedConfig{Concurrent: 5, Lease: time.Minute, Members: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.Lease = time.Second
	if got := c.Shared(time.Minute, 4).Lease; got != time.Second {
		t.Errorf("a lease of %v", got)
	}
	if _, err := bulkhead.SharedCells(bulkhead.SharedConfig{Concurrent: 5}); err == nil {
		t.Error("shared cells without a lease")
	}
}

// A step of members that are known allocates nothing, and neither does a place that is
// taken and released; to decode a state allocates its members alone.
func TestSharedAllocations(t *testing.T) {
	m := newShared(t, bulkhead.SharedConfig{Concurrent: 10, Lease: time.Minute})
	var out reducer.Out
	now := clock.Mark(0)
	acquire := func(s *bulkhead.SharedState, member uint64) reducer.Permit {
		now++
		return m.Step(s, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: member}}, now, &out).Permit
	}
	s := reducer.ValuesOf(m).Init(0)
	for member := range uint64(4) {
		acquire(&s, member)
	}
	if n := testing.AllocsPerRun(100, func() {
		for member := range uint64(6) {
			p := acquire(&s, member)
			m.Step(&s, reducer.Action{Kind: reducer.Renew, Permit: p}, now, &out)
			m.Step(&s, reducer.Action{Kind: reducer.Release, Permit: p}, now, &out)
		}
	}); n > 0 {
		t.Errorf("steps allocate %v times", n)
	}
	src := m.Encode(nil, &s)
	dst := make([]byte, 0, len(src))
	if n := testing.AllocsPerRun(100, func() {
		var again bulkhead.SharedState
		if err := m.Decode(src, &again); err != nil {
			t.Fatal(err)
		}
		acquire(&again, 9)
		dst = m.Encode(dst[:0], &s)
	}); n > 1 {
		t.Errorf("a step on bytes allocates %v times", n)
	}
}

func newShared(t *testing.T, c bulkhead.SharedConfig) *bulkhead.SharedMachine {
	t.Helper()
	m, err := bulkhead.NewShared(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The numbers of stays wrap around without 0.
func TestSharedEpochsWrap(t *testing.T) {
	m := newShared(t, bulkhead.SharedConfig{Concurrent: 2, Lease: time.Minute})
	s := bulkhead.SharedState{Serial: 1<<32 - 2}
	var out reducer.Out
	want := []uint64{1<<32 - 1, 1}
	var all []reducer.Permit
	for i, epoch := range want {
		p := m.Step(&s, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: uint64(i)}}, 0, &out).Permit
		if p.Generation != epoch {
			t.Errorf("stay %d has epoch %d, want %d", i, p.Generation, epoch)
		}
		all = append(all, p)
	}
	again, err := reducer.ValuesOf(m).DecodeState(m.Encode(nil, &s))
	if err != nil || m.Check(&again) != nil {
		t.Fatal(err, m.Check(&again))
	}
	for _, p := range all {
		if a := m.Step(&again, reducer.Action{Kind: reducer.Release, Permit: p}, 0, &out); a.Verdict != reducer.Done {
			t.Errorf("the release of %v is %v", p, a)
		}
	}
	if a := m.Step(&again, reducer.Action{Kind: reducer.Release, Permit: all[0]}, 0, &out); a.Verdict != reducer.Stale || m.Held(&again) {
		t.Errorf("a second release is %v", a)
	}
}

// After its members have ended a bulkhead is empty, and its epochs continue.
func TestSharedRecall(t *testing.T) {
	m := newShared(t, bulkhead.SharedConfig{Concurrent: 1, Lease: time.Minute})
	var out reducer.Out
	s := reducer.ValuesOf(m).Init(0)
	acquire := reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: 1}}
	before := m.Step(&s, acquire, 5, &out)
	m.Recall(&s)
	if m.Held(&s) || m.Check(&s) != nil {
		t.Errorf("recalled it is held, or broken: %v", m.Check(&s))
	}
	after := m.Step(&s, acquire, 5, &out)
	if after.Verdict != reducer.Admit || m.Step(&s, reducer.Action{Kind: reducer.Release, Permit: before.Permit}, 6, &out).Verdict != reducer.Stale {
		t.Errorf("the earlier permit %v is valid beside %v", before.Permit, after.Permit)
	}
}
