package filtertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/proxywasm"
	"github.com/sluice-go/sluice/proxywasm/host"
)

// TestBadDocuments has documents that the filter refuses: its log has what sluice lint
// says from the path on.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		steps("process", `{"limit":{"rate":"5"}},{"limt":"5/s"}`),
		steps("proces", `{"limit":{"rate":"5/1s"}}`),
		`{"version":2}`,
		`{"version":1,"policies":{"a":{"steps":[{"limit":"5/1s"}]}},"routes":[{"path":"/**","policy":"b"}]}`,
		`{"version":1,"policies":{"a":{"steps":[{"limit":"5/1s"}]}},"proxy":{"slots":0}}`,
		`{"version":1,"policies":{"a":{"steps":[]},"a":{"steps":[]}}}`,
		`{`,
		``,
		`[]`,
		"{\"version\":1,\n \"policies\": {\"a\": {\"steps\": [1]}}}",
		strings.Repeat(" ", 200_000) + `{"version":3}`, // more than fits the arena at once
	} {
		_, err := policy.Parse("policy.json", []byte(src))
		require.Error(t, err, src)
		p := newProcess(t)
		_, refused := p.Load(plugin(src))
		assert.Error(t, refused, src)
		text := p.LogText("sluice")
		for line := range strings.Lines(err.Error()) {
			_, message, _ := strings.Cut(strings.TrimSpace(line), ": ")
			assert.Contains(t, text, message, src)
		}
	}
}

// TestStepsOfOtherProxies has steps that the filter does not perform: the error names what
// does.
func TestStepsOfOtherProxies(t *testing.T) {
	t.Parallel()
	for step, instead := range map[string]string{
		`{"retry":3}`: "retry_policy of an Envoy route", `{"timeout":"10s"}`: "timeout of an Envoy route",
		`{"adaptive":{}}`: "the filter adaptive_concurrency",
	} {
		p := newProcess(t)
		_, err := p.Load(plugin(steps("process", step)))
		assert.Error(t, err)
		assert.Contains(t, p.LogText("sluice"), "policies.all.steps[0].", step)
		assert.Contains(t, p.LogText("sluice"), "a step that the filter of a proxy does not perform", step)
		assert.Contains(t, p.LogText("sluice"), instead, step)
	}
}

// TestLongStates has steps with keys whose states are long: states of a slot are kept, and a
// longer one is refused with its length.
func TestLongStates(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"breaker":{"window":{"consecutive":1000},"per":"ip"}},{"breaker":{"window":{"time":"1m","buckets":60},"name":"time","per":"ip"}},`+
		`{"limit":{"rate":"20/1h","algorithm":"sliding-log","name":"log","per":"header:x-key"}}`))
	for _, key := range []string{"a", "b"} {
		for i := range 20 {
			assert.Equal(t, 200, e.get(i%workers, "x-key", key))
		}
		assert.Equal(t, 429, e.get(0, "x-key", key))
	}
	p := newProcess(t)
	const long = `{"limit":{"rate":"1000/1h","algorithm":"sliding-log","per":"ip"}}`
	_, err := p.Load(plugin(steps("process", long)))
	assert.Error(t, err)
	assert.Contains(t, p.LogText("sluice"), "policies.all.steps[0].limit: found a step whose state has up to 6398 bytes for each key; allowed beside per at most 1000 bytes; or proxy.state worker")
	_, err = newProcess(t).Load(plugin(steps("worker", long)))
	assert.NoError(t, err)
}

func newProcess(t testing.TB) *host.Process {
	t.Helper()
	require.NoError(t, errFilter)
	p := host.NewProcess(host.Config{Workers: workers})
	t.Cleanup(p.Close)
	return p
}

// TestLongDocument has a document that is longer than the host can give at once.
func TestLongDocument(t *testing.T) {
	t.Parallel()
	var policies, routes []string
	for i := range 1000 {
		policies = append(policies, fmt.Sprintf(`"p%d":{"steps":[{"limit":{"rate":"%d/1h"}}]}`, i, 1+i%3))
		routes = append(routes, fmt.Sprintf(`{"path":"/p%d","policy":"p%d"}`, i, i))
	}
	document := `{"version":1,"policies":{` + strings.Join(policies, ",") + `},"routes":[` + strings.Join(routes, ",") + `]}`
	assert.Greater(t, len(document), 70_000)
	e := start(t, document)
	for range 3 {
		assert.Equal(t, 200, statusOf(e.filter.Worker(0).Do(host.Get("/p998"), host.Answer(200))))
	}
	assert.Equal(t, 429, statusOf(e.filter.Worker(1).Do(host.Get("/p998"), host.Answer(200))))
	assert.Equal(t, 200, statusOf(e.filter.Worker(1).Do(host.Get("/p999"), host.Answer(200))))
}

// TestUnknownPolicy has a route of the proxy name a policy that is not there: the log says
// so once.
func TestUnknownPolicy(t *testing.T) {
	t.Parallel()
	e := start(t, `{"version":1,"policies":{"one":{"steps":[{"limit":{"rate":"1/1h"}}]},"two":{"steps":[{"limit":{"rate":"1/1h"}}]}}}`)
	route := host.Route{Metadata: map[string]map[string]any{"sluice": {"policy": "onne"}}}
	for range 3 {
		s := e.filter.Worker(0).Stream(host.StreamOptions{Route: route})
		s.RequestHeaders(host.Get("/"), host.End)
		assert.Equal(t, 500, statusOf(s))
		assert.Equal(t, "policy", reasonOf(s))
	}
	lines := e.logged("which is not there")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], `a route names the policy "onne", which is not there; did you mean one?`)
}

// TestPush replaces the document: in state process what is spent stays spent, and a
// document that is refused changes nothing.
func TestPush(t *testing.T) {
	t.Parallel()
	list := `{"limit":{"rate":"%d/1h"}},{"bulkhead":{"concurrent":%d}}`
	e := start(t, steps("process", fmt.Sprintf(list, 10, 2)))
	old := e.filter
	for i := range 4 {
		assert.Equal(t, 200, e.get(i))
	}
	held := []*host.Stream{e.begin(0), e.begin(1)}
	_, err := e.Load(plugin(steps("process", `{"limit":{"rate":"x"}}`)))
	assert.Error(t, err)
	assert.Equal(t, 503, e.get(2), "the old document with its state")

	e.push(t, steps("process", fmt.Sprintf(list, 10, 2)))
	refused := e.begin(2)
	assert.Equal(t, "full", reasonOf(refused), "the streams of the old configuration have the places")
	old.Drain()
	for _, s := range held {
		answer(s, 200)
		assert.Equal(t, 200, statusOf(s))
	}
	for i := range 4 {
		assert.Equal(t, 200, e.get(i))
	}
	assert.Equal(t, 429, e.get(0), "10 since the start")

	e.push(t, steps("process", fmt.Sprintf(list, 20, 2)))
	assert.Equal(t, 429, e.get(1), "a changed rate gives no permits at once")
	e.Advance(3 * time.Minute)
	assert.Equal(t, 200, e.get(1), "20 an hour is one in three minutes")
	assert.Equal(t, 429, e.get(2))
	e.push(t, steps("process", fmt.Sprintf(list, 20, 1)))
	e.Advance(time.Hour)
	assert.Equal(t, 1, free(e))
	assert.Empty(t, e.logged("lost"))
}

// TestPushWhileItRuns has workers with the old and with the new document step one cell.
func TestPushWhileItRuns(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		e := start(t, steps("process", `{"limit":{"rate":"10/1h"}}`))
		old := e.filter
		for range 4 {
			e.get(0)
		}
		e.push(t, steps("process", `{"limit":{"rate":"20/1h"}}`))
		admitted := 4
		for range 10 {
			var tasks []func()
			for worker := range workers {
				f := e.filter
				if worker%2 == 0 {
					f = old
				}
				tasks = append(tasks, func() {
					if statusOf(f.Worker(worker).Do(host.Get("/"), host.Answer(200))) == 200 {
						admitted++
					}
				})
			}
			e.Interleave(host.Random(seed), tasks...)
		}
		assert.LessOrEqual(t, admitted, 10, "seed %d", seed)
		assert.GreaterOrEqual(t, admitted, 5, "seed %d", seed)
	}
}

// TestNewModule loads another module under the same VM id: the state in shared data stays.
func TestNewModule(t *testing.T) {
	t.Parallel()
	document := steps("process", `{"limit":{"rate":"3/1h"}},{"breaker":{"window":{"consecutive":2},"open":"1h"}}`)
	e := start(t, document)
	old := e.filter
	e.get(0)
	answer(e.begin(0), 500)
	// A section of its own makes it another module.
	code, err := host.Compile(append(append([]byte(nil), proxywasm.Module...), 0, 3, 1, 'x', 0), host.Envoy140)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, code.Close()) })
	next := plugin(document)
	next.VM.Code = code
	e.filter, err = e.Load(next)
	require.NoError(t, err)
	old.Drain()
	answer(e.begin(1), 500)
	s := e.begin(2)
	assert.Equal(t, 429, statusOf(s), "two permits were taken under the old module, one under the new")
	e.Advance(20 * time.Minute)
	s = e.begin(2)
	assert.Equal(t, "open", reasonOf(s), "one failure under each module")
}

// TestTraps has the VM of a worker fail under each policy of Envoy: the stream gets a 503,
// the other workers notice nothing, and the state in shared data stays.
func TestTraps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy host.FailurePolicy
		// What the worker answers afterwards, with one permit left, at once and after a second.
		at, later []int
	}{
		"FAIL_CLOSED": {host.FailClosed, []int{503, 503}, []int{503, 503}},
		"FAIL_OPEN":   {host.FailOpen, []int{200, 200}, []int{200, 200}},
		"FAIL_RELOAD": {host.FailReload, []int{200, 429}, []int{429, 429}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t)
			with := plugin(steps("process", `{"limit":{"rate":"4/1h"}}`))
			with.FailurePolicy = c.policy
			f, err := p.Load(with)
			require.NoError(t, err)
			e := &envoy{p, f}
			for i := range 3 {
				assert.Equal(t, 200, e.get(i))
			}
			e.Advance(time.Second) // the VM was started longer than its backoff ago
			e.filter.Worker(0).TrapNext()
			assert.Equal(t, 503, e.get(0))
			assert.Error(t, e.filter.Worker(0).Failed())
			var at, later []int
			for range 2 {
				at = append(at, e.get(0))
			}
			e.Advance(time.Second)
			for range 2 {
				later = append(later, e.get(0))
			}
			assert.Equal(t, c.at, at)
			assert.Equal(t, c.later, later)
			want := 429
			if c.policy != host.FailReload {
				want = 200
			}
			assert.Equal(t, want, e.get(1), "the other workers have the last permit")
		})
	}
}

// TestTrapAtEachCall has a worker's VM fail at each call of the host of a request: the
// others go on, and of the permits at most the one of that request is gone.
func TestTrapAtEachCall(t *testing.T) {
	t.Parallel()
	calls := 0
	for n := 1; ; n++ {
		e := start(t, steps("process", `{"limit":{"rate":"5/1h","per":"header:x-key"}}`))
		assert.Equal(t, 200, e.get(1, "x-key", "a"))
		e.filter.Worker(0).TrapAtHostCall(n)
		s := e.filter.Worker(0).Do(host.Get("/", "x-key", "a"), host.Answer(200))
		if e.filter.Worker(0).Failed() == nil {
			break
		}
		calls++
		assert.Equal(t, 503, statusOf(s), "call %d", n)
		admitted := 0
		for i := range 8 {
			if e.get(1+i%3, "x-key", "a") == 200 {
				admitted++
			}
		}
		assert.GreaterOrEqual(t, admitted, 3, "call %d", n)
		assert.LessOrEqual(t, admitted, 4, "call %d", n)
	}
	assert.Greater(t, calls, 5)
}
