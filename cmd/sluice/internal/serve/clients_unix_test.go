//go:build unix

package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// poor is the environment variable of a process that serves with few descriptors: how many
// connections of clients it allows, and the upstream.
const poor = "SLUICE_TEST_POOR"

// poorDescriptors is how many descriptors it has.
const poorDescriptors = 64

// TestMain serves in a process of the tests below, until its input ends.
func TestMain(m *testing.M) {
	if settings, ok := os.LookupEnv(poor); ok {
		if err := servePoor(settings); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func servePoor(settings string) error {
	limit := syscall.Rlimit{Cur: poorDescriptors, Max: poorDescriptors}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	most, upstream, _ := strings.Cut(settings, " ")
	c := Config{
		File: "policy.yaml", Source: []byte(open), Listen: "127.0.0.1:0", Admin: "127.0.0.1:0",
		Log: slog.New(slog.NewJSONHandler(os.Stdout, nil)),
	}
	asByDefault(&c)
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	c.Upstreams = []*url.URL{target}
	if c.MaxConnections, err = strconv.Atoi(most); err != nil {
		return err
	}
	s, err := New(c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return s.Run(ctx)
}

// poorProxy is such a process.
type poorProxy struct {
	front, admin string
	lines        *bufio.Scanner
}

func startPoor(t *testing.T, most int) *poorProxy {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(up.Close)
	self, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", poor, most, up.URL))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &poorProxy{lines: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = in.Close()
		for p.lines.Scan() {
		}
		assert.NoError(t, cmd.Wait())
	})
	line := p.await(t, "serving")
	p.front, p.admin = line["listen"].(string), "http://"+line["admin"].(string)
	return p
}

// await returns the next line of the log whose message has the text.
func (p *poorProxy) await(t *testing.T, text string) map[string]any {
	t.Helper()
	for p.lines.Scan() {
		line := map[string]any{}
		require.NoError(t, json.Unmarshal(p.lines.Bytes(), &line))
		if strings.Contains(line["msg"].(string), text) {
			return line
		}
	}
	t.Fatalf("no line with %q", text)
	return nil
}

func (p *poorProxy) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.front)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestLivezWithoutDescriptors: clients take every descriptor of a process whose bound of
// connections is too high, and the admin address answers, one after another and several
// at a time. Once the clients leave, others are served.
func TestLivezWithoutDescriptors(t *testing.T) {
	p := startPoor(t, 1<<20)
	var clients []net.Conn
	for range 2 * poorDescriptors {
		clients = append(clients, p.dial(t))
	}
	p.await(t, "too many open files")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(path string) {
		resp, err := client.Get(p.admin + path)
		if assert.NoError(t, err) {
			assert.Equal(t, 200, resp.StatusCode)
			_, err = io.Copy(io.Discard, resp.Body)
			assert.NoError(t, err)
			_ = resp.Body.Close()
		}
	}
	for range 3 * spareDescriptors {
		ask("/livez")
	}
	ask("/metrics")
	var several sync.WaitGroup
	for range 3 * spareDescriptors {
		several.Go(func() { ask("/livez") })
	}
	several.Wait()
	for _, conn := range clients {
		_ = conn.Close()
	}
	resp, _ := get(t, "http://"+p.front+"/")
	assert.Equal(t, 200, resp.StatusCode)
}

// TestDescriptorsAreLeft: by default clients cannot take all descriptors. Those above the
// bound are closed, and the others are served.
func TestDescriptorsAreLeft(t *testing.T) {
	p := startPoor(t, 0)
	most := defaultConnections(poorDescriptors, 1, DefaultUpstreamConnections)
	var kept []net.Conn
	for range most {
		kept = append(kept, p.dial(t))
	}
	for range poorDescriptors {
		_, err := p.dial(t).Read(make([]byte, 1))
		require.Error(t, err)
	}
	p.await(t, "a connection of a client was closed")
	resp, _ := get(t, p.admin+"/livez")
	assert.Equal(t, 200, resp.StatusCode)
	_, body := get(t, p.admin+"/metrics")
	assert.Contains(t, body, fmt.Sprintf("sluice_client_connections_closed_total %d\n", poorDescriptors))
	for _, conn := range kept {
		_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
	}
}
