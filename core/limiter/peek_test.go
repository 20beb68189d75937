package limiter

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// full returns a limiter whose queue is full of callers that came one after another.
func full(t testing.TB, c Config) (*Machine, *State) {
	t.Helper()
	c.Count, c.Period, c.Wait, c.Queue = 10, time.Second, time.Hour, MaxQueue
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := reducer.ValuesOf(m).Init(0)
	for caller := range uint64(MaxQueue + 10) {
		m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: caller}}, clock.Mark(caller/10*2), new(reducer.Out))
	}
	if s.Waiting() != MaxQueue {
		t.Fatalf("%d wait", s.Waiting())
	}
	return m, &s
}

// A peek at a full queue copies no waiters, also where no tick has ended their waits and none of
// them ends at this very mark, and a second one does not walk through the queue.
func TestPeekAtFullQueue(t *testing.T) {
	for _, order := range []Order{Oldest, Newest} {
		for a := range algorithms {
			m, s := full(t, Config{Algorithm: a, Order: order})
			peek := func(at clock.Mark) reducer.Answer {
				return m.Step(s, reducer.Action{Kind: reducer.Peek, Cost: 1}, at, new(reducer.Out))
			}
			first := peek(3_001)
			if again := peek(3_001); again != first {
				t.Errorf("%v, order %d: %v and then %v", a, order, first, again)
			}
			if order == Newest && !s.line.newest.holds(3_001) {
				t.Errorf("%v: the answer is not kept", a)
			}
			for _, at := range []clock.Mark{3_001, clock.Mark(time.Hour + 501), clock.Mark(2 * time.Hour)} {
				if n := testing.AllocsPerRun(5, func() { peek(at) }); n > 4 {
					t.Errorf("%v, order %d, at %v: %v allocations", a, order, at, n)
				}
			}
		}
	}
}

func BenchmarkPeek(b *testing.B) {
	for _, order := range []Order{Oldest, Newest} {
		for a := range algorithms {
			for _, at := range []clock.Mark{1, clock.Mark(2 * time.Hour)} {
				name := a.String() + []string{" oldest", " newest"}[order] + map[bool]string{true: "", false: " after all waits"}[at == 1]
				b.Run(name, func(b *testing.B) {
					m, s := full(b, Config{Algorithm: a, Order: order})
					b.ReportAllocs()
					for b.Loop() {
						m.Step(s, reducer.Action{Kind: reducer.Peek, Cost: 1}, at, new(reducer.Out))
					}
				})
			}
		}
	}
}
