package sluice_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

func keyed(p *sluice.Pipeline, key string) error {
	_, err := sluice.DoWith(context.Background(), p, sluice.Request{Key: key}, ok)
	return err
}

func TestKeysHaveCellsOfTheirOwn(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 1/1h, per: [key, ip]}"})
	call := func(key, ip string) error {
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: key, Lookup: func(string) string { return ip }}, ok)
		return err
	}
	require.NoError(t, call("a", "1"))
	require.NoError(t, call("a", "2"))
	require.NoError(t, call("a1", ""), "lists do not run into each other")
	require.NoError(t, call("", "a1"))
	require.ErrorIs(t, call("a", "1"), sluice.ErrRejected)
	require.NoError(t, keyed(p, "b"), "what is missing is the empty value")
	require.ErrorIs(t, call("b", ""), sluice.ErrRejected)
	assert.Equal(t, 5, state(t, p, "limit").Keys)
}

// TestOverflowIsStricter fills a step with keys: new ones share one cell, those
// that are known keep theirs.
func TestOverflowIsStricter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 2/1h, per: key}"}, sluice.WithMaxKeys(10))
		for i := range 10 {
			require.NoError(t, keyed(p, strconv.Itoa(i)))
		}
		require.NoError(t, keyed(p, "new"))
		require.NoError(t, keyed(p, "newer"))
		require.ErrorIs(t, keyed(p, "newest"), sluice.ErrRejected)
		require.NoError(t, keyed(p, "3"))
		require.ErrorIs(t, keyed(p, "3"), sluice.ErrRejected)
		assert.Equal(t, 10, state(t, p, "limit").Keys)
		time.Sleep(time.Hour)
		require.NoError(t, keyed(p, "newest"), "there is room for it now")
		assert.Equal(t, 10, state(t, p, "limit").Keys)
	})
}

// TestEvictionIsUnobservable compares a step that keeps few keys with one that
// keeps all: as long as no key finds the step full, they decide the same.
func TestEvictionIsUnobservable(t *testing.T) {
	for _, limit := range []string{
		"limit: {rate: 2/1s, burst: 3, per: key}", "limit: {rate: 2/1s, algorithm: fixed-window, per: key}",
		"limit: {rate: 2/1s, algorithm: sliding-counter, per: key}", "bulkhead: {concurrent: 1, per: key}",
	} {
		t.Run(limit, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				few, all := guarded(t, []string{limit}, sluice.WithMaxKeys(60)), guarded(t, []string{limit})
				refused, most := 0, 0
				for range 5_000 {
					key := strconv.Itoa(rng.IntN(200))
					want := keyed(all, key)
					got := keyed(few, key)
					require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
					if want != nil {
						refused++
					}
					time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
					most = max(most, state(t, few, stepsOf(few)[0].Name).Keys)
				}
				assert.LessOrEqual(t, most, 60)
				assert.Equal(t, 200, state(t, all, stepsOf(all)[0].Name).Keys)
			})
		})
	}
}

func TestBreakersForgetIdleKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {consecutive: 2}, open: 1h, per: key}"}, sluice.WithMaxKeys(2))
		fail := func(key string) {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: key}, fails)
			require.ErrorIs(t, err, errBoom)
		}
		fail("a")
		fail("b")
		fail("c") // shares the overflow cell
		fail("d")
		require.ErrorIs(t, keyed(p, "e"), sluice.ErrRejected)
		time.Sleep(10 * time.Minute)
		require.NoError(t, keyed(p, "e"), "in the place of one that was idle")
		assert.Equal(t, 2, state(t, p, "breaker").Keys)
	})
}

// TestCellsInUseAreKept has a call keep its cell over a long backoff, in which
// it becomes as good as new.
func TestCellsInUseAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1h}, jitter: none}", "limit: {rate: 1/1s, burst: 1, per: key}"}, sluice.WithMaxKeys(1))
		go func() { _, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: "a"}, fails) }()
		time.Sleep(time.Minute)
		require.NoError(t, keyed(p, "b"))
		time.Sleep(time.Minute)
		require.NoError(t, keyed(p, "a"))
		time.Sleep(58 * time.Minute)
		synctest.Wait()
		require.ErrorIs(t, keyed(p, "a"), sluice.ErrRejected, "the second attempt has the permit")
	})
}

// TestKeyedCellsUnderLoad has many goroutines come and go over a small step:
// no permit is lost and no cell is forgotten that is in use.
func TestKeyedCellsUnderLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, per: key}"}, sluice.WithMaxKeys(8))
		var mu sync.Mutex
		inside := map[string]int{}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(3, uint64(i)))
				for range 200 {
					key := strconv.Itoa(rng.IntN(30))
					_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: key}, func(context.Context) (int, error) {
						mu.Lock()
						inside[key]++
						assert.Equal(t, 1, inside[key])
						mu.Unlock()
						time.Sleep(time.Duration(rng.IntN(3)))
						mu.Lock()
						inside[key]--
						mu.Unlock()
						return 0, nil
					})
				}
			})
		}
		all.Wait()
		assert.LessOrEqual(t, state(t, p, "bulkhead").Keys, 8)
	})
}

// TestMissingAttributes has calls without a key share a cell, be refused, or pass.
func TestMissingAttributes(t *testing.T) {
	for missing, want := range map[string][]bool{"share": {true, false}, "deny": {false, false}, "skip": {true, true}} {
		p := guarded(t, []string{"limit: {rate: 1/1h, per: [key, ip], missing: " + missing + "}"})
		for i, passes := range want {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "a"}, ok)
			assert.Equal(t, passes, err == nil, "%s %d: %v", missing, i, err)
			var rejected *sluice.RejectedError
			if missing == "deny" && assert.ErrorAs(t, err, &rejected) {
				assert.Equal(t, sluice.ReasonMissing, rejected.Reason)
				assert.Negative(t, rejected.RetryAfter)
			}
		}
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "a", Lookup: func(string) string { return "b" }}, ok)
		require.NoError(t, err)
	}
}
