package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// threads returns the threads that logged, in order, and what the first of them
// logged.
func threads(p *host.Process) (numbers []int, text string) {
	for i, line := range p.TakeLogs() {
		numbers = append(numbers, line.Thread)
		if i == 0 {
			text = line.Text
		}
	}
	return numbers, text
}

// A configuration reaches the canary, the main thread and each worker.
func TestConfigureRunsEverywhere(t *testing.T) {
	t.Parallel()
	p := newProcess(t, host.Config{Workers: 3})
	f, err := p.Load(plugin("configure: body 7 0 99; period 20\ntick: body 7 0 9; say 2 tick"))
	require.NoError(t, err)
	lines := p.Logs()
	require.Len(t, lines, 10)
	numbers, text := threads(p)
	assert.Equal(t, []int{host.Main, host.Main, host.Main, host.Main, 0, 0, 1, 1, 2, 2}, numbers)
	assert.Equal(t, "body 7 0 99 = 0 configure: body 7 0 99; period 20\ntick: body 7 0 9; say 2 tick", text)
	for _, number := range []int{2, host.Main} {
		w := f.Worker(number)
		assert.Equal(t, number, w.Number())
		assert.Equal(t, 20*time.Millisecond, w.TickPeriod())
		assert.True(t, w.Tick())
		assert.Equal(t, "body 7 0 9 = 1  / tick / say 2 tick = 0 ", said(p), "the configuration cannot be read later")
	}
	assert.Equal(t, 3, p.Workers())
}

func TestTickNeedsAPeriod(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "configure: period 10\ntick: period 0")
	assert.True(t, f.Worker(0).Tick())
	assert.False(t, f.Worker(0).Tick(), "the timer is off")
	assert.Equal(t, "period 0 = 0 ", said(p))
	assert.True(t, f.Worker(host.Main).Tick(), "each thread has its own")
	_, f = start(t, host.Config{}, "")
	assert.False(t, f.Worker(0).Tick())
}

// What a guest refuses is an error, and what ran goes on.
func TestRefusal(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_headers: say 2 old")
	for name, bad := range map[string]func(*host.Plugin){
		"Failed to configure base Wasm plugin": func(p *host.Plugin) { p.Config = []byte("configure: say 4 line_2; return 0") },
		"Failed to start base Wasm":            func(p *host.Plugin) { p.VM.Config = []byte("refuse") },
	} {
		config := plugin("")
		bad(&config)
		for range 2 {
			refused, err := p.Load(config)
			assert.Nil(t, refused)
			require.EqualError(t, err, "host: Unable to create Wasm plugin test: "+name)
		}
	}
	var texts []string
	for _, line := range p.TakeLogs() {
		texts = append(texts, line.String())
	}
	assert.Contains(t, texts, "[error] test: line_2", "the reason")
	assert.Contains(t, texts, "[critical] test: Plugin test failed to load")
	assert.Equal(t, 200, f.Worker(0).Do(host.Get("/"), host.Answer(200)).Response().Status())
	assert.Contains(t, said(p), "old")
	trap := plugin("configure: trap")
	_, err := p.Load(trap)
	assert.ErrorContains(t, err, "Failed to configure base Wasm plugin")
}

// A push of another configuration is one more root context in the same VMs; one of
// another module or VM configuration has VMs of its own.
func TestPush(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_headers: pause\ntick: effective stream; resume 0\nconfigure: period 5\nlog: say 2 old_log\ndone: say 2 old_done\ndelete: say 2 old_delete")
	old := f.Worker(0).Stream(host.StreamOptions{})
	old.RequestHeaders(host.Get("/"), host.End)
	assert.EqualValues(t, 2, old.ContextID(), "roots and streams share numbers")

	next := load(t, p, plugin("request_headers: say 2 new"))
	counts := f.Worker(0).HostCalls()
	s := next.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.EqualValues(t, 4, s.ContextID())
	assert.Equal(t, 1, f.Worker(0).HostCalls().Since(counts)["proxy_on_request_headers"], "one VM")
	f.Drain()
	f.Drain()
	said(p)
	assert.True(t, f.Worker(0).Tick(), "the old root runs while it has a stream")
	assert.Contains(t, said(p), "effective stream = ")
	old.Reset()
	assert.Equal(t, "old_log / say 2 old_log = 0  / old_done / say 2 old_done = 0  / old_delete / say 2 old_delete = 0  / "+
		"old_done / say 2 old_done = 0  / old_delete / say 2 old_delete = 0 ", said(p), "the stream, then the root")

	same := load(t, p, plugin("request_headers: say 2 new"))
	assert.EqualValues(t, 5, same.Worker(0).Do(host.Get("/"), host.Answer(200)).ContextID(), "the same configuration shares the root")
	other := plugin("request_headers: say 2 new")
	other.VM.Config = []byte("another VM")
	assert.EqualValues(t, 2, load(t, p, other).Worker(0).Do(host.Get("/"), host.Answer(200)).ContextID(), "a VM of its own")
}

// A root whose proxy_on_done answers 0 ends by proxy_done.
func TestDone(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "done: return 0\ndelete: say 2 gone\nconfigure: period 5\ntick: finish")
	f.Worker(0).Tick()
	assert.Equal(t, "finish = 1 ", said(p), "it does not end")
	f.Drain()
	assert.Empty(t, said(p), "the VM ends with its last plugin")

	p = newProcess(t, host.Config{Clusters: []string{"up"}})
	f = load(t, p, plugin("done: return 0\ndelete: say 2 gone\nhttp_call_response: finish\nconfigure: httpcall up / _ 0"))
	load(t, p, plugin("configure: period 5"))
	calls := p.HTTPCalls()
	f.Drain()
	require.Len(t, calls, 2)
	assert.Equal(t, 0, calls[1].Worker)
	calls[1].Reply(host.Answer(200), nil, nil)
	assert.Equal(t, "http_call_response 1 0 / finish = 0  / gone / say 2 gone = 0 ", said(p))
}

// A trap gives a 503 to its stream and to all that the VM has, under each policy.
func TestTrap(t *testing.T) {
	t.Parallel()
	for _, policy := range []host.FailurePolicy{host.FailClosed, host.FailOpen, host.FailReload} {
		p := newProcess(t, host.Config{Workers: 2})
		config := plugin("request_headers: set key value 0; define 1 g; increment last 1; header 0 x-trap; trap\nresponse_headers: say 2 x\nlog: say 2 log")
		config.FailurePolicy = policy
		trapping := load(t, p, config)
		quiet := plugin("request_headers: header 0 :path\nresponse_headers: say 2 response\nlog: say 2 log")
		quiet.FailurePolicy = policy
		f := load(t, p, quiet)
		begin := func(end bool) *host.Stream {
			s := f.Worker(0).Stream(host.StreamOptions{})
			s.RequestHeaders(host.Get("/"), end)
			return s
		}
		upload, waiting, responding := begin(host.More), begin(host.End), begin(host.End)
		responding.ResponseHeaders(host.Answer(200), host.More)
		other := f.Worker(1).Stream(host.StreamOptions{})
		other.RequestHeaders(host.Get("/"), host.End)
		p.TakeLogs()

		s := trapping.Worker(0).Do(host.Get("/"), host.Answer(200))
		assert.Equal(t, 503, s.Response().Status())
		assert.Equal(t, "wasm_fail_stream", s.Details())
		require.ErrorContains(t, f.Worker(0).Failed(), "Function: proxy_on_request_headers failed: wasm error: unreachable")
		assert.Contains(t, said(p), "Wasm VM failed Function: proxy_on_request_headers failed")
		upload.RequestBody([]byte("a"), host.End)
		waiting.ResponseHeaders(host.Answer(200), host.End)
		responding.ResponseBody([]byte("a"), host.End)
		assert.Equal(t, 503, upload.Response().Status())
		assert.Equal(t, 503, waiting.Response().Status())
		assert.True(t, responding.WasReset())
		assert.Empty(t, said(p), "a dead VM has no callbacks")
		other.ResponseHeaders(host.Answer(200), host.End)
		assert.Equal(t, 200, other.Response().Status())
		assert.Equal(t, []string{"key"}, p.SharedKeys(""), "shared data lives on")
		assert.EqualValues(t, 1, p.Gauge("g"), "what the gauge counts is not given back")
	}
}

func TestFailurePolicies(t *testing.T) {
	t.Parallel()
	status := func(f *host.Filter) (int, bool) {
		s := f.Worker(0).Do(host.Get("/"), host.Answer(204))
		return s.Response().Status(), s.Bypassed()
	}
	check := func(f *host.Filter, want int, bypassed bool) {
		t.Helper()
		got, without := status(f)
		assert.Equal(t, want, got)
		assert.Equal(t, bypassed, without)
	}
	p := newProcess(t, host.Config{})
	config := plugin("request_headers: say 2 here")
	closed := load(t, p, config)
	config.Name, config.FailurePolicy = "open", host.FailOpen
	open := load(t, p, config)
	config.Name, config.FailurePolicy, config.ReloadBackoff = "reload", host.FailReload, 2*time.Second
	reload := load(t, p, config)
	p.Advance(2 * time.Second)
	closed.Worker(0).Kill()
	check(closed, 503, false)
	check(open, 204, true)
	check(reload, 204, false)
	require.NoError(t, reload.Worker(0).Failed())
	require.Error(t, closed.Worker(0).Failed(), "it keeps the dead VM")
	check(closed, 503, false)

	reload.Worker(0).TrapNext()
	check(reload, 503, false)
	check(reload, 503, false)
	p.Advance(2*time.Second - 1)
	check(reload, 503, false)
	p.Advance(1)
	check(reload, 204, false)
	assert.False(t, closed.Worker(0).Tick())
}

// countdown is a plugin whose gauge "left" goes down by 1 with each VM that
// configures it; the one that makes it 0 refuses.
func countdown(t *testing.T, p *host.Process, from string) host.Plugin {
	t.Helper()
	load(t, p, plugin("configure: define 1 left; record last "+from))
	return plugin("configure: define 1 left; increment last -1; metric last; return last\nrequest_headers: say 2 here")
}

// A VM that refuses to start again is tried once for each backoff.
func TestReloadFails(t *testing.T) {
	t.Parallel()
	p := newProcess(t, host.Config{})
	config := countdown(t, p, "4") // the canary, the main thread, the worker, the worker again
	config.FailurePolicy = host.FailReload
	f := load(t, p, config)
	status := func() int { return f.Worker(0).Do(host.Get("/"), host.Answer(204)).Response().Status() }
	assert.Equal(t, 204, status())
	f.Worker(0).Kill()
	p.Advance(time.Second)
	p.TakeLogs()
	assert.Equal(t, 503, status())
	assert.Contains(t, said(p), "Failed to configure thread-local Wasm plugin")
	assert.Equal(t, 503, status())
	assert.Empty(t, said(p), "one try")
	p.Advance(time.Second)
	assert.Equal(t, 204, status())
}

// A test can stop a guest between two host calls.
func TestTrapAtHostCall(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_headers: set a 1 0; set b 1 0")
	f.Worker(0).TrapAtHostCall(3)
	s := f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, 503, s.Response().Status())
	assert.Equal(t, []string{"a"}, p.SharedKeys(""))
	assert.ErrorContains(t, f.Worker(0).Failed(), "the test asked for it in env.proxy_set_shared_data")
}

// A thread whose VM refuses what the canary took goes on without the filter.
func TestThreadRefuses(t *testing.T) {
	t.Parallel()
	p := newProcess(t, host.Config{Workers: 2})
	f, err := p.Load(countdown(t, p, "3"))
	require.NoError(t, err)
	assert.Contains(t, said(p), "Failed to configure thread-local Wasm plugin")
	w := f.Worker(0)
	s := w.Do(host.Get("/"), host.Answer(204))
	assert.Equal(t, 204, s.Response().Status())
	assert.True(t, s.Bypassed())
	assert.Zero(t, s.ContextID())
	assert.EqualError(t, w.Failed(), "the thread refused the plugin")
	assert.False(t, w.Tick())
	assert.PanicsWithError(t, "host: worker 0 refused the plugin and has no VM of it", w.Kill)
	assert.False(t, f.Worker(1).Do(host.Get("/"), host.Answer(204)).Bypassed())
	f.Drain()
}

// recorder is a testing.TB that keeps the error.
type recorder struct{ text string }

func (*recorder) Helper()                             {}
func (r *recorder) Errorf(format string, args ...any) { r.text = fmt.Sprintf(format, args...) }

func TestFlatMemory(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Workers: 2}, "request_headers: say 1 x\nresponse_headers: keep 3000")
	var report recorder
	host.FlatMemory(&report, p, 100, 1000, func(run int) {
		s := f.Worker(run % 2).Stream(host.StreamOptions{})
		s.RequestHeaders(host.Get("/"), host.End)
		s.Reset()
	})
	assert.Empty(t, report.text)
	before := f.Worker(1).Pages()
	host.FlatMemory(&report, p, 1, 1000, func(int) { f.Worker(1).Do(host.Get("/"), host.Answer(200)) })
	assert.Regexp(t, `the memory of worker 1 grew from \d+ to \d+ pages of 64 KiB at run \d+, \d+ after the warm-up`, report.text)
	assert.Greater(t, f.Worker(1).Pages(), before)
	report.text = ""
	p, f = start(t, host.Config{}, "configure: period 5\ntick: keep 1000000")
	host.FlatMemory(&report, p, 0, 10, func(int) { f.Worker(host.Main).Tick() })
	assert.Contains(t, report.text, "the memory of the main thread grew")
}

func TestHostCalls(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Workers: 2}, "request_headers: header 0 :path; get key")
	w := f.Worker(1)
	before, all := w.HostCalls(), p.HostCalls()
	w.Do(host.Get("/"), host.Answer(200))
	const want = "malloc 1, proxy_get_header_map_value 1, proxy_get_shared_data 1, proxy_log 2, proxy_on_context_create 1, proxy_on_delete 1, " +
		"proxy_on_done 1, proxy_on_log 1, proxy_on_request_headers 1, proxy_on_response_headers 1"
	assert.Equal(t, want, w.HostCalls().Since(before).String())
	assert.Equal(t, want, p.HostCalls().Since(all).String())
}

func TestLogs(t *testing.T) {
	t.Parallel()
	debug := host.Debug
	p, f := start(t, host.Config{LogLevel: &debug}, "request_headers: say 0 trace; say 1 debug; say 5 critical; say 6 none; loglevel; print 1 out; print 2 err; print 3 x")
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Contains(t, p.LogText("test"), "debug\n")
	assert.Empty(t, p.LogText("other"))
	var lines []string
	for _, line := range p.TakeLogs() {
		lines = append(lines, line.String())
	}
	assert.NotContains(t, lines, "[trace] test: trace")
	assert.Contains(t, lines, "[debug] test: debug")
	assert.Contains(t, lines, "[critical] test: critical")
	assert.Contains(t, lines, "[info] test: loglevel = 0 1")
	assert.Contains(t, lines, "[info] test: out")
	assert.Contains(t, lines, "[error] test: err")
	assert.Contains(t, lines, "[info] test: print 3 x = 8 3")
	p.SetLogLevel(host.Off)
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Empty(t, p.TakeLogs())
	assert.Equal(t, "off level 9", host.Off.String()+" "+host.Level(9).String())
	assert.Equal(t, "CAS_MISMATCH status 5", host.CASMismatch.String()+" "+host.Status(5).String())
}

func TestClocks(t *testing.T) {
	t.Parallel()
	wall := time.Date(2027, 2, 3, 4, 5, 6, 7, time.UTC)
	p, f := start(t, host.Config{Wall: wall, Monotonic: time.Minute}, "request_headers: now; clock 0; clock 1; clock 2; clock 1")
	request := func() string {
		f.Worker(0).Do(host.Get("/"), host.Answer(200))
		return said(p)
	}
	assert.Equal(t, "now = 0 1801627506000000007 / clock 0 = 0 1801627506000000007 / clock 1 = 0 60000000000 / clock 2 = 58  / clock 1 = 0 60000000000", request(), "time stands still")
	p.Advance(time.Second)
	p.SetWall(p.Wall().Add(-time.Hour))
	assert.Equal(t, wall.Add(time.Second-time.Hour), p.Wall())
	assert.Contains(t, request(), "clock 1 = 0 61000000000")
	p.SetMonotonic(5)
	p.SetClockStep(2)
	assert.Contains(t, request(), "clock 1 = 0 9 / clock 2 = 58  / clock 1 = 0 11")
	assert.Equal(t, time.Duration(13), p.Monotonic())
}

func TestEnvironmentAndForeign(t *testing.T) {
	t.Parallel()
	p := newProcess(t, host.Config{ForeignFunctions: map[string]host.ForeignFunction{
		"double": func(arguments []byte) ([]byte, host.Status) { return append(arguments, arguments...), host.OK },
		"fail":   func([]byte) ([]byte, host.Status) { return nil, host.BadArgument },
	}})
	config := plugin("request_headers: environment; foreign double ab; foreign fail x; foreign none x; random 8; random 70000; status")
	config.VM.Environment = map[string]string{"B": "2", "A": "one"}
	f := load(t, p, config)
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	got := said(p)
	assert.Contains(t, got, "environment = 0 A=one B=2  / foreign double ab = 0 abab / foreign fail x = 2  / foreign none x = 1  / random 8 = 0 ")
	assert.Contains(t, got, "random 70000 = 28 0000000000000000 / status = 0 0 ")
}
