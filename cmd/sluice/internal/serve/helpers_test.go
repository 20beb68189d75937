package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// journal is a log that a test waits for. Lines are kept whether or not
// a test waits.
type journal struct {
	mu    sync.Mutex
	lines []map[string]any
	more  chan struct{}
}

func newJournal() *journal { return &journal{more: make(chan struct{}, 1)} }

func (j *journal) Write(b []byte) (int, error) {
	line := map[string]any{}
	if err := json.Unmarshal(b, &line); err != nil {
		return 0, err
	}
	j.mu.Lock()
	j.lines = append(j.lines, line)
	j.mu.Unlock()
	select {
	case j.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

// count returns how many lines have the text in their message.
func (j *journal) count(text string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		if strings.Contains(line["msg"].(string), text) {
			n++
		}
	}
	return n
}

// await returns the next line whose message has the text.
func (j *journal) await(t *testing.T, text string) map[string]any {
	t.Helper()
	for {
		j.mu.Lock()
		for i, line := range j.lines {
			if strings.Contains(line["msg"].(string), text) {
				j.lines = j.lines[i+1:]
				j.mu.Unlock()
				return line
			}
		}
		j.mu.Unlock()
		select {
		case <-j.more:
		case <-t.Context().Done():
			t.Fatalf("no line with %q", text)
		}
	}
}

// asByDefault sets what the command sets where no flag says otherwise.
func asByDefault(c *Config) {
	c.AbandonedWait, c.AbandonedGrace = DefaultAbandonedWait, DefaultAbandonedGrace
	c.UpstreamConnections, c.Headers = DefaultUpstreamConnections, DefaultHeaders
}

// proxy is a server that runs.
type proxy struct {
	*Server
	url, admin string
	file       string
	reload     chan os.Signal
	journal    *journal
	stop       context.CancelFunc
	ended      chan error
}

// run serves a document in front of an upstream until the test ends.
func run(t *testing.T, document string, upstream http.Handler, change ...func(*Config)) *proxy {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	target, err := url.Parse(up.URL)
	require.NoError(t, err)
	p := &proxy{reload: make(chan os.Signal), journal: newJournal(), ended: make(chan error, 1)}
	p.file = filepath.Join(t.TempDir(), "policy.yaml")
	p.write(t, document)
	ready := make(chan struct{})
	c := Config{
		File: p.file, Source: []byte(document), Upstreams: []*url.URL{target}, Listen: "127.0.0.1:0", Admin: "127.0.0.1:0",
		Log: slog.New(slog.NewJSONHandler(p.journal, &slog.HandlerOptions{Level: slog.LevelDebug})), Reload: p.reload,
		Ready: func(listen, admin net.Addr) {
			p.url = "http://" + listen.String()
			if admin != nil {
				p.admin = "http://" + admin.String()
			}
			close(ready)
		},
	}
	asByDefault(&c)
	for _, f := range change {
		f(&c)
	}
	p.Server, err = New(c)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err, ok := <-p.ended; ok {
			assert.NoError(t, err)
		}
		for _, u := range p.upstreams {
			u.transport.CloseIdleConnections()
		}
	})
	select {
	case <-ready:
	case err := <-p.ended:
		close(p.ended)
		t.Fatalf("did not start: %v", err)
	}
	return p
}

func (p *proxy) write(t *testing.T, document string) {
	t.Helper()
	require.NoError(t, os.WriteFile(p.file, []byte(document), 0o600))
}

// get returns an answer with its body read.
func get(t *testing.T, target string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// metric returns the lines of a metric.
func (p *proxy) metric(t *testing.T, name string) string {
	t.Helper()
	_, body := get(t, p.admin+"/metrics")
	var lines []string
	for scanner := bufio.NewScanner(strings.NewReader(body)); scanner.Scan(); {
		if strings.HasPrefix(scanner.Text(), name) {
			lines = append(lines, scanner.Text())
		}
	}
	return strings.Join(lines, "\n")
}
