package sluice

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// TestReservationsAreTheMachine reserves, cancels and asks at random, and compares
// with the machine. The limiter is one atomic word again as soon as no
// reservation may give permits back.
func TestReservationsAreTheMachine(t *testing.T) {
	words, cancelled := 0, 0
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(7, seed))
		c := limiter.Config{Count: 1, Period: time.Second, Burst: 1 + rng.Uint32N(5)}
		var source clock.Virtual
		l, err := NewLimiter(c, WithClock(&source))
		require.NoError(t, err)
		machine, err := limiter.New(c)
		require.NoError(t, err)
		state := reducer.ValuesOf(machine).Init(source.Now())
		type pair struct {
			r    Reservation
			a    reducer.Action
			turn clock.Mark
		}
		var open []pair
		until := clock.Always
		for step := range 500 {
			now, n := source.Now(), rng.Uint32N(3)
			switch rng.IntN(4) {
			case 0:
				r, err := l.Reserve(n, 5*time.Second)
				a := reducer.Action{Kind: reducer.Reserve, Cost: n, Permit: reducer.Permit{Mark: now.Add(5 * time.Second)}}
				answer := machine.Step(&state, a, now, nil)
				require.Equal(t, answer.Verdict == reducer.Admit, err == nil, "seed %d, step %d", seed, step)
				if err == nil {
					if n == 0 {
						require.Zero(t, r.Delay(), "nothing is taken")
						continue
					}
					turn := max(now, machine.ReadyAt(&state, answer.Permit))
					require.Equal(t, turn.Sub(now), r.Delay())
					open = append(open, pair{r, reducer.Action{Kind: reducer.Cancel, Cost: n, Permit: answer.Permit}, turn})
					if turn > now {
						until = max(until, turn)
					}
				}
			case 1:
				if len(open) > 0 {
					i := rng.IntN(len(open))
					open[i].r.Cancel()
					if now < open[i].turn {
						machine.Step(&state, open[i].a, now, nil)
						cancelled++
					}
					open = slices.Delete(open, i, i+1)
				}
			case 2:
				source.Advance(time.Duration(rng.Int64N(int64(3 * time.Second))))
			default:
				answer := machine.Step(&state, reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now, nil)
				require.Equal(t, answer.Verdict == reducer.Admit, l.AllowN(n), "seed %d, step %d", seed, step)
				w := l.word.Load()
				isWord := w != nil && w.tat.Load() != locked
				require.Equal(t, until <= now, isWord, "seed %d, step %d", seed, step)
				if isWord && until > clock.Always {
					words++
				}
			}
		}
	}
	assert.Greater(t, words, 500)
	assert.Greater(t, cancelled, 100)
}
