package serve

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brownOut is an upstream that is slow and then fails from one time to another.
type brownOut struct{ from, to time.Time }

func (b brownOut) RoundTrip(r *http.Request) (*http.Response, error) {
	code := 200
	if now := time.Now(); !now.Before(b.from) && now.Before(b.to) {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		code = 503
	}
	return &http.Response{StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x")), Request: r}, nil
}

// TestBrownOut is 30 seconds of a failing upstream in virtual time: who is
// refused is refused at once, nothing piles up, and afterwards all is as before.
func TestBrownOut(t *testing.T) {
	const clients, before, length = 50, 5 * time.Second, 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{
			File: "policy.yaml", Source: []byte(benchDocument), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test"}},
			Log: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		start := time.Now()
		s.transport = brownOut{start.Add(before), start.Add(before + length)}
		h := s.handler()
		idle := runtime.NumGoroutine()
		var mu sync.Mutex
		good, refused := map[time.Duration]int{}, map[time.Duration]int{} // by second
		var took []time.Duration                                          // of refusals
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				for time.Since(start) < before+length+5*time.Second {
					w := httptest.NewRecorder()
					began := time.Now()
					h.ServeHTTP(w, httptest.NewRequest("GET", "/api/x", nil))
					second := began.Sub(start).Truncate(time.Second)
					mu.Lock()
					switch {
					case w.Code == 200:
						good[second]++
					case w.Header().Get("X-Throttle-Reason") != "":
						refused[second]++
						took = append(took, time.Since(began))
					}
					mu.Unlock()
					time.Sleep(50 * time.Millisecond)
				}
			})
		}
		most := 0
		for time.Since(start) < before+length {
			time.Sleep(99 * time.Millisecond)
			// Timers that are due run their functions in goroutines that end at once.
			synctest.Wait()
			most = max(most, runtime.NumGoroutine())
		}
		all.Wait()
		for second := time.Duration(0); second < before; second += time.Second {
			assert.Greater(t, good[second], 950, "before: %s", second)
		}
		for second := before + 3*time.Second; second < before+length; second += time.Second {
			assert.Zero(t, good[second])
			assert.Greater(t, refused[second], 500, "%s", second)
		}
		for second := before + length + 2*time.Second; second < before+length+5*time.Second; second += time.Second {
			assert.Greater(t, good[second], 950, "after: %s", second)
		}
		// A refusal takes no time at all, save the refusal of a retry, which comes after
		// the attempt.
		slices.Sort(took)
		assert.Zero(t, took[len(took)*99/100])
		assert.LessOrEqual(t, most, idle+clients, "no goroutine but the callers' own")
	})
}
