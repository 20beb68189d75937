package limiter_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// A state is eight words.
func TestStateSize(t *testing.T) {
	if size := reflect.TypeFor[limiter.State]().Size(); size > 64 {
		t.Errorf("a state takes %d bytes", size)
	}
}

// Encoded, a limiter without waiters takes at most 64 bytes, header included,
// whatever its history; a log 24 and 8 for each mark.
func TestEncodedSize(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	for a := range limiter.Algorithms {
		longest := 0
		for _, period := range []time.Duration{time.Nanosecond * 1000, time.Second, time.Hour, 365 * 24 * time.Hour} {
			m, err := limiter.New(limiter.Config{Algorithm: a, Count: 1000, Period: period, Wait: period, Queue: 20})
			if err != nil {
				t.Fatal(err)
			}
			now := clock.Mark(r.Int64())
			s := reducer.ValuesOf(m).Init(now)
			var out reducer.Out
			for range 3_000 {
				switch r.IntN(400) {
				case 0:
					m.Step(&s, reducer.Action{Kind: reducer.Reset}, now, &out)
				case 1:
					m.Step(&s, reducer.Action{Kind: reducer.Drain}, now, &out)
				}
				now = now.Add(time.Duration(r.Int64N(int64(period)/500 + 1)))
				m.Step(&s, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now, &out)
				size := len(m.Encode(nil, &s))
				if a == limiter.SlidingLog {
					size -= 24 + 8*s.Log().Len() - 64
				}
				longest = max(longest, size)
			}
		}
		t.Logf("%v: at most %d bytes", a, longest)
		if longest > 64 {
			t.Errorf("%v: %d bytes", a, longest)
		}
	}
}

// An empty queue takes no memory, whatever its history, and neither do marks of a log
// that no longer count, after the next admission (G20).
func TestShrinks(t *testing.T) {
	for a := range limiter.Algorithms {
		m, err := limiter.New(limiter.Config{Algorithm: a, Count: 10_000, Period: time.Second, Wait: time.Hour, Queue: limiter.MaxQueue})
		if err != nil {
			t.Fatal(err)
		}
		s, now := reducer.ValuesOf(m).Init(0), clock.Mark(0)
		var out reducer.Out
		for n := range uint64(20_000) {
			now++
			m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: n}}, now, &out)
		}
		long := len(m.Encode(nil, &s))
		for now += clock.Mark(2 * time.Hour); s.Waiting() > 0; {
			m.Step(&s, reducer.Action{Kind: reducer.Tick}, now, &out)
		}
		m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, now, &out)
		if short := len(m.Encode(nil, &s)); long < 10_000 || short > 64 {
			t.Errorf("%v: with a queue %d bytes, then %d", a, long, short)
		}
	}
}
