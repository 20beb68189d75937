package filtertest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// abiGuest is testdata/abi, compiled by TinyGo.
//
//go:embed testdata/abi.wasm
var abiGuest []byte

// abiLog is what the guest logs of its configuration: the third VM that adds to the
// counter, behind the contexts of the canary and of the main thread.
const abiLog = `
level 2
configuration 50000 "xxx" proxy: ok
long 40000 proxy: ok
long 40000 proxy: ok
long 40000 proxy: ok
no room 0 proxy: invalid memory access
tick proxy: ok
metric counter proxy: ok proxy: ok proxy: ok 24 proxy: ok
metric gauge proxy: ok proxy: ok proxy: ok 5 proxy: ok
metric histogram proxy: ok proxy: bad argument proxy: ok 0 proxy: bad argument
metric none proxy: bad argument
`

// TestABI runs one source in both of the compilers that it is for: every function of
// package abi says the same in both.
func TestABI(t *testing.T) {
	t.Parallel()
	t.Run("TinyGo", func(t *testing.T) {
		t.Parallel()
		testABI(t, abiGuest)
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		out := filepath.Join(t.TempDir(), "abi.wasm")
		build := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/abi")
		build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		text, err := build.CombinedOutput()
		require.NoError(t, err, "%s", text)
		module, err := os.ReadFile(out)
		require.NoError(t, err)
		testABI(t, module)
	})
}

func testABI(t *testing.T, module []byte) {
	code, err := host.Compile(module, host.Envoy140)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, code.Close()) })
	p := host.NewProcess(host.Config{Clusters: []string{"auth"}})
	t.Cleanup(p.Close)
	f, err := p.Load(host.Plugin{Name: "abi", Config: []byte(strings.Repeat("x", 50_000)), VM: host.VM{Code: code}})
	require.NoError(t, err, "%v", p.Logs())
	w := f.Worker(0)
	said := func() string {
		var lines []string
		for _, line := range p.TakeLogs() {
			if line.Thread == 0 {
				lines = append(lines, strings.TrimSpace(line.Text))
			}
		}
		return "\n" + strings.Join(lines, "\n") + "\n"
	}
	assert.Equal(t, abiLog, said())
	assert.Equal(t, 7*time.Millisecond, w.TickPeriod())

	s := w.Stream(host.StreamOptions{Source: "192.0.2.1:4711"})
	s.RequestHeaders(host.Get("/", "x-tenant", "a", "x-gone", "1"), host.More)
	assert.Equal(t, abiRequest, said())
	assert.Equal(t, "b", s.Upstream().Headers.Value("x-tenant"))
	s.RequestBody([]byte("body"), host.End)
	assert.Equal(t, "\nbody 4 \"od\" proxy: ok\nset body proxy: ok proxy: ok\n", said())
	assert.Equal(t, "newend", string(s.Upstream().Body))
	answer(s, 200)
	assert.Equal(t, "\nset headers proxy: ok\n", said())
	assert.Equal(t, host.Answer(201, "x-a", "b", "x-empty", ""), s.Response().Headers)

	get := func(path string) *host.Stream {
		s := w.Stream(host.StreamOptions{})
		s.RequestHeaders(host.Get(path), host.End)
		return s
	}
	s = get("/respond")
	assert.Equal(t, "\nrespond proxy: ok\n", said())
	assert.Equal(t, 418, statusOf(s))
	assert.Equal(t, "tea", string(s.Response().Body))
	assert.Equal(t, "green", s.Response().Headers.Value("x-tea"))
	assert.Equal(t, "teapot", s.Details())
	s = w.Stream(host.StreamOptions{})
	s.RequestHeaders(host.GRPC("/respond/grpc"), host.End)
	assert.Equal(t, "\nrespond proxy: ok\n", said())
	assert.Equal(t, "5", s.Response().Headers.Value("grpc-status"))
	assert.Equal(t, "tea", s.Response().Headers.Value("grpc-message"))

	s = get("/pause")
	assert.True(t, s.Paused())
	w.Tick()
	assert.Equal(t, "\nresume proxy: ok proxy: ok proxy: ok\n", said())
	assert.NotNil(t, s.Upstream())
	s.Reset()

	s = get("/close")
	assert.Equal(t, "\nclose proxy: ok proxy: ok\n", said())
	assert.True(t, s.WasReset())

	get("/shared").Reset()
	assert.Equal(t, abiShared, said())

	s = get("/call")
	assert.Equal(t, "\ncall proxy: ok\ncall grpc proxy: ok\ncall none proxy: bad argument\ncall grpc none proxy: parse failed\n", said())
	require.Len(t, p.HTTPCalls(), 1)
	call := p.HTTPCalls()[0]
	assert.Equal(t, "auth", call.Cluster)
	assert.Equal(t, "/check", call.Headers.Value(":path"))
	assert.Equal(t, "who", string(call.Body))
	assert.Equal(t, host.Headers{{"x-end", "1"}}, call.Trailers)
	assert.Equal(t, 500*time.Millisecond, call.Timeout)
	call.Reply(host.Answer(403), []byte("no"), host.Headers{{"x-end", "2"}})
	assert.Equal(t, "\nresponse \"403\" true \"no\" proxy: ok \"2\" true\n", said())
	require.Len(t, p.GRPCCalls(), 1)
	grpc := p.GRPCCalls()[0]
	assert.Equal(t, "pkg.Service", grpc.Service)
	assert.Equal(t, "Method", grpc.Method)
	assert.Equal(t, "1", grpc.Metadata.Value("x-meta"))
	assert.Equal(t, [][]byte{[]byte("who")}, grpc.Sent)
	grpc.Receive([]byte("answer"))
	assert.Equal(t, "\nmessage \"answer\" proxy: ok\n", said())
	s.Reset()
}

// abiRequest is what the guest logs of the headers of a request.
const abiRequest = `
headers 6
tenant "a" true
absent "" false
add proxy: ok proxy: ok
set proxy: ok
remove proxy: ok
headers proxy: ok :authority=example.com :path=/ :method=GET :scheme=http x-new=1 x-new=2
trailers 0 proxy: ok
address "192.0.2.1:4711" true
no property "" false
set property proxy: ok
property "value" true
times 3600000000000 1767225600000000000
context proxy: ok proxy: bad argument
`

// abiShared is what the guest logs of shared data.
const abiShared = `
absent "" proxy: not found 0
create proxy: ok
create again proxy: compare-and-set mismatch
there "one" proxy: ok 1
replace proxy: ok
replace again proxy: compare-and-set mismatch
empty "" proxy: ok
overwrite proxy: ok
`
