package apitest_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

func numbersOf(events []sluice.RecordedEvent) (numbers []uint64) {
	for _, e := range events {
		numbers = append(numbers, e.Number)
	}
	return numbers
}

func TestRecent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := sluice.NewRecent(3)
		assert.Empty(t, r.Events())
		l := limited(t, rate(2, time.Hour))
		l.Listen(r.Observe)
		l.Allow()
		assert.Equal(t, []uint64{1}, numbersOf(r.Events()))
		for range 4 {
			time.Sleep(time.Minute)
			l.Allow()
		}
		events := r.Events()
		assert.Equal(t, []uint64{3, 4, 5}, numbersOf(events))
		assert.Equal(t, 2*time.Minute, events[2].Time.Sub(events[0].Time))
		assert.Equal(t, "00:04:00.000 limit: rejected: rate, retry after 26m0s", events[2].String()[:len("00:04:00.000 ")]+strings.SplitN(events[2].String(), " ", 2)[1])
		src, err := json.Marshal(events[2])
		require.NoError(t, err)
		assert.Contains(t, string(src), `"number":5,"time":"2000-01-01T00:04:00Z","event":{"decision":"reject","step":"limit","reason":"rate","retry_after":"26m0s"}`[:50])
	})
}

func TestRecentDropsContexts(t *testing.T) {
	r, s, p := sluice.NewRecent(0), sluice.NewStream(2), guarded(t, []string{"limit: 9/1s"})
	p.Listen(r.Observe)
	p.Listen(s.Observe)
	require.NoError(t, do(p, ok))
	events := r.Events()
	require.Len(t, events, 2)
	assert.Nil(t, events[0].Event.Context)
	for e := range s.Events(t.Context()) {
		assert.Nil(t, e.Event.Context)
		break
	}
}

// TestFollow has a stream begin with the kept events and go on with those to come.
func TestFollow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := sluice.NewRecent(2)
		for range 3 {
			r.Observe(sluice.Event{})
		}
		s := r.Follow(0, 2)
		late := r.Follow(3, 1)
		defer late.Stop()
		assert.Empty(t, numbersOf(r.Events()[2:]))
		var numbers []uint64
		over := false
		go func() {
			for e := range s.Events(t.Context()) {
				numbers = append(numbers, e.Number)
			}
			over = true
		}()
		synctest.Wait()
		r.Observe(sluice.Event{})
		synctest.Wait()
		assert.Equal(t, []uint64{2, 3, 4}, numbers)
		s.Stop()
		s.Stop()
		synctest.Wait()
		assert.True(t, over)
		r.Observe(sluice.Event{})
		assert.Zero(t, s.Dropped())
		assert.EqualValues(t, 1, late.Dropped())
		for e := range late.Events(t.Context()) {
			assert.EqualValues(t, 4, e.Number)
			break
		}
	})
}

func TestStreamDropsWhatFindsItFull(t *testing.T) {
	s := sluice.NewStream(2)
	for range 5 {
		s.Observe(sluice.Event{})
	}
	assert.EqualValues(t, 3, s.Dropped())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var numbers []uint64
	for e := range s.Events(ctx) {
		numbers = append(numbers, e.Number)
		if len(numbers) == 2 {
			s.Observe(sluice.Event{})
		}
		if len(numbers) == 3 {
			cancel()
		}
	}
	assert.Equal(t, []uint64{1, 2, 6}, numbers)
}

// TestFollowWhileEventsCome has streams begin while events come: none of them has a gap
// or an event twice.
func TestFollowWhileEventsCome(t *testing.T) {
	const events = 500
	r := sluice.NewRecent(events)
	var writers, readers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range events / 4 {
				r.Observe(sluice.Event{})
			}
		})
		readers.Go(func() {
			s := r.Follow(0, events)
			defer s.Stop()
			next := uint64(1)
			for e := range s.Events(t.Context()) {
				if e.Number != next {
					t.Errorf("event %d in place of %d", e.Number, next)
					return
				}
				if next++; next > events {
					return
				}
			}
		})
	}
	writers.Wait()
	readers.Wait()
}

// TestStreamNumbersInOrder has events come on several goroutines: a gap in the numbers is
// where the stream dropped events, and nowhere else.
func TestStreamNumbersInOrder(t *testing.T) {
	const writers, events = 8, 5000
	s := sluice.NewStream(writers * events)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range events {
				s.Observe(sluice.Event{})
			}
		})
	}
	all.Wait()
	next := uint64(1)
	for e := range s.Events(t.Context()) {
		require.Equal(t, next, e.Number)
		if next++; next > writers*events {
			break
		}
	}
}
