package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/cmd/sluice/internal/http1"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/internal/pipes"
)

// fleet is a proxy with several upstreams in virtual time.
type fleet struct {
	*bubble
	down  []atomic.Bool  // cannot be connected to
	seen  []atomic.Int64 // requests that reached a handler
	dials []atomic.Int64 // connections that were tried
}

const everything = "version: 1\npolicies: {api: {steps: [{bulkhead: 100}, {timeout: 2s}]}}\nroutes: [{path: /**, policy: api}]\n"

// inFleet runs a test with a proxy and so many upstreams in virtual time.
func inFleet(t *testing.T, upstreams int, handler func(n int, w http.ResponseWriter, r *http.Request), test func(f *fleet),
	change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const seed = 1
		t.Log("seed", seed)
		var mu sync.Mutex
		draws := rand.New(rand.NewPCG(seed, 0))
		f := &fleet{
			bubble: &bubble{t: t, front: pipes.Listen(), journal: newJournal()},
			down:   make([]atomic.Bool, upstreams), seen: make([]atomic.Int64, upstreams), dials: make([]atomic.Int64, upstreams),
		}
		backs := make([]*pipes.Listener, upstreams)
		c := Config{
			File: "policy.yaml", Source: []byte(everything), Upgrades: []string{"websocket"},
			Ejection: Ejection{After: 5, For: 30 * time.Second, Percent: 50},
			Log:      slog.New(slog.NewJSONHandler(f.journal, nil)),
			random: func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return draws.IntN(n)
			},
			dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				var n int
				_, err := fmt.Sscanf(address, "u%d.test:80", &n)
				require.NoError(t, err)
				f.dials[n].Add(1)
				if f.down[n].Load() {
					return nil, &net.OpError{Op: "dial", Err: errors.New("down")}
				}
				return backs[n].Dial(ctx, network, address)
			},
		}
		done := make(chan error, upstreams+1)
		var servers []*http.Server
		for n := range upstreams {
			c.Upstreams = append(c.Upstreams, &url.URL{Scheme: "http", Host: fmt.Sprintf("u%d.test", n)})
			backs[n] = pipes.Listen()
			server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				f.seen[n].Add(1)
				handler(n, w, r)
			})}
			servers = append(servers, server)
			go func() { done <- server.Serve(backs[n]) }()
		}
		for _, set := range change {
			set(&c)
		}
		var err error
		f.Server, err = New(c)
		require.NoError(t, err)
		proxy := f.Server.front()
		go func() { done <- proxy.Serve(f.bubble.front) }()
		test(f)
		assert.NoError(t, proxy.Close())
		for n, server := range servers {
			f.upstreams[n].transport.CloseIdleConnections()
			assert.NoError(t, server.Close())
		}
		for range upstreams + 1 {
			assert.ErrorIs(t, <-done, http.ErrServerClosed)
		}
		// The server of net/http waits a moment before it closes a connection on
		// which the client may still send.
		time.Sleep(time.Second)
		synctest.Wait()
	})
}

// requests sends requests one after another and returns how many each upstream got.
func (f *fleet) requests(number int, status int) []int64 {
	f.t.Helper()
	before := make([]int64, len(f.seen))
	for n := range f.seen {
		before[n] = f.seen[n].Load()
	}
	for range number {
		resp, _ := f.get("/x")
		require.Equal(f.t, status, resp.StatusCode)
	}
	got := make([]int64, len(f.seen))
	for n := range f.seen {
		got[n] = f.seen[n].Load() - before[n]
	}
	return got
}

func (f *fleet) ejected() (list []int) {
	for n, u := range f.upstreams {
		if u.state.ejected.Load() {
			list = append(list, n)
		}
	}
	return list
}

// TestRequestsGoToTheLessLoadedOfTwo has idle upstreams share requests, and one with
// answers under way get none.
func TestRequestsGoToTheLessLoadedOfTwo(t *testing.T) {
	goOn := make(chan struct{})
	inFleet(t, 3, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			_, _ = w.Write([]byte("ha"))
			_ = http.NewResponseController(w).Flush()
			<-goOn
			_, _ = w.Write([]byte("lf"))
		}
	}, func(f *fleet) {
		goOn = make(chan struct{}) // of the bubble
		for n, got := range f.requests(300, 200) {
			assert.InDelta(t, 100, got, 25, "upstream %d", n)
		}
		slow := f.open("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
		defer slow.Close()
		resp, err := http.ReadResponse(slow.r, nil)
		require.NoError(t, err)
		busy := -1
		for n, u := range f.upstreams {
			if u.load.Load() > 0 {
				busy = n
			}
		}
		require.GreaterOrEqual(t, busy, 0)
		got := f.requests(60, 200)
		assert.Zero(t, got[busy], "its answer is under way")
		close(goOn)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "half", string(text))
		synctest.Wait()
		assert.Zero(t, f.upstreams[busy].load.Load())
		assert.NotZero(t, f.requests(60, 200)[busy])
	})
}

// TestFailover has an upstream that cannot be connected to: no request fails, each with
// its body goes to the other one, and the upstream is ejected and comes back.
func TestFailover(t *testing.T) {
	inFleet(t, 2, func(n int, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}, func(f *fleet) {
		f.down[0].Store(true)
		for range 40 {
			c := f.open("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
			resp, text := c.answer()
			require.Equal(t, 200, resp.StatusCode)
			require.Equal(t, "hello", text)
			c.Close()
		}
		assert.EqualValues(t, 5, f.dials[0].Load(), "then it is ejected")
		line := f.journal.await(t, "an upstream is ejected")
		assert.Equal(t, []any{"WARN", "http://u0.test", "answers", 1.0, 2.0},
			[]any{line["level"], line["upstream"], line["by"], line["ejected"], line["of"]})

		time.Sleep(30 * time.Second)
		assert.Equal(t, []int64{0, 20}, f.requests(20, 200))
		assert.EqualValues(t, 6, f.dials[0].Load(), "one request probed it")
		time.Sleep(30 * time.Second)
		f.requests(20, 200)
		assert.EqualValues(t, 6, f.dials[0].Load(), "the second ejection is longer")
		f.down[0].Store(false)
		time.Sleep(30 * time.Second)
		got := f.requests(20, 200)
		assert.NotZero(t, got[0])
		assert.Equal(t, "INFO", f.journal.await(t, "an upstream recovered")["level"])
		assert.Zero(t, f.journal.count("upstream"), "each is logged once")
		assert.Empty(t, f.ejected())
	})
}

// TestFailoverOfAStream has a client that sends the rest of its body when it has the
// headers of the answer.
func TestFailoverOfAStream(t *testing.T) {
	inFleet(t, 2, func(n int, w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		assert.NoError(t, connection.EnableFullDuplex())
		_ = connection.Flush()
		_, _ = io.Copy(w, r.Body)
	}, func(f *fleet) {
		f.down[0].Store(true)
		transport := &http.Transport{DialContext: f.front.Dial, Protocols: priorKnowledge()}
		defer transport.CloseIdleConnections()
		read, write := io.Pipe()
		r, err := http.NewRequestWithContext(f.t.Context(), "POST", "http://x/x", read)
		require.NoError(t, err)
		resp, err := transport.RoundTrip(r)
		require.NoError(t, err)
		_, err = write.Write([]byte("hello"))
		require.NoError(t, err)
		require.NoError(t, write.Close())
		assert.Equal(t, "hello", body(t, resp, nil))
		assert.EqualValues(t, 1, f.dials[0].Load())
	}, func(c *Config) { c.random = func(int) int { return 0 } })
}

// TestNoFailoverOfWhatWasSent has an upstream that takes requests and breaks off.
func TestNoFailoverOfWhatWasSent(t *testing.T) {
	inFleet(t, 2, func(n int, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}, func(f *fleet) {
		for n, body := range []string{"Content-Length: 5\r\n\r\nhello", "Content-Length: 0\r\n\r\n"} {
			c := f.open("POST /x HTTP/1.1\r\nHost: x\r\n" + body)
			resp, _ := c.answer()
			assert.Equal(t, 502, resp.StatusCode)
			assert.EqualValues(t, n+1, f.seen[0].Load()+f.seen[1].Load())
			c.Close()
		}
	})
}

// TestShareOfEjections has three of four upstreams fail, of which two may be ejected.
func TestShareOfEjections(t *testing.T) {
	var well [4]atomic.Bool
	inFleet(t, 4, func(n int, w http.ResponseWriter, r *http.Request) {
		if !well[n].Load() {
			w.WriteHeader(503)
		}
	}, func(f *fleet) {
		well[3].Store(true)
		for range 100 {
			f.get("/x")
		}
		first := f.ejected()
		assert.Len(t, first, 2)
		third := f.journal.await(t, "fails and is not ejected")["upstream"]
		before := f.seen[0].Load() + f.seen[1].Load() + f.seen[2].Load()
		for range 20 {
			f.get("/x")
		}
		assert.Greater(t, f.seen[0].Load()+f.seen[1].Load()+f.seen[2].Load(), before, "the third one still gets requests")

		well[first[0]].Store(true)
		time.Sleep(30 * time.Second)
		for range 20 {
			f.get("/x")
		}
		f.journal.await(t, "an upstream recovered")
		assert.Equal(t, third, f.journal.await(t, "an upstream is ejected")["upstream"], "its place is free")
		assert.Len(t, f.ejected(), 2)
	})
}

// TestOlderEventsThatComeLater has the goroutine that opened a breaker report it after
// the one that closed it.
func TestOlderEventsThatComeLater(t *testing.T) {
	list := []*upstream{{name: "a"}, {name: "b"}}
	measure(list, prometheus.NewRegistry())
	e := &ejections{upstreams: list, most: 1, log: slog.New(slog.DiscardHandler)}
	at := func(mark clock.Mark, mode breaker.Mode) {
		e.changed(list[0], byAnswers, sluice.Event{At: mark, Mode: mode})
	}
	at(1, breaker.Open)
	assert.True(t, list[0].state.ejected.Load())
	at(4, breaker.Closed)
	at(2, breaker.HalfOpen)
	at(3, breaker.Open)
	assert.False(t, list[0].state.ejected.Load())
	at(5, breaker.Open)
	assert.True(t, list[0].state.ejected.Load())
}

// TestWhatCountsAgainstAnUpstream has every answer and end of requests come from the
// first of two upstreams.
func TestWhatCountsAgainstAnUpstream(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		ejects  bool
	}{
		"200":                        {"GET /200 HTTP/1.1\r\nHost: x\r\n\r\n", false},
		"500":                        {"GET /500 HTTP/1.1\r\nHost: x\r\n\r\n", false},
		"429":                        {"GET /429 HTTP/1.1\r\nHost: x\r\n\r\n", false},
		"502":                        {"GET /502 HTTP/1.1\r\nHost: x\r\n\r\n", true},
		"503":                        {"GET /503 HTTP/1.1\r\nHost: x\r\n\r\n", true},
		"503 to a body":              {"POST /503 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n.", true},
		"504":                        {"GET /504 HTTP/1.1\r\nHost: x\r\n\r\n", true},
		"a reset":                    {"GET /reset HTTP/1.1\r\nHost: x\r\n\r\n", true},
		"a timeout":                  {"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n", true},
		"a body that did not come":   {"POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhi", false},
		"503 before the body came":   {"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhi", false},
		"UNAVAILABLE of gRPC":        {"POST /grpc/14 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", true},
		"INVALID_ARGUMENT of gRPC":   {"POST /grpc/3 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", false},
		"a chunked body and a 502":   {"POST /502 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n.\r\n0\r\n\r\n", true},
		"a broken chunk of a client": {"POST /503 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, 2, func(n int, w http.ResponseWriter, r *http.Request) {
				switch code, grpc := strings.CutPrefix(r.URL.Path, "/grpc/"); {
				case grpc:
					w.Header().Set("Content-Type", "application/grpc")
					w.Header().Set("Grpc-Status", code)
				case code == "/reset":
					panic(http.ErrAbortHandler)
				case code == "/hang":
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				case code == "/early":
					w.WriteHeader(503)
				default:
					_, _ = io.Copy(io.Discard, r.Body)
					status := 0
					_, err := fmt.Sscanf(code, "/%d", &status)
					require.NoError(t, err)
					w.WriteHeader(status)
				}
			}, func(f *fleet) {
				for range 6 {
					conn := f.open(c.request)
					conn.answer()
					conn.Close()
					synctest.Wait()
				}
				assert.Equal(t, c.ejects, len(f.ejected()) == 1)
			}, func(c *Config) { c.random = func(int) int { return 0 } })
		})
	}
}

// TestClientsThatLeaveEjectNothing has clients hang up while the upstream works.
func TestClientsThatLeaveEjectNothing(t *testing.T) {
	inFleet(t, 2, func(n int, w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}, func(f *fleet) {
		for range 20 {
			c := f.bubble.dial("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
			c.Close()
			later(http1.Patience)
		}
		assert.Empty(t, f.ejected())
		assert.Zero(t, f.upstreams[0].load.Load()+f.upstreams[1].load.Load())
	})
}

// TestProbes has an upstream that serves requests and fails its probes.
func TestProbes(t *testing.T) {
	var ill atomic.Bool
	inFleet(t, 2, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			assert.Equal(t, "full=1", r.URL.RawQuery)
			assert.Equal(t, fmt.Sprintf("u%d.test", n), r.Host)
			if n == 0 && ill.Load() {
				w.WriteHeader(500)
			}
		}
	}, func(f *fleet) {
		ctx, stop := context.WithCancel(f.t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.pool.probe(ctx, f.config.ProbePath, f.config.ProbeInterval)
		}()
		time.Sleep(65 * time.Second) // between two probes
		assert.Empty(t, f.ejected())
		ill.Store(true)
		time.Sleep(20 * time.Second)
		assert.Empty(t, f.ejected(), "two probes failed")
		time.Sleep(10 * time.Second)
		assert.Equal(t, []int{0}, f.ejected())
		assert.Equal(t, "probes", f.journal.await(t, "an upstream is ejected")["by"])
		time.Sleep(time.Minute)
		got := f.requests(20, 200)
		assert.Zero(t, got[0], "requests do not probe it")
		ill.Store(false)
		time.Sleep(10 * time.Second)
		assert.Equal(t, []int{0}, f.ejected(), "one probe succeeded")
		time.Sleep(10 * time.Second)
		assert.Empty(t, f.ejected())
		f.journal.await(t, "an upstream recovered")
		got = f.requests(20, 200)
		assert.NotZero(t, got[0])
		stop()
		<-done
	}, func(c *Config) {
		c.ProbePath, c.ProbeInterval = &url.URL{Path: "/healthz", RawQuery: "full=1"}, 10*time.Second
	})
}

// TestUpgradeToOneOfSeveralUpstreams sends bytes both ways.
func TestUpgradeToOneOfSeveralUpstreams(t *testing.T) {
	inFleet(t, 2, func(n int, w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
	}, func(f *fleet) {
		c := f.open("GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		defer c.Close()
		resp, err := http.ReadResponse(c.r, nil)
		require.NoError(t, err)
		require.Equal(t, 101, resp.StatusCode)
		assert.EqualValues(t, 1, f.upstreams[0].load.Load()+f.upstreams[1].load.Load())
		go func() { _, _ = io.WriteString(c, "hello\n") }()
		line, err := bufio.NewReader(c.r).ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "echo hello\n", line)
		c.Close()
		synctest.Wait()
		assert.Zero(t, f.upstreams[0].load.Load()+f.upstreams[1].load.Load())
	})
}
