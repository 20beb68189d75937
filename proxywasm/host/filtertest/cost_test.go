package filtertest

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/calls.txt again")

// costs are documents with requests whose calls of the host are counted.
var costs = []struct {
	name, document string
	header         []string
}{
	{"no policy", `{"version":1,"policies":{"a":{"steps":[{"limit":"1/1s"}]}},"routes":[{"path":"/none","policy":"a"}]}`, nil},
	{"limit", steps("%s", `{"limit":{"rate":"1/1h"}}`), nil},
	{"limit with headers on all answers", strings.Replace(steps("%s", `{"limit":{"rate":"1/1h"}}`), `"proxy":{`, `"proxy":{"headers":"all",`, 1), nil},
	{"limit of a policy by default", `{"version":1,"policies":{"a":{"steps":[{"limit":"1/1h"}]}},"http":{"default":"a"},"proxy":{"state":"%s"}}`, nil},
	{"limit by header", steps("%s", `{"limit":{"rate":"1/1h","per":"header:x-key"}}`), []string{"x-key", "a"}},
	{"limit by ip", steps("%s", `{"limit":{"rate":"1/1h","per":"ip"}}`), nil},
	{"fixed window", steps("%s", `{"limit":{"rate":"1/1h","algorithm":"fixed-window"}}`), nil},
	{"sliding log", steps("%s", `{"limit":{"rate":"1/1h","algorithm":"sliding-log"}}`), nil},
	{"breaker", steps("%s", `{"breaker":{"window":{"calls":10}}}`), nil},
	{"bulkhead", steps("%s", `{"bulkhead":{"concurrent":1}}`), nil},
	{"limit by header, breaker, bulkhead", steps("%s", `{"limit":{"rate":"1/1h","per":"header:x-key"}},{"breaker":{"window":{"calls":10}}},{"bulkhead":{"concurrent":5}}`), []string{"x-key", "a"}},
	{"two policies, routes by host and method", `{"version":1,"policies":{"a":{"steps":[{"limit":"1/1h"}]},"b":{"steps":[{"limit":"1/1h"}]}},"routes":[{"path":"/x/**","host":"x.test","method":"POST","policy":"a"},{"path":"/**","policy":"b"}],"proxy":{"state":"%s"}}`, nil},
}

// TestCalls counts the calls between the filter and the host for one request of each kind of
// policy, and the values that the host returned in memory of the filter: most of what the
// filter costs. A request that passes comes second, so that nothing is made for the first
// time.
func TestCalls(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, c := range costs {
		for _, state := range []string{"process", "worker"} {
			document := c.document
			if strings.Contains(document, "%s") {
				document = fmt.Sprintf(document, state)
			} else if state == "worker" {
				continue
			}
			e := start(t, document)
			e.get(0, c.header...)
			e.Advance(2 * time.Hour)
			w := e.filter.Worker(0)
			count := func(kind string) {
				before := w.HostCalls()
				e.get(0, c.header...)
				calls := w.HostCalls().Since(before)
				sum, mallocs := 0, calls["malloc"]
				for name, n := range calls {
					if name == "malloc" || strings.HasPrefix(name, "proxy_on_") {
						delete(calls, name)
						continue
					}
					sum += n
				}
				fmt.Fprintf(&table, "%s, %s, %s: %d (%s), %d values\n", c.name, state, kind, sum, calls, mallocs)
			}
			count("passes")
			if strings.Contains(c.name, "limit") {
				count("refused")
				count("refused again")
			}
			if c.name == "bulkhead" {
				e.begin(0)
				count("refused")
			}
		}
	}
	const file = "testdata/calls.txt"
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(file, []byte(table.String()), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), table.String(), "go test -rewrite writes it again")
}

// TestMetrics tells all workers' counters with a tick, under names that do not depend on
// keys, once.
func TestMetrics(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, steps(state, `{"limit":{"rate":"3/1h","per":"header:x-key"}},{"breaker":{"window":{"consecutive":2},"open":"1h","shadow":true}},{"bulkhead":{"concurrent":1}}`))
		for i := range 10 {
			for key := range 2 {
				e.get(shared(state, i), "x-key", strconv.Itoa(key))
			}
		}
		assert.Empty(t, e.Metrics(), "before a tick")
		e.flush()
		want := map[string]uint64{"sluice.all.admit": 6, "sluice.all.limit.reject.rate": 14}
		counters := func() map[string]uint64 {
			got := map[string]uint64{}
			for _, m := range e.Metrics() {
				assert.Equal(t, host.Counter, m.Kind)
				if m.Value > 0 {
					got[m.Name] = m.Value
				}
			}
			return got
		}
		assert.Equal(t, want, counters())
		e.flush()
		assert.Equal(t, want, counters(), "told once")

		e.Advance(time.Hour)
		for i := range 2 {
			answer(e.begin(shared(state, i), "x-key", "5"), 500)
		}
		held := e.begin(shared(state, 0), "x-key", "6")
		assert.Equal(t, 503, e.get(shared(state, 1), "x-key", "7"))
		answer(held, 200)
		e.flush()
		want["sluice.all.admit"] += 3
		want["sluice.all.bulkhead.reject.full"] = 1
		want["sluice.all.breaker.shadow_reject.open"] = 2
		assert.Equal(t, want, counters())
	})
}

// TestFlatMemory sends 100,000 requests of all kinds, half of them in each state: the memory
// of the VMs stays as it is after the first fifth of them.
func TestFlatMemory(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, steps(state, `{"limit":{"rate":"1/1s","burst":3,"per":"header:x-key","keys":64,"wait":"100ms","queue":2}},{"breaker":{"window":{"calls":20}}},{"bulkhead":{"concurrent":10}}`))
		keys := make([]string, 1000)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}
		step := func(i int) {
			e.Advance(time.Millisecond)
			worker := i % workers
			s := e.begin(worker, "x-key", keys[i*7%(1+i%1000)])
			switch {
			case s.Upstream() == nil:
				s.Reset()
			case i%9 == 0:
				s.ResponseHeaders(host.Answer(200), host.More)
				s.Reset()
			case i%7 == 0:
				answer(s, 500)
			default:
				answer(s, 200)
			}
			if i%64 == 0 {
				e.filter.Worker(worker).Tick()
			}
		}
		for i := range 10_000 {
			step(i)
		}
		var before, after [workers]uint32
		for i := range workers {
			before[i] = e.filter.Worker(i).Pages()
		}
		for i := range 40_000 {
			step(10_000 + i)
		}
		for i := range workers {
			after[i] = e.filter.Worker(i).Pages()
			// Memory grows by a quarter, once where the collector came late.
			assert.LessOrEqual(t, after[i], before[i]+before[i]/4, "worker %d", i)
		}
	})
}
