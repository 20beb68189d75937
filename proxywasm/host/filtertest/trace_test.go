package filtertest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// traced is a document with requests that are traced.
func traced(trace, state, list string) string {
	return strings.Replace(steps(state, list), `"proxy":{`, `"proxy":{"trace":"`+trace+`",`, 1)
}

// traceOf returns the line of the answer to a request that asked for it.
func traceOf(s *host.Stream) string { return s.Response().Headers.Value("x-sluice-trace") }

const traceLog = "sluice: trace: "

// TestTraceOnRequest has the decision and the states in the answer to a request that asks
// for it, and in the log.
func TestTraceOnRequest(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, traced("request", state, `{"limit":{"rate":"2/1h","per":"header:x-key"}},{"breaker":{"window":{"consecutive":3}}}`))
		e.get(0)
		assert.Len(t, e.logged(traceLog), 1, "the first of a thousand")
		ask := func(key string) string {
			s := e.filter.Worker(0).Do(host.Get("/", "x-key", key, "x-sluice-trace", "1"), host.Answer(500))
			lines := e.logged(traceLog)
			assert.Equal(t, traceLog+traceOf(s), lines[len(lines)-1])
			return traceOf(s)
		}
		assert.Equal(t, `policy=all decision=admit limit="free 1/2" breaker="closed failed 0 in a row"`, ask("a"))
		assert.Equal(t, `policy=all decision=admit limit="free 0/2" breaker="closed failed 1 in a row"`, ask("a"))
		assert.Equal(t, `policy=all decision=reject step=limit reason=rate retry-after=1800s limit="free 0/2" breaker="closed failed 2 in a row"`, ask("a"))
		assert.Equal(t, `policy=all decision=admit limit="free 1/2" breaker="closed failed 2 in a row"`, ask("b"))
		assert.Len(t, e.logged(traceLog), 5)
		s := e.filter.Worker(0).Do(host.Get("/", "x-key", "b"), host.Answer(200))
		assert.Empty(t, traceOf(s), "not asked for")
		assert.Len(t, e.logged(traceLog), 5)
	})
}

// TestTraceOfOneInAThousand counts the requests of each worker, and gives no client a
// trace.
func TestTraceOfOneInAThousand(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		for mode, want := range map[string]int{"sample": 3 + 1, "off": 0} {
			e := start(t, traced(mode, state, `{"limit":{"rate":"1/1h"}}`))
			for range 2001 {
				s := e.filter.Worker(0).Do(host.Get("/", "x-sluice-trace", "1"), host.Answer(200))
				require.Empty(t, traceOf(s))
			}
			e.get(1)
			assert.Len(t, e.logged(traceLog), want, mode)
		}
	})
}

// TestTraceOfWait has the last decision about a request that waited in the answer, and
// both in the log.
func TestTraceOfWait(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, traced("request", state, `{"limit":{"rate":"1/1s","burst":1,"wait":"5s"}}`))
		e.get(0)
		began := e.Monotonic()
		s := e.begin(0, "x-sluice-trace", "1")
		require.True(t, s.Paused())
		e.until(began, time.Second)
		answer(s, 200)
		assert.Equal(t, `policy=all decision=admit limit="free 0/1"`, traceOf(s))
		lines := e.logged(traceLog)
		require.Len(t, lines, 3)
		assert.Contains(t, lines[1], "decision=wait")
		assert.Equal(t, traceLog+traceOf(s), lines[2])
	})
}

// TestTraceOfSpareCell has the state of the cell that decided, where the key has none of
// its own.
func TestTraceOfSpareCell(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, traced("request", state, `{"bulkhead":{"concurrent":2,"per":"header:x-key","keys":1}}`))
		own := e.begin(0, "x-key", "own")
		var shared []*host.Stream
		for _, key := range []string{"a", "b"} {
			shared = append(shared, e.begin(0, "x-key", key, "x-sluice-trace", "1"))
		}
		refused := e.begin(0, "x-key", "c", "x-sluice-trace", "1")
		assert.Contains(t, traceOf(refused), "decision=reject step=bulkhead reason=full")
		assert.Contains(t, traceOf(refused), `bulkhead="held 2/2`)
		for i, s := range shared {
			answer(s, 200)
			assert.Contains(t, traceOf(s), "decision=admit bulkhead=\"held "+string(rune('1'+i))+"/2")
		}
		answer(own, 200)
	})
}
