package serve

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// timed has policies whose steps a client's deadline meets.
const timed = `
version: 1
policies:
  api: {steps: [{breaker: {window: {consecutive: 1}, open: 1h}}, {bulkhead: 5}, {timeout: 1s}]}
  twice:
    steps:
      - timeout: 10s
      - retry: {attempts: 3, backoff: {constant: 2s}, jitter: none}
  raced:
    steps:
      - breaker: {window: {consecutive: 1}, open: 1h}
      - hedge: {after: 100ms}
      - bulkhead: 5
  queued: {steps: [{limit: {rate: 1/10s, burst: 1, wait: 1m}}]}
routes:
  - {path: /api/**, policy: api}
  - {path: /twice/**, policy: twice}
  - {path: /raced/**, policy: raced}
  - {path: /queued/**, policy: queued}
`

func withDeadlines(most time.Duration) func(*Config) {
	return func(c *Config) { c.DeadlineHeader, c.DeadlineMax = nethttp.DeadlineHeader, most }
}

// TestClientsDeadline has the deadline of a stranger: it ends its own request sooner, never later
// than the policy does, and the dependency is not blamed for it.
func TestClientsDeadline(t *testing.T) {
	const plain, grpc = nethttp.DeadlineHeader + ": ", "Content-Type: application/grpc\r\nGrpc-Timeout: "
	for name, c := range map[string]struct {
		path, header string
		most         time.Duration
		status       int
		after        time.Duration
		sent         []string // to the upstream
		mode         string
	}{
		"shorter than the policy": {"/api/x", plain + "500", 0, 504, 500 * time.Millisecond, []string{"500"}, "closed"},
		"longer than the policy":  {"/api/x", plain + "20000", 0, 504, time.Second, []string{"1000"}, "open"},
		"longer than the bound":   {"/api/x", plain + "900", 300 * time.Millisecond, 504, 300 * time.Millisecond, []string{"300"}, "closed"},
		"passed already":          {"/api/x", plain + "0", 0, 504, 0, nil, "closed"},
		"none":                    {"/api/x", "X-Other: 1", 0, 504, time.Second, []string{"1000"}, "open"},
		"malformed":               {"/api/x", plain + "soon", 0, 504, time.Second, []string{"1000"}, "open"},
		"twice":                   {"/api/x", plain + "5\r\n" + plain + "6", 0, 504, time.Second, []string{"1000"}, "open"},
		"of hedged attempts":      {"/raced/x", plain + "500", 0, 504, 500 * time.Millisecond, []string{"500", "400"}, "closed"},
		"of gRPC":                 {"/api/x", grpc + "500m", 0, 200, 500 * time.Millisecond, []string{"500m"}, "closed"},
		"of gRPC, both":           {"/api/x", plain + "400\r\n" + grpc + "1H", 0, 200, 400 * time.Millisecond, []string{"400000u"}, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var sent []string
			inBubble(t, timed, func(_ http.ResponseWriter, r *http.Request) {
				field := nethttp.DeadlineHeader
				if r.Header.Get("Content-Type") != "" {
					field = "Grpc-Timeout"
				}
				mu.Lock()
				sent = append(sent, r.Header.Get(field))
				mu.Unlock()
				<-r.Context().Done()
			}, func(b *bubble) {
				start := time.Now()
				resp, _ := b.get(c.path, c.header)
				assert.Equal(t, c.status, resp.StatusCode)
				assert.Equal(t, c.after, time.Since(start))
				if resp.StatusCode == 200 {
					assert.Equal(t, "4", resp.Header.Get("Grpc-Status"))
				} else {
					assert.Equal(t, "timeout", resp.Header.Get("X-Throttle-Reason"))
				}
				synctest.Wait()
				assert.Equal(t, c.sent, sent)
				policy := c.path[1 : len(c.path)-2]
				assert.Equal(t, c.mode, b.mode(policy))
				assert.Equal(t, 5, b.freeAfterGrace(policy))
			}, withDeadlines(c.most))
		})
	}
}

// TestWhatIsLeftIsSentOn with each attempt, and a field that cannot be read is not.
func TestWhatIsLeftIsSentOn(t *testing.T) {
	var sent [][]string
	inBubble(t, timed, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header[nethttp.DeadlineHeader])
		w.WriteHeader(503)
	}, func(b *bubble) {
		start := time.Now()
		resp, _ := b.get("/twice/x", nethttp.DeadlineHeader+": 3000")
		assert.Equal(t, 503, resp.StatusCode, "the last answer: no third attempt could begin in time")
		assert.Equal(t, 2*time.Second, time.Since(start))
		b.get("/queued/x", nethttp.DeadlineHeader+": -1")
		b.get("/other", nethttp.DeadlineHeader+": -1")
		assert.Equal(t, [][]string{{"3000"}, {"1000"}, nil, {"-1"}}, sent, "the last passes without a policy, as it is")
	}, withDeadlines(0))
}

// TestHopelessWaitOfAClient is refused at once.
func TestHopelessWaitOfAClient(t *testing.T) {
	inBubble(t, timed, func(http.ResponseWriter, *http.Request) {}, func(b *bubble) {
		start := time.Now()
		b.get("/queued/x")
		resp, _ := b.get("/queued/x", nethttp.DeadlineHeader+": 9000")
		assert.Equal(t, 429, resp.StatusCode)
		assert.Equal(t, "deadline", resp.Header.Get("X-Throttle-Reason"))
		assert.Zero(t, time.Since(start))
		resp, _ = b.get("/queued/x", nethttp.DeadlineHeader+": 11000")
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, 10*time.Second, time.Since(start))
	}, withDeadlines(0))
}

// TestDeadlineEndsTheAnswer that is still sent.
func TestDeadlineEndsTheAnswer(t *testing.T) {
	inBubble(t, timed, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(b *bubble) {
		start := time.Now()
		c := b.open("GET /api/x HTTP/1.1\r\nHost: x\r\n" + nethttp.DeadlineHeader + ": 5000\r\n\r\n")
		defer c.Close()
		resp, err := http.ReadResponse(c.r, nil)
		assert.NoError(t, err)
		_, err = resp.Body.Read(make([]byte, 1))
		assert.Error(t, err)
		assert.Equal(t, 5*time.Second, time.Since(start))
		assert.Equal(t, 5, b.freeAfterGrace("api"))
		assert.Equal(t, "closed", b.mode("api"))
	}, withDeadlines(0))
}

// TestClientsDeadlineEjectsNoUpstream, unlike a timeout of the policy.
func TestClientsDeadlineEjectsNoUpstream(t *testing.T) {
	inFleet(t, 2, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(f *fleet) {
		for range 20 {
			resp, _ := f.get("/x", nethttp.DeadlineHeader+": 100")
			assert.Equal(t, 504, resp.StatusCode)
		}
		assert.Zero(t, f.journal.count("an upstream is ejected"))
		for range 20 {
			f.get("/x")
		}
		assert.Equal(t, 1, f.journal.count("an upstream is ejected"))
	}, withDeadlines(0))
}

// TestPriorityIsThatOfTrustedHops alone.
func TestPriorityIsThatOfTrustedHops(t *testing.T) {
	fields := []string{"Priority", "X-Urgency", "X_urgency"}
	for name, c := range map[string]struct {
		setting, peer string
		want          map[string]string
		logged        any
	}{
		"of a stranger":      {"x-urgency", "203.0.113.1:5", map[string]string{"Priority": "u=1"}, nil},
		"of a trusted hop":   {"x-urgency", "10.0.0.1:5", map[string]string{"Priority": "u=1", "X-Urgency": "1", "X_urgency": "2"}, "1"},
		"without the option": {"", "203.0.113.1:5", map[string]string{"Priority": "u=1", "X-Urgency": "1", "X_urgency": "2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			log, got := newJournal(), map[string]string{}
			inBubble(t, timed, func(_ http.ResponseWriter, r *http.Request) {
				for _, field := range fields {
					if lines := r.Header[field]; len(lines) > 0 {
						got[field] = lines[0]
					}
				}
			}, func(b *bubble) {
				r := httptest.NewRequest("GET", "/api/x", nil)
				r.RemoteAddr = c.peer
				r.Header = http.Header{"Priority": {"u=1"}, "X-Urgency": {"1"}, "X_urgency": {"2"}}
				b.handler().ServeHTTP(httptest.NewRecorder(), r)
				assert.Equal(t, c.want, got)
				assert.Equal(t, c.logged, b.written(log)[0]["priority"])
			}, func(config *Config) {
				config.PriorityHeader, config.Access = c.setting, log
				config.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			})
		})
	}
}
