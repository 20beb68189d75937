package limiter_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// A Bucket answers as a limiter without a queue does, and has the same states, also
// those of damaged bytes.
func TestBucketIsALimiter(t *testing.T) {
	seed := testenv.Seed()
	kinds := [...]reducer.Kind{
		reducer.Acquire, reducer.Acquire, reducer.TryAcquire, reducer.TryAcquire, reducer.Peek, reducer.Cancel, reducer.Cancel,
		reducer.Reset, reducer.Tick, reducer.Commit, reducer.Release, reducer.Leave, reducer.Serve, reducer.Record,
	}
	verdicts, restored := map[reducer.Verdict]int{}, 0
	for n := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, n))
		c := limiter.Config{Count: 1 + r.Uint32N(5), Period: time.Duration(5 + r.IntN(40)), Burst: r.Uint32N(7)}
		m, err := limiter.New(c)
		if err != nil {
			t.Fatal(err)
		}
		arithmetic, err := tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst})
		if err != nil {
			t.Fatal(err)
		}
		now := clock.Mark(r.IntN(100))
		s, b := reducer.ValuesOf(m).Init(now), limiter.NewBucket(arithmetic, now)
		var permits []reducer.Permit
		for step := range 200 {
			switch r.IntN(400) {
			case 0:
				now = clock.Never - 1
			case 1, 2, 3, 4, 5, 6, 7, 8:
				now = now.Add(-9)
			default:
				now = now.Add(time.Duration(r.IntN(12)))
			}
			a := reducer.Action{Kind: kinds[r.IntN(len(kinds))], Cost: r.Uint32N(8), Permit: reducer.Permit{Generation: r.Uint64N(3), ID: r.Uint64N(100)}}
			if len(permits) > 0 && r.IntN(8) > 0 {
				a.Permit = permits[r.IntN(len(permits))]
			}
			want := m.Step(&s, a, now, new(reducer.Out))
			var got reducer.Answer
			b.Step(&got, a.Kind, a.Cost, &a.Permit, now)
			if got != want {
				t.Fatalf("seed %d, history %d, step %d: %+v at %v of %+v: %+v, a limiter %+v", seed, n, step, a, now, c, got, want)
			}
			verdicts[got.Verdict]++
			if got.Verdict == reducer.Admit && a.Kind != reducer.Peek {
				permits = append(permits, got.Permit)
			}
			src := m.Encode(nil, &s)
			if same := b.AppendState(nil); !bytes.Equal(same, src) || len(src) > limiter.BucketSize {
				t.Fatalf("seed %d, history %d, step %d: the state is %x, of a limiter %x", seed, n, step, same, src)
			}
			if r.IntN(16) == 0 {
				// The permits from before are void in both, or none is.
				permits = nil
				c = limiter.Config{Count: 1 + r.Uint32N(5), Period: time.Duration(5 + r.IntN(40)), Burst: r.Uint32N(7)}
				next, err := limiter.New(c)
				if err != nil {
					t.Fatal(err)
				}
				if arithmetic, err = tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst}); err != nil {
					t.Fatal(err)
				}
				s = reducer.ValuesOf(next).Adopt(s, m, now, new(reducer.Out))
				m = next
				b.Adopt(arithmetic, now)
				continue
			}
			if r.IntN(4) > 0 {
				continue
			}
			if r.IntN(2) == 0 {
				src[r.IntN(len(src))] ^= 1 << r.IntN(8)
			}
			by := time.Duration(r.IntN(3) - 1)
			next, err := reducer.ValuesOf(m).DecodeState(src)
			waited := err == nil && next.Queue().Tickets() > 0
			if ok := b.Restore(src, by); ok != (err == nil && !waited) {
				t.Fatalf("seed %d, history %d, step %d: %x is restored: %v, of a limiter: %v", seed, n, step, src, ok, err)
			} else if ok {
				s = reducer.ValuesOf(m).Shift(next, by)
				restored++
			}
		}
	}
	for _, v := range [...]reducer.Verdict{reducer.Stale, reducer.Done, reducer.Admit, reducer.Reject} {
		if verdicts[v] < 1000 {
			t.Errorf("the verdict %v comes %d times alone", v, verdicts[v])
		}
	}
	if restored < 1000 {
		t.Errorf("%d states are restored", restored)
	}
}
