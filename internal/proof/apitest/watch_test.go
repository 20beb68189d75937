package apitest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

func limitOf(name string, burst int) string {
	return fmt.Sprintf("version: 1\npolicies: {%s: {steps: [limit: {rate: 1/1h, burst: %d}]}}\n", name, burst)
}

// TestWatch changes a file under a set: in the clock of the bubble, for the file is looked at by
// a ticker.
func TestWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		var size int64
		write := func(text string) {
			t.Helper()
			size += 1000 // a time that differs whatever the clock of the file system
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			require.NoError(t, os.Chtimes(file, time.Unix(size, 0), time.Unix(size, 0)))
		}
		write(limitOf("api", 5))
		var log bytes.Buffer
		set, err := sluice.Load(file, sluice.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		write(limitOf("api", 2)) // between Load and Watch
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan string, 10)
		over := make(chan error, 1)
		go func() { over <- set.Watch(ctx, file, func(err error) { told <- fmt.Sprint(err) }) }()
		wait := func(want ...string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			var got []string
			for len(told) > 0 {
				got = append(got, <-told)
			}
			require.Equal(t, want, got)
		}
		p := set.Pipeline("api")
		wait("<nil>")
		require.NoError(t, do(p, ok))

		write(limitOf("api", 3) + "x: 1\n")
		wait(file + `:3:1: x: found the unknown name "x"; allowed version, defaults, mechanisms, policies, routes, http, proxy or $schema`)
		require.NoError(t, do(p, ok), "the second permit of the document before")
		write(limitOf("api", 2))
		wait("<nil>") // the active document is in the file again
		require.NoError(t, os.Remove(file))
		wait("no such file or directory")
		wait()
		write(limitOf("api", 2))
		wait("<nil>")
		write(limitOf("api", 2))
		wait() // written again, with the same text
		require.Error(t, do(p, ok))
		cancel()
		require.ErrorIs(t, <-over, context.Canceled)
		assert.Contains(t, log.String(), "the old one stays")
	})
}

// forget collects what nothing refers to: pools keep a run for two collections.
func forget() {
	for range 3 {
		runtime.GC()
	}
}

// TestSetKeepsWhatIsUsed: a policy that is gone from the document keeps its state while a caller
// has its pipeline, or a call runs, and the set tells its events.
func TestSetKeepsWhatIsUsed(t *testing.T) {
	text := func(name string) []byte {
		return fmt.Appendf(nil, "version: 1\npolicies: {%s: {steps: [bulkhead: 1]}}\n", name)
	}
	set, err := sluice.Parse("p", text("a"))
	require.NoError(t, err)
	call, err := set.Pipeline("a").Begin(t.Context(), sluice.Request{})
	require.NoError(t, err)
	require.NoError(t, set.Reload("p", text("b")))
	forget()
	require.NoError(t, set.Reload("p", text("a")))
	require.ErrorIs(t, do(set.Pipeline("a"), ok), sluice.ErrRejected, "the call has the place")

	held := set.Pipeline("a")
	require.NoError(t, set.Reload("p", text("b")))
	forget()
	events := sentencesOf(set, sluice.EventReject)
	require.ErrorIs(t, do(held, ok), sluice.ErrRejected)
	assert.Equal(t, []string{"a.bulkhead: rejected: full"}, events.take())
	call.Done(reducer.OK)
	call.Release()
	require.NoError(t, do(held, ok))
	require.NoError(t, set.Reload("p", text("a")))
	assert.Same(t, held, set.Pipeline("a"))
	runtime.KeepAlive(held)
}
