package apitest_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// lasting has a step of every kind that a snapshot keeps, and one that it does not.
var lasting = []string{
	"retry: {attempts: 2, backoff: none, budget: {ratio: 10%, minimum: 2/10s, window: 10s}}",
	"breaker: {window: {calls: 10}, minimum: 4, open: 1h}",
	"limit: {rate: 20/1h}",
	"limit: {name: window, rate: 20/1h, algorithm: fixed-window, wait: 1s}",
	"limit: {name: sliding, rate: 5/1h, algorithm: sliding-counter, per: key, keys: 1000}",
	"bulkhead: 3",
}

// used returns a pipeline with some past.
func used(t *testing.T, source *clock.Virtual) *sluice.Pipeline {
	p := guarded(t, lasting, sluice.WithClock(source))
	for i := range 9 {
		_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: strconv.Itoa(i % 3)}, ok)
		source.Advance(time.Millisecond)
	}
	_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: "0"}, fails)
	return p
}

func TestSnapshotGoesOnInAnotherProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, origin := range []clock.Mark{0, -1 << 40, 1 << 60, -1 << 60} {
			var here, there clock.Virtual
			here.Advance(time.Hour)
			p := used(t, &here)
			saved := p.Snapshot()
			time.Sleep(10 * time.Minute) // on the wall clock that both processes share
			here.Advance(10 * time.Minute)

			q := guarded(t, lasting, sluice.WithClock(shifted{&there, origin}))
			require.NoError(t, q.Restore(saved))
			for i := range 60 {
				key := strconv.Itoa(i % 3)
				call := func(p *sluice.Pipeline, fn func(context.Context) (int, error)) string {
					_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: key}, fn)
					if err == nil {
						return ""
					}
					return err.Error()
				}
				fn := ok
				if i%5 == 4 {
					fn = fails
				}
				require.Equal(t, call(p, fn), call(q, fn), "call %d", i)
				here.Advance(3 * time.Minute)
				there.Advance(3 * time.Minute)
			}
		}
	})
}

// shifted is a source of another origin.
type shifted struct {
	source clock.Source
	by     clock.Mark
}

func (s shifted) Now() clock.Mark { return s.source.Now() + s.by }

func TestSnapshotIsStable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var source clock.Virtual
		p := used(t, &source)
		saved := p.Snapshot()
		q := guarded(t, lasting, sluice.WithClock(&source))
		require.NoError(t, q.Restore(saved))
		assert.Equal(t, saved, q.Snapshot())
		require.NoError(t, p.Restore(saved))
		assert.Equal(t, saved, p.Snapshot())
	})
}

func TestCorruptSnapshotsChangeNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var source clock.Virtual
		saved := used(t, &source).Snapshot()
		q := guarded(t, lasting, sluice.WithClock(&source))
		fresh := q.Snapshot()
		bad := func(src []byte) {
			t.Helper()
			require.ErrorIs(t, q.Restore(src), sluice.ErrSnapshot)
			require.Equal(t, fresh, q.Snapshot())
		}
		for n := range len(saved) {
			bad(saved[:n])
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range saved {
			src := slices.Clone(saved)
			src[i] ^= byte(1 + rng.IntN(255))
			bad(src)
		}
		bad(append(slices.Clone(saved), 0))
		bad([]byte("sluice"))
	})
}

// TestForgedSnapshots restores wrong contents with a correct checksum: nothing panics.
func TestForgedSnapshots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var source clock.Virtual
		saved := used(t, &source).Snapshot()
		rng := rand.New(rand.NewPCG(1, 1))
		for range 5_000 {
			src := slices.Clone(saved)
			for range 1 + rng.IntN(4) {
				src[1+rng.IntN(len(src)-5)] ^= byte(1 + rng.IntN(255))
			}
			q := guarded(t, lasting, sluice.WithClock(&source))
			_ = q.Restore(sealed(src[:len(src)-4]))
			_, _ = sluice.DoWith(t.Context(), q, sluice.Request{Key: "0"}, fails)
			q.State()
		}
	})
}

func TestRestoreUnderASimilarPolicy(t *testing.T) {
	p := guarded(t, []string{"limit: 5/1h", "limit: {name: b, rate: 5/1h, wait: 1m}", "limit: {name: c, rate: 5/1h}", "limit: {name: d, rate: 5/1h}", "breaker: {name: e, window: {consecutive: 1}, open: 1h}"})
	require.NoError(t, do(p, ok))
	require.Error(t, do(p, fails))
	q := guarded(t, []string{"limit: {rate: 5/1h, wait: 1m}", "limit: {name: b, rate: 5/1h}", "limit: {name: c, rate: 5/1h, algorithm: fixed-window}", "limit: {name: x, rate: 5/1h}", "bulkhead: {name: e, concurrent: 5}"})
	require.NoError(t, q.Restore(p.Snapshot()))
	assert.EqualValues(t, 3, state(t, q, "limit").Free)
	assert.EqualValues(t, 3, state(t, q, "b").Free)
	assert.EqualValues(t, 5, state(t, q, "c").Free, "another algorithm")
	assert.EqualValues(t, 5, state(t, q, "x").Free)
	assert.EqualValues(t, 5, state(t, q, "e").Free)
}

func TestRestoreLeavesOutKeysBeyondTheMaximum(t *testing.T) {
	steps := []string{"limit: {rate: 1/1h, per: key}"}
	p := guarded(t, steps)
	for i := range 10 {
		require.NoError(t, keyed(p, strconv.Itoa(i)))
	}
	q := guarded(t, steps, sluice.WithMaxKeys(4))
	require.NoError(t, q.Restore(p.Snapshot()))
	assert.Equal(t, 4, state(t, q, "limit").Keys)
	require.NoError(t, keyed(q, "new"), "the shared cell keeps its own state")
}

func TestRestoreUnderWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 2", "limit: {rate: 1/1h, burst: 1, wait: 9h}"})
		saved := p.Snapshot()
		require.NoError(t, do(p, ok))
		var waited error
		go func() { waited = do(p, ok) }()
		synctest.Wait()
		require.NoError(t, p.Restore(saved))
		synctest.Wait()
		require.ErrorIs(t, waited, sluice.ErrRejected)
		assert.Zero(t, state(t, p, "limit").Waiting)
		assert.EqualValues(t, 2, state(t, p, "bulkhead").Free)
		require.NoError(t, do(p, ok))
	})
}

// sealed returns the content of a snapshot with its checksum.
func sealed(content []byte) []byte {
	return binary.LittleEndian.AppendUint32(content, crc32.ChecksumIEEE(content))
}

// TestRestoreKeepsPlaces restores a pipeline in which a call holds places: they stay
// held until the call returns them.
func TestRestoreKeepsPlaces(t *testing.T) {
	for _, step := range []string{
		"bulkhead: 1", "bulkhead: {concurrent: 1, per: key}",
		"adaptive: {initial: 1, minimum: 1, maximum: 1}", "adaptive: {initial: 1, minimum: 1, maximum: 1, per: key}",
	} {
		p := guarded(t, []string{step})
		empty := p.Snapshot()
		held, err := p.Begin(t.Context(), sluice.Request{Key: "a"})
		require.NoError(t, err, step)
		for _, saved := range [][]byte{empty, p.Snapshot()} {
			require.NoError(t, p.Restore(saved))
			require.ErrorIs(t, keyed(p, "a"), sluice.ErrRejected, step)
		}
		held.Done(reducer.OK)
		held.Release()
		require.NoError(t, keyed(p, "a"), step)
	}
}

// TestSnapshotKeepsBlocks: a key that an operator blocked stays blocked for the rest of its
// time, which goes on between the processes.
func TestSnapshotKeepsBlocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var here, there clock.Virtual
		here.Advance(time.Hour)
		steps := []string{"limit: {rate: 100/1s, per: key}"}
		p := guarded(t, steps, sluice.WithClock(&here))
		require.NoError(t, p.Step("limit").Key("mallory").Block(time.Hour))
		require.NoError(t, p.Step("limit").Key("eve").Block(10*time.Minute))
		saved := p.Snapshot()
		time.Sleep(20 * time.Minute) // on the wall clock
		q := guarded(t, steps, sluice.WithClock(&there))
		require.NoError(t, q.Restore(saved))
		list, err := q.Step("limit").Blocked()
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, sluice.BlockedKey{Key: "mallory", Values: []string{"mallory"}, Left: 40 * time.Minute}, list[0])
		_, err = sluice.DoWith(t.Context(), q, sluice.Request{Key: "mallory"}, ok)
		var refused *sluice.RejectedError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, reducer.ReasonBlocked, refused.Reason)
		assert.Equal(t, q.Snapshot(), q.Snapshot())
	})
}
