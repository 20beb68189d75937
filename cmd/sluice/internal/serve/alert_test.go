package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// hook is a webhook in virtual time, which answers as the test says.
type hook struct {
	t      *testing.T
	answer func(n int) (int, error)
	posts  []Alert
	marks  []time.Duration
	ids    map[string]bool
	began  time.Time
}

func (h *hook) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	require.NoError(h.t, err)
	assert.Equal(h.t, "application/json", r.Header.Get("Content-Type"))
	var alert Alert
	require.NoError(h.t, json.Unmarshal(body, &alert))
	h.posts, h.marks = append(h.posts, alert), append(h.marks, time.Since(h.began))
	h.ids[r.Header.Get("Idempotency-Key")] = true
	status, err := h.answer(len(h.posts))
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if status == 429 {
		header.Set("Retry-After", "7")
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// withAlerts runs a test beside a webhook.
func withAlerts(t *testing.T, answer func(n int) (int, error), test func(a *alerts, h *hook, log *journal), change ...func(*Alerts)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &hook{t: t, answer: answer, ids: map[string]bool{}, began: time.Now()}
		log := newJournal()
		at, err := url.Parse("https://hooks.test/s3cr3t")
		require.NoError(t, err)
		config := Alerts{URL: at, Kinds: AlertKinds, Count: 10, Period: time.Minute, transport: h}
		for _, f := range change {
			f(&config)
		}
		a, err := newAlerts(&Config{Alerts: config, Log: slog.New(slog.NewJSONHandler(log, nil))}, prometheus.NewRegistry())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); a.run(ctx) }()
		test(a, h, log)
		stop()
		<-ended
	})
}

func fine(int) (int, error) { return 204, nil }

func TestAlerts(t *testing.T) {
	withAlerts(t, fine, func(a *alerts, h *hook, _ *journal) {
		a.observe(sluice.Event{Kind: decision.Change, Policy: "api", Step: "breaker", Mode: breaker.Open})
		a.observe(sluice.Event{Kind: decision.Change, Policy: "api", Step: "breaker", Mode: breaker.HalfOpen})
		a.observe(sluice.Event{Kind: decision.Change, Policy: "api", Step: "breaker", Mode: breaker.Closed, Key: "k", By: "ops:ann",
			Why: "mended"})
		a.observe(sluice.Event{Kind: decision.Full, Policy: "api", Step: "limit"})
		for range 100 {
			a.observe(sluice.Event{Kind: decision.Reject, Reason: reducer.ReasonFull, Policy: "api", Step: "bulkhead"})
			a.observe(sluice.Event{Kind: decision.Reject, Reason: reducer.ReasonFull, Policy: "api", Step: "shadow", Shadow: true})
			a.observe(sluice.Event{Kind: decision.Reject, Reason: reducer.ReasonRate, Policy: "api", Step: "limit"})
		}
		a.reached("http://app", true, errors.New("refused"))
		a.ejected("http://app", true, "answers")
		a.ejected("http://app", false, "")
		a.reached("http://app", false, nil)
		synctest.Wait()
		var texts []string
		for _, p := range h.posts {
			texts = append(texts, p.Alert+": "+p.Text)
		}
		assert.Equal(t, []string{
			"breaker-opened: the breaker api.breaker is open",
			`breaker-closed: the breaker api.breaker is closed for the key "k", changed by ops:ann (mended)`,
			"keys-full: the step api.limit has its greatest number of keys",
			"step-full: the step api.bulkhead is full and refuses requests",
			"upstream-down: the upstream http://app cannot be connected to: refused",
			"upstream-down: the upstream http://app is ejected because of its answers",
			"upstream-up: the upstream http://app recovered",
			"upstream-up: the upstream http://app can be connected to again",
		}, texts)
		assert.Equal(t, "open", h.posts[0].Mode)
		assert.Len(t, h.ids, len(h.posts))
		time.Sleep(fullEvery)
		a.observe(sluice.Event{Kind: decision.Drop, Reason: reducer.ReasonFull, Policy: "api", Step: "bulkhead"})
		synctest.Wait()
		assert.Equal(t, AlertFull, h.posts[len(h.posts)-1].Alert, "it is still full")
	})
}

// TestAlertsAreLimited sends no more than the limit says, and tells how many it left out.
func TestAlertsAreLimited(t *testing.T) {
	withAlerts(t, fine, func(a *alerts, h *hook, _ *journal) {
		open := sluice.Event{Kind: decision.Change, Policy: "api", Step: "breaker", Mode: breaker.Open}
		for range 50 {
			a.observe(open)
		}
		synctest.Wait()
		assert.Len(t, h.posts, 10)
		time.Sleep(6 * time.Second)
		a.observe(open)
		synctest.Wait()
		require.Len(t, h.posts, 11)
		assert.EqualValues(t, 40, h.posts[10].Suppressed)
		assert.Zero(t, h.posts[9].Suppressed)
		a.observe(sluice.Event{Kind: decision.Change, Mode: breaker.Closed})
		synctest.Wait()
		assert.Len(t, h.posts, 11)
	}, func(c *Alerts) { c.Kinds = []string{AlertOpened} })
}

// TestAlertsAreRepeated tries a webhook that fails again, and others wait for it in a
// queue with a bound.
func TestAlertsAreRepeated(t *testing.T) {
	answers := []int{500, 429, 204}
	withAlerts(t, func(n int) (int, error) {
		if n > len(answers) {
			return 0, errors.New("broken")
		}
		return answers[n-1], nil
	}, func(a *alerts, h *hook, log *journal) {
		open := sluice.Event{Kind: decision.Change, Policy: "api", Step: "breaker", Mode: breaker.Open}
		a.observe(open)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, h.posts, 3)
		assert.Len(t, h.ids, 1, "each try has the same id")
		assert.GreaterOrEqual(t, h.marks[2]-h.marks[1], 7*time.Second, "as the answer asked")
		for range queuedAlerts + 50 {
			a.observe(open)
		}
		synctest.Wait()
		assert.Len(t, a.queue, queuedAlerts)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		assert.Len(t, h.ids, 1+1+int(len(h.posts)-3-1)/alertAttempts)
		line := log.await(t, "an alert cannot be sent")
		assert.Contains(t, line["error"], "broken")
		assert.NotContains(t, line["error"], "s3cr3t")
	}, func(c *Alerts) { c.Count = 1000 })
}

func TestAlertsWithARedirect(t *testing.T) {
	withAlerts(t, func(int) (int, error) { return 302, nil }, func(a *alerts, h *hook, log *journal) {
		a.reached("x", false, nil)
		synctest.Wait()
		assert.Len(t, h.posts, 1)
		assert.Equal(t, "the webhook answered 302", log.await(t, "an alert cannot be sent")["error"])
	})
}

// TestUpstreamAlerts has a proxy tell that its upstream is gone, and back.
func TestUpstreamAlerts(t *testing.T) {
	heard := make(chan Alert, 10)
	webhook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var alert Alert
		if err := json.NewDecoder(r.Body).Decode(&alert); err != nil {
			t.Error(err)
		}
		heard <- alert
	}))
	defer webhook.Close()
	var broken atomic.Bool
	p := run(t, "version: 1\npolicies: {a: {steps: [{timeout: 1h}]}}\nroutes: [{path: /**, policy: a}]\n",
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(c *Config) {
			at, err := url.Parse(webhook.URL)
			require.NoError(t, err)
			c.Alerts = Alerts{URL: at, Kinds: AlertKinds, Count: 10, Period: time.Minute}
			c.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if broken.Load() {
					return nil, errors.New("no way")
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		})
	broken.Store(true)
	resp, _ := get(t, p.url+"/x")
	assert.Equal(t, 502, resp.StatusCode)
	alert := <-heard
	assert.Equal(t, AlertDown, alert.Alert)
	assert.Contains(t, alert.Text, "no way")
	broken.Store(false)
	resp, _ = get(t, p.url+"/x")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, AlertUp, (<-heard).Alert)
	assert.Contains(t, p.metric(t, "sluice_alerts_total"), `{result="suppressed"} 0`)
}
