package filtertest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// sharing is a document whose policies a and b, each for a path of its name, share the
// mechanism m. The policy c has one of its own.
func sharing(state, mechanism string) string {
	return fmt.Sprintf(`{"version":1,"mechanisms":{"m":%s},"policies":{
		"a":{"steps":[{"use":"m"}]},"b":{"steps":[{"use":{"mechanism":"m","name":"x"}},{"limit":"100/s"}]},"c":{"steps":[%s]}},
		"routes":[{"path":"/a","policy":"a"},{"path":"/b","policy":"b"},{"path":"/c","policy":"c"}],"proxy":{"state":%q}}`, mechanism, mechanism, state)
}

// Policies that use one mechanism share its cells, in a worker or in the process.
func TestSharedMechanism(t *testing.T) {
	for _, state := range []string{"process", "worker"} {
		for name, mechanism := range map[string]string{"one": `{"limit":"2/1m"}`, "keys": `{"limit":{"rate":"2/1m","per":"host"}}`} {
			t.Run(state+" "+name, func(t *testing.T) {
				e := start(t, sharing(state, mechanism))
				worker := 0
				if state == "process" {
					worker = 1
				}
				assert.Zero(t, statusOf(e.beginAt(0, "/a")))
				assert.Zero(t, statusOf(e.beginAt(worker, "/b")))
				assert.Equal(t, 429, statusOf(e.beginAt(0, "/a")))
				assert.Equal(t, 429, statusOf(e.beginAt(worker, "/b")))
				assert.Zero(t, statusOf(e.beginAt(0, "/c")))
			})
		}
	}
}

// A place that a request of one policy gives back goes to one that waits under another.
func TestSharedMechanismWakes(t *testing.T) {
	for _, state := range []string{"process", "worker"} {
		t.Run(state, func(t *testing.T) {
			e := start(t, sharing(state, `{"bulkhead":{"concurrent":1,"queue":1,"wait":"10s"}}`))
			first := e.beginAt(0, "/a")
			second := e.beginAt(0, "/b")
			assert.True(t, second.Paused())
			assert.Equal(t, 503, statusOf(e.beginAt(0, "/a")), "the queue is that of both")
			answer(first, 200)
			e.tick()
			assert.False(t, second.Paused())
			answer(second, 200)
			third := e.beginAt(0, "/a")
			assert.Zero(t, statusOf(third))
			assert.False(t, third.Paused())
		})
	}
}

// beginAt sends the headers of a request for a path.
func (e *envoy) beginAt(worker int, path string) *host.Stream {
	s := e.filter.Worker(worker).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get(path), host.End)
	return s
}
