package limiter

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The computed turns of a queue, which are kept from step to step, equal turns that
// are computed again, whatever happened in between.
func TestForeseenAnew(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	kept := 0
	for range 600 {
		c := Config{Algorithm: FixedWindow + Algorithm(r.IntN(3)), Count: 1 + r.Uint32N(4), Period: time.Duration(1 + r.IntN(20)), Wait: 200, Queue: 12}
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		s, now := reducer.ValuesOf(m).Init(0), clock.Mark(0)
		var out reducer.Out
		var permits []reducer.Permit
		for n := range uint64(80) {
			a := reducer.Action{Kind: reducer.Acquire, Cost: 1 + r.Uint32N(c.Count), Permit: reducer.Permit{ID: n}}
			switch k := r.IntN(20); {
			case k < 3:
				now += clock.Mark(r.IntN(5))
				a = reducer.Action{Kind: reducer.Tick}
			case k < 8:
				if at := m.Due(&s).Wake; at != clock.Never {
					now = max(now, at)
				}
				a = reducer.Action{Kind: reducer.Serve}
			case k == 8 && len(permits) > 0:
				a = reducer.Action{Kind: reducer.Cancel, Cost: 1, Permit: permits[r.IntN(len(permits))]}
			case k == 9:
				a = reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: 1 + r.Uint64N(max(1, s.Queue().Tickets()))}}
			case k == 10:
				a = reducer.Action{Kind: reducer.Drain}
			case k == 11 && len(permits) > 0:
				a = reducer.Action{Kind: reducer.Settle, Cost: 1, Value: r.Uint64N(3), Permit: permits[r.IntN(len(permits))]}
			}
			if answer := m.Step(&s, a, now, &out); answer.Verdict == reducer.Admit {
				permits = append(permits, answer.Permit)
			}
			if s.Waiting() == 0 {
				continue
			}
			if s.line.tail.known && now <= s.line.tail.head {
				kept++
			}
			anew := reducer.ValuesOf(m).Clone(s)
			for cost := uint32(1); cost <= c.Count; cost++ {
				if got, want := m.turnBehind(&s, cost, now), m.turnBehind(&anew, cost, now); got != want {
					t.Fatalf("seed %d: %+v: after %v at %v a cost of %d has its turn at %v, anew at %v", seed, c, a, now, cost, got, want)
				}
			}
		}
	}
	if kept < 1_000 {
		t.Errorf("only %d times something was kept", kept)
	}
}

// The work of a refusal does not grow with the queue (G19): turns that were computed
// once are used again, and neither another refusal nor serving the queue on time
// computes them again.
func TestRefusalsAreForeseenOnce(t *testing.T) {
	for a := FixedWindow; a <= SlidingLog; a++ {
		m, err := New(Config{Algorithm: a, Count: 3, Period: time.Second, Wait: time.Hour, Queue: 1_000})
		if err != nil {
			t.Fatal(err)
		}
		s := reducer.ValuesOf(m).Init(0)
		var out reducer.Out
		acquire := reducer.Action{Kind: reducer.Acquire, Cost: 2}
		for m.Step(&s, acquire, 0, &out).Verdict != reducer.Reject {
		}
		if s.Waiting() != 1_000 || !s.line.tail.known {
			t.Fatalf("%v: %d wait", a, s.Waiting())
		}
		const planted = clock.Mark(48 * time.Hour)
		s.line.tail.at = planted // the caller that asks gets this mark
		for range 3 {
			if answer := m.Step(&s, acquire, 0, &out); answer.Mark < planted.Add(-time.Hour) {
				t.Errorf("%v: a refusal foresaw the queue anew: %v", a, answer)
			}
			if at := m.Due(&s).Wake; m.Step(&s, reducer.Action{Kind: reducer.Serve}, at, &out).Verdict != reducer.Done || !s.line.tail.known {
				t.Errorf("%v: serving on time at %v forgets what was foreseen", a, at)
			}
		}
	}
}

// A state at which no caller has ever waited has no queue, also where it is read from
// bytes: only a limiter with waiters needs its memory.
func TestDecodedWithoutAQueue(t *testing.T) {
	m, err := New(Config{Count: 1, Period: time.Second, Wait: time.Hour, Queue: 5})
	if err != nil {
		t.Fatal(err)
	}
	s, err := reducer.ValuesOf(m).DecodeState(reducer.ValuesOf(m).AppendState(nil, reducer.ValuesOf(m).Init(5)))
	if err != nil || s.line != nil {
		t.Errorf("%v, a queue %v", err, s.line)
	}
	s = reducer.ValuesOf(m).Init(5)
	var out reducer.Out
	for range 2 {
		m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, 5, &out)
	}
	if s, err = reducer.ValuesOf(m).DecodeState(m.Encode(nil, &s)); err != nil || s.Waiting() != 1 {
		t.Errorf("%v, %d wait", err, s.Waiting())
	}
}
