package scenarios_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/policy"
)

// bad are documents that the filter refuses, each with the part of the message from the
// path on.
func bad(t *testing.T) map[string][]string {
	t.Helper()
	documents := map[string][]string{
		document("process", `{"timeout":"10s"}`): {"policies.all.steps[0].timeout: found "},
		document("process", `{"retry":3}`):       {"policies.all.steps[0].retry: found "},
	}
	for _, src := range []string{
		document("process", `{"limit":{"rate":"5"}},{"limt":"5/s"}`),
		document("proces", `{"limit":{"rate":"5/1s"}}`),
		`{"version":2}`,
		`{`,
		``,
	} {
		_, err := policy.Parse("p.json", []byte(src))
		require.Error(t, err)
		for line := range strings.Lines(err.Error()) {
			// What sluice lint prints behind the name of the file and the place.
			_, message, _ := strings.Cut(strings.TrimSpace(line), ": ")
			documents[src] = append(documents[src], message)
		}
	}
	return documents
}

// TestBadStart starts Envoy with a document that it refuses: it ends with exit code 1,
// and its log has what sluice lint says.
func TestBadStart(t *testing.T) {
	envoytest.Need(t)
	const two = `{"limit":{"rate":"5"}},{"limt":"5/s"}`
	f := filter(t, document("process", two))
	f.Discovered = false
	_, err := envoy.Start(envoy.Config{Filters: []envoy.Filter{f.Filter()}, Static: true})
	var exit *envoy.ExitError
	require.True(t, errors.As(err, &exit), err)
	assert.Equal(t, 1, exit.Code)
	for _, message := range bad(t)[document("process", two)] {
		assert.Contains(t, exit.Log, message)
	}
}

// TestBadConfiguration pushes documents that Envoy refuses, as text and as a Struct: its
// log has what sluice lint says, and it goes on with the document that it has.
func TestBadConfiguration(t *testing.T) {
	with := func(src string, structured bool) envoy.Config {
		f := filter(t, src)
		f.Structured = structured
		return envoy.Config{Filters: []envoy.Filter{f.Filter()}}
	}
	e := envoytest.Start(t, with(document("process", `{"limit":{"rate":"2/1h"}}`), true))
	c := envoytest.Clients(t, e)
	assert.Equal(t, 200, c.Get("/").Status)
	for src, messages := range bad(t) {
		for _, structured := range []bool{false, true} {
			if structured && !json.Valid([]byte(src)) {
				continue
			}
			before := len(e.Log())
			assert.ErrorIs(t, e.Push(with(src, structured)), envoy.ErrRejected, src)
			for _, message := range messages {
				assert.Contains(t, e.Log()[before:], message, src)
			}
		}
	}
	assert.Equal(t, map[int]int{200: 1, 429: 2}, statusesOf(c, 3, "/"))
}

// TestPushes replaces the document under load: requests go on, a document that is
// refused changes nothing, and the permits that are spent stay spent.
func TestPushes(t *testing.T) {
	for name, discovered := range map[string]bool{"listener": false, "filter": true} {
		t.Run(name, func(t *testing.T) {
			const burst = 2000
			with := func(fallback int) envoy.Config {
				f := filter(t, fmt.Sprintf(`{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"%d/1h"}}],"fallback":{"status":%d}}},"routes":[{"path":"/**","policy":"all"}]}`, burst, fallback))
				f.Discovered = discovered
				return envoy.Config{Filters: []envoy.Filter{f.Filter()}}
			}
			wrong := with(418)
			f := filter(t, `{"version":2}`)
			f.Discovered = discovered
			wrong.Filters = []envoy.Filter{f.Filter()}

			e := envoytest.Start(t, with(420))
			stop, done := make(chan struct{}), make(chan envoy.Result, 1)
			go func() {
				result, err := (&envoy.Load{Address: e.Address(), Connections: 16, Duration: time.Minute, Pause: time.Millisecond, Stop: stop}).Run()
				assert.NoError(t, err)
				done <- result
			}()
			for status := range 4 {
				require.NoError(t, e.Push(with(421+status)))
				require.ErrorIs(t, e.Push(wrong), envoy.ErrRejected)
			}
			assert.Contains(t, e.Log(), "version: found the number 2")
			c := envoytest.Clients(t, e)
			envoytest.Eventually(t, "refusals have the last status", func() bool { return c.Get("/").Status == 424 })
			close(stop)
			result := <-done
			assert.Zero(t, result.Lost)
			for status := range result.Statuses {
				assert.True(t, status == 200 || status >= 420 && status <= 424, "status %d", status)
			}
			// The requests of Eventually took some, too.
			assert.LessOrEqual(t, result.Statuses[200], int64(burst))
			assert.Equal(t, int64(burst), envoytest.Stat(t, e, "http.http.downstream_rq_2xx"))
		})
	}
}

// TestChangedRate keeps what was spent of a limit whose rate changes.
func TestChangedRate(t *testing.T) {
	with := func(rate string) envoy.Config {
		f := filter(t, document("process", fmt.Sprintf(`{"limit":{"rate":%q}}`, rate)))
		f.Discovered = true
		return envoy.Config{Filters: []envoy.Filter{f.Filter()}}
	}
	e := envoytest.Start(t, with("10/1h"))
	c := envoytest.Clients(t, e)
	assert.Equal(t, map[int]int{200: 6}, statusesOf(c, 6, "/"))
	require.NoError(t, e.Push(with("20/1h")))
	// Of ten there are four left, of twenty as many (a changed burst mints no permits).
	assert.Equal(t, map[int]int{200: 4, 429: 8}, statusesOf(c, 12, "/"))
}
