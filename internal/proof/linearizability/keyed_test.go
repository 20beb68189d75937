package linearizability

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// keyedLimiter are the operations of a keyed limiter that the histories use.
type keyedLimiter struct {
	allow func(key string, n uint32) bool
	keys  []string
}

var letters = []string{"a", "b", "c", "d", "e"}

// keying plays a limiter for each key that keeps some keys at the most, with a
// defect or without.
func keying(algorithm limiter.Algorithm, most int, defect func(*keyedLimiter)) scenario {
	return func(h *history) *model {
		c := limiter.Config{Algorithm: algorithm, Count: 1 + h.rng.Uint32N(2), Period: time.Duration(1+h.rng.IntN(2)) * unit}
		c.Period *= time.Duration(c.Count)
		if algorithm == limiter.TokenBucket {
			c.Burst = 1 + h.rng.Uint32N(2)
		}
		h.config = c
		l, err := sluice.NewKeyedLimiter(c, sluice.WithClock(h), sluice.WithMaxKeys(most))
		if err != nil {
			panic(err)
		}
		runner := &keyedLimiter{l.AllowN, letters[:1+h.rng.IntN(len(letters))]}
		if defect != nil {
			defect(runner)
		}
		h.play(runner.client)
		m := &model{cells: []cell{loneCell(c)}}
		// A key that is used again after its eviction starts as new.
		m.void = l.Evictions() > 0
		return m
	}
}

func (k *keyedLimiter) client(c *client) {
	for range 7 {
		c.rest()
		n, key := 1+c.rng.Uint32N(2), k.keys[c.rng.IntN(len(k.keys))]
		s := c.enter()
		ok := k.allow(key, n)
		c.exit(&s)
		one := asks(0, c.request(), reducer.TryAcquire, n, seen{verdict: verdict(ok)})
		one.key = key
		c.record(s, one)
	}
}

func TestKeyedLimiter(t *testing.T) {
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			for name, most := range map[string]int{"some keys": 2, "one key": 1, "all keys": 1_000} {
				t.Run(name, func(t *testing.T) {
					t.Run("bubble", func(t *testing.T) { linearizable(t, bubbles, 200, keying(a, most, nil)) })
					t.Run("clock", func(t *testing.T) {
						linearizable(t, virtual, 300, keying(a, most, nil))
					})
				})
			}
		})
	}
}

// TestKeyedLimiterDefects plants defects in the runner.
func TestKeyedLimiterDefects(t *testing.T) {
	for name, plant := range map[string]func(k *keyedLimiter){
		"grants one permit too many": func(k *keyedLimiter) {
			allow, spare := k.allow, &once{}
			k.allow = func(key string, n uint32) bool { return allow(key, n) || key == "a" && spare.first() }
		},
		"forgets a key that is not full": func(k *keyedLimiter) {
			allow, n := k.allow, &once{}
			k.allow = func(key string, cost uint32) bool {
				if key == "b" && n.first() {
					key = "another"
				}
				return allow(key, cost)
			}
		},
		"confuses two keys": func(k *keyedLimiter) {
			allow := k.allow
			k.allow = func(key string, n uint32) bool {
				if key == "b" {
					key = "a"
				}
				return allow(key, n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, a := range algorithms {
				caught(t, bubbles, 3_000, keying(a, 1_000, plant))
				caught(t, virtual, 3_000, keying(a, 1_000, plant))
			}
		})
	}
}

// TestOldMarksMintNothing has a caller read the clock and use its cell after the cell
// was forgotten at a later mark.
func TestOldMarksMintNothing(t *testing.T) {
	at := clock.Mark(0)
	p, err := sluice.New(pipeline.Policy{Steps: []pipeline.Step{
		{Config: limiter.Config{Count: 1, Period: 10}, Per: []string{"key"}},
	}}, sluice.WithClock(source(func() clock.Mark { return at })), sluice.WithMaxKeys(1))
	if err != nil {
		t.Fatal(err)
	}
	took := 0
	for _, c := range []struct {
		key string
		at  clock.Mark
	}{{"a", 50}, {"b", 65}, {"a", 50}, {"a", 65}} {
		at = c.at
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: c.key}, func(context.Context) (int, error) { return 0, nil })
		if err == nil && c.key == "a" {
			took++
		}
	}
	if took > 2 {
		t.Errorf("%d permits of a key from 50 to 65, with one for 10", took)
	}
}

type source func() clock.Mark

func (s source) Now() clock.Mark { return s() }
