package limiter_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// warmed returns a full bucket that is warm for a part, and the mark up to which it was used.
func warmed(t *testing.T, c limiter.Config) (*limiter.Machine, limiter.State, clock.Mark) {
	t.Helper()
	m, err := limiter.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s, now := reducer.ValuesOf(m).Init(0), clock.Mark(0)
	for range 700 {
		m.Step(&s, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now, nil)
		now = now.Add(7_777_777)
	}
	return m, s, now.Add(time.Second)
}

var rising = limiter.Config{Count: 10, Period: time.Second, Burst: 3, WarmUp: limiter.WarmUp{Over: 30 * time.Second, Factor: 5}}

// TestRefundsKeepWarmth asks a bucket that cools down 5,000 times and takes all permits
// back: it is as warm, to the nanosecond, as one without calls.
func TestRefundsKeepWarmth(t *testing.T) {
	m, s, now := warmed(t, rising)
	quiet := reducer.ValuesOf(m).Clone(s)
	ask := func(s *limiter.State) {
		answer := m.Step(s, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now, nil)
		if answer.Verdict != reducer.Admit {
			t.Fatalf("at %v: %v", now, answer)
		}
		m.Step(s, reducer.Action{Kind: reducer.Cancel, Cost: 1, Permit: answer.Permit}, now, nil)
	}
	for range 5_000 {
		ask(&s)
		now = now.Add(333_333)
	}
	ask(&s)
	ask(&quiet)
	if asked, want := m.Encode(nil, &s), m.Encode(nil, &quiet); !bytes.Equal(asked, want) {
		t.Errorf("asked %x, not asked %x", asked, want)
	}
}

// TestConfigureKeepsWarmth changes the rate of a full bucket 1,000 times: it is as warm as one that
// keeps its configuration.
func TestConfigureKeepsWarmth(t *testing.T) {
	m, s, now := warmed(t, rising)
	kept := reducer.ValuesOf(m).Clone(s)
	faster := rising
	faster.Count = 11
	other, err := limiter.New(faster)
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		now = now.Add(1_234_567)
		s = reducer.ValuesOf(other).Adopt(s, m, now, nil)
		s = reducer.ValuesOf(m).Adopt(s, other, now.Add(345_678), nil)
	}
	now = now.Add(345_678)
	for range 20 {
		ask := reducer.Action{Kind: reducer.TryAcquire, Cost: 1}
		changed, same := m.Step(&s, ask, now, nil), m.Step(&kept, ask, now, nil)
		if changed.Verdict != same.Verdict || changed.Mark != same.Mark {
			t.Fatalf("at %v: reconfigured %v %v, else %v %v", now, changed.Verdict, changed.Mark, same.Verdict, same.Mark)
		}
		now = now.Add(50_000_000)
	}
}
