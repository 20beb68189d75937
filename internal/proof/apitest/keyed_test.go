package apitest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
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

// TestFullStep fills a step with keys: a new one takes the cell of the least
// recently used, or shares a cell with other new ones.
func TestFullStep(t *testing.T) {
	for full, want := range map[string]struct {
		newest, oldest    bool
		evictions, shared uint64
	}{
		"evict": {newest: true, oldest: true, evictions: 4},
		"share": {shared: 3},
	} {
		p := guarded(t, []string{"limit: {rate: 2/1h, per: key, keys: 10, when_full: " + full + "}"})
		var events []string
		p.Listen(func(e sluice.Event) {
			if e.Kind == sluice.EventFull {
				events = append(events, e.Step+" "+e.Key)
			}
		})
		for i := range 10 {
			require.NoError(t, keyed(p, strconv.Itoa(i)))
			require.NoError(t, keyed(p, strconv.Itoa(i)))
		}
		require.NoError(t, keyed(p, "new"))
		require.NoError(t, keyed(p, "newer"))
		assert.Equal(t, want.newest, keyed(p, "newest") == nil, full)
		require.ErrorIs(t, keyed(p, "9"), sluice.ErrRejected, "it was used of late")
		assert.Equal(t, want.oldest, keyed(p, "0") == nil, full)
		s := state(t, p, "limit")
		assert.Len(t, events, 1, "the first time alone")
		assert.Equal(t, 10, s.Keys)
		assert.Equal(t, want.evictions, s.Evictions, full)
		assert.Equal(t, want.shared, s.Shared, full)
	}
}

// TestFullCellsAreKept has a cell that has all its permits back keep them when a
// larger burst comes, as long as there is room for other keys.
func TestFullCellsAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 5/1s, per: key, keys: 10}"})
		require.NoError(t, keyed(p, "a"))
		time.Sleep(time.Minute)
		require.NoError(t, keyed(p, "b"))
		set, _ := loaded(t, "limit: {rate: 10/1h, per: key, keys: 10}")
		require.NoError(t, p.Configure(set.Document().Policies[0].Policy))
		for range 5 {
			require.NoError(t, keyed(p, "a"))
		}
		require.ErrorIs(t, keyed(p, "a"), sluice.ErrRejected)
		for range 10 {
			require.NoError(t, keyed(p, "c"))
		}
	})
}

// TestMaxKeys has the option lower the keys of a step, and not raise them.
func TestMaxKeys(t *testing.T) {
	for _, c := range []struct{ option, keys, want int }{{3, 10, 3}, {10, 3, 3}} {
		p := guarded(t, []string{fmt.Sprintf("limit: {rate: 2/1h, per: key, keys: %d}", c.keys)}, sluice.WithMaxKeys(c.option))
		for i := range 20 {
			require.NoError(t, keyed(p, strconv.Itoa(i)))
		}
		assert.Equal(t, c.want, state(t, p, "limit").Keys)
	}
}

// TestBytesOfKeys floods a step with long keys: its memory is bounded.
func TestBytesOfKeys(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 2/1h, per: key, keys: 10000}"})
	for i := range 10_000 {
		require.NoError(t, keyed(p, strconv.Itoa(i)+strings.Repeat("x", 8_000)))
	}
	s := state(t, p, "limit")
	assert.Less(t, s.Bytes, uint64(8_000_000))
	assert.Greater(t, s.Keys, 500)
	assert.EqualValues(t, 10_000, uint64(s.Keys)+s.Evictions)
}

// TestEvictionIsUnobservable compares a step that keeps few keys with one that keeps
// all: while no new key needs an eviction, both decide the same.
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
			})
		})
	}
}

// TestHeldKeysStay has a probe, a place and a waiter keep the cells of their keys
// while other keys come: these share the spare cell.
func TestHeldKeysStay(t *testing.T) {
	for step, enter := range map[string]func(t *testing.T, p *sluice.Pipeline, work func(context.Context) (int, error)){
		"breaker: {window: {consecutive: 1}, open: 1s, probes: 1, per: key, keys: 1}": func(t *testing.T, p *sluice.Pipeline, work func(context.Context) (int, error)) {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "held"}, fails)
			require.ErrorIs(t, err, errBoom)
			time.Sleep(time.Second)
			_, err = sluice.DoWith(t.Context(), p, sluice.Request{Key: "held"}, work)
			require.NoError(t, err)
		},
		"bulkhead: {concurrent: 1, per: key, keys: 1}": func(t *testing.T, p *sluice.Pipeline, work func(context.Context) (int, error)) {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "held"}, work)
			require.NoError(t, err)
		},
		"limit: {rate: 1/1h, burst: 1, wait: 2h, per: key, keys: 1}": func(t *testing.T, p *sluice.Pipeline, work func(context.Context) (int, error)) {
			require.NoError(t, keyed(p, "held"))
			waiting := make(chan error)
			go func() { waiting <- keyed(p, "held") }()
			synctest.Wait()
			_, _ = work(t.Context())
			require.NoError(t, <-waiting)
		},
	} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, []string{step})
			name := stepsOf(p)[0].Name
			enter(t, p, func(context.Context) (int, error) {
				held := state(t, p, name)
				assert.Equal(t, 1, held.InUse, step)
				require.NoError(t, keyed(p, "b"))
				now := state(t, p, name)
				assert.Equal(t, held.Evictions, now.Evictions, step)
				assert.Equal(t, held.Shared+1, now.Shared, step)
				return 0, nil
			})
			require.NoError(t, keyed(p, "c"))
			after := state(t, p, name)
			assert.Zero(t, after.InUse+after.Waiting, step)
			assert.Equal(t, 1, after.Keys)
		})
	}
}

// TestHeldKeysAreReleasedInTime has a lease run out and a probe not report: another
// key gets the cell from then on, whether or not the first key is used again.
func TestHeldKeysAreReleasedInTime(t *testing.T) {
	for _, step := range []string{
		"bulkhead: {concurrent: 1, lease: 1s, per: key, keys: 1}",
		"breaker: {window: {consecutive: 1}, open: 1s, probes: 1, per: key, keys: 1}",
	} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, []string{step})
			name := stepsOf(p)[0].Name
			if name == "breaker" {
				_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "a"}, fails)
				require.ErrorIs(t, err, errBoom)
				time.Sleep(time.Second)
			}
			held, err := p.Begin(t.Context(), sluice.Request{Key: "a"})
			require.NoError(t, err)
			require.NoError(t, keyed(p, "b"))
			assert.EqualValues(t, 1, state(t, p, name).Shared, step)
			time.Sleep(time.Second + 1)
			synctest.Wait()
			require.NoError(t, keyed(p, "c"))
			s := state(t, p, name)
			assert.EqualValues(t, 1, s.Shared, step)
			assert.EqualValues(t, 1, s.Evictions, step)
			held.Done(reducer.OK)
			held.Release()
		})
	}
}

// TestEvictedCells has calls end after their key has lost its cell: they do nothing
// to the cell that the key has then.
func TestEvictedCells(t *testing.T) {
	for step, refused := range map[string]bool{
		"breaker: {window: {consecutive: 1}, open: 1h, per: key, keys: 1}": false,
		"breaker: {window: {consecutive: 1}, open: 1h, per: key, keys: 2}": true,
	} {
		p := guarded(t, []string{step})
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "a"}, func(ctx context.Context) (int, error) {
			require.NoError(t, keyed(p, "b"))
			require.NoError(t, keyed(p, "a"))
			return fails(ctx)
		})
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, refused, keyed(p, "a") != nil, step)
	}
}

// TestAttemptsUseTheirKey has an attempt ask the cell that its key has then: the
// first cell of the key was evicted during the backoff.
func TestAttemptsUseTheirKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1h}, jitter: none}", "limit: {rate: 1/1s, burst: 1, per: key, keys: 1}"})
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

// TestKeyedCellsUnderLoad has many goroutines use a step with few keys: no place is
// granted twice, and none is lost. There are no more callers than keys, so that not
// all cells are held when a new key comes.
func TestKeyedCellsUnderLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, per: key}"}, sluice.WithMaxKeys(20))
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
		assert.LessOrEqual(t, state(t, p, "bulkhead").Keys, 20)
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
