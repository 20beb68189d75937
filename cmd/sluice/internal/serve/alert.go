package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// The kinds of alerts.
const (
	AlertOpened = "breaker-opened"
	AlertClosed = "breaker-closed"
	AlertFull   = "step-full"
	AlertKeys   = "keys-full"
	AlertDown   = "upstream-down"
	AlertUp     = "upstream-up"
)

// AlertKinds are all of them.
var AlertKinds = []string{AlertOpened, AlertClosed, AlertFull, AlertKeys, AlertDown, AlertUp}

// Alerts says what a webhook is told.
type Alerts struct {
	// URL gets a POST for each alert. nil: none.
	URL *url.URL
	// Kinds that are sent, of AlertKinds.
	Kinds []string
	// Count alerts are sent in Period at the most.
	Count  uint32
	Period time.Duration

	transport http.RoundTripper // for tests, nil for the network
}

const (
	// DefaultAlertCount alerts are sent in DefaultAlertPeriod.
	DefaultAlertCount  = 10
	DefaultAlertPeriod = time.Minute
	// queuedAlerts is how many alerts wait for a slow webhook.
	queuedAlerts = 100
	// alertAttempts and alertTimeout bound how a webhook that fails is tried.
	alertAttempts = 5
	alertTimeout  = 10 * time.Second
	// fullEvery is how often a step that stays full is worth an alert.
	fullEvery = time.Minute
)

// Alert is the body of a POST.
type Alert struct {
	Alert string    `json:"alert"`
	At    time.Time `json:"at"`
	// Text is the alert in a sentence; chats show the field of this name.
	Text     string `json:"text"`
	Instance string `json:"instance,omitempty"`
	Policy   string `json:"policy,omitempty"`
	Step     string `json:"step,omitempty"`
	Key      string `json:"key,omitempty"`
	Mode     string `json:"mode,omitempty"`
	By       string `json:"by,omitempty"`
	Why      string `json:"why,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	Cause    string `json:"cause,omitempty"`
	// Suppressed is how many alerts were not sent since the last one: there were too many,
	// or the webhook was too slow.
	Suppressed uint64 `json:"suppressed,omitempty"`
}

// alerts sends alerts. A nil one sends none.
type alerts struct {
	config   Alerts
	instance string
	log      *slog.Logger
	limit    *sluice.Limiter
	full     *sluice.KeyedLimiter // of each step that is full
	client   *http.Client
	queue    chan Alert
	mu       sync.Mutex
	lost     uint64 // alerts that were not sent since the last one
	results  *prometheus.CounterVec
}

// newAlerts returns nil without a URL.
func newAlerts(c *Config, registry *prometheus.Registry) (*alerts, error) {
	config := c.Alerts
	if config.URL == nil {
		return nil, nil
	}
	limit, err := sluice.NewLimiter(sluice.LimiterConfig{Count: config.Count, Period: config.Period})
	if err != nil {
		return nil, fmt.Errorf("the alerts: %w", err)
	}
	full, err := sluice.NewKeyedLimiter(sluice.LimiterConfig{Count: 1, Period: fullEvery})
	if err != nil {
		return nil, err
	}
	pipeline, err := sluice.New(sluice.Policy{Name: "alerts", Steps: []sluice.Step{
		{Config: sluice.RetryConfig{Attempts: alertAttempts, Backoff: sluice.BackoffConfig{
			Kind: sluice.BackoffExponential, Base: time.Second, Max: time.Minute, Jitter: sluice.JitterFull,
		}}},
		{Config: sluice.TimeoutConfig{After: alertTimeout}},
	}})
	if err != nil {
		return nil, err
	}
	next := config.transport
	if next == nil {
		next = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}
	}
	a := &alerts{
		config: config, log: c.Log, limit: limit, full: full, queue: make(chan Alert, queuedAlerts),
		client: &http.Client{Transport: nethttp.NewTransport(next, pipeline), CheckRedirect: noRedirect},
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Name: "alerts_total", Help: "Alerts of the webhook by what became of them.",
		}, []string{"result"}),
	}
	// An alert without a name of the machine is still an alert.
	a.instance, _ = os.Hostname()
	for _, result := range []string{"sent", "failed", "suppressed"} {
		a.results.WithLabelValues(result)
	}
	registry.MustRegister(a.results)
	return a, nil
}

// noRedirect has a redirect be a failure: another host would get what is for the webhook.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// observe is a listener.
func (a *alerts) observe(e sluice.Event) {
	subject := e.Policy + "." + e.Step
	switch {
	case e.Kind == decision.Change:
		kind, text := AlertClosed, "the breaker "+subject+" is "+e.Mode.String()
		switch e.Mode {
		case breaker.Open, breaker.ForcedOpen:
			kind = AlertOpened
		case breaker.HalfOpen:
			return
		}
		if e.Key != "" {
			text += " for the key " + strconv.Quote(e.Key)
		}
		if e.By != "" {
			text += ", changed by " + e.By + " (" + e.Why + ")"
		}
		a.send(Alert{Alert: kind, Text: text, Policy: e.Policy, Step: e.Step, Key: e.Key, Mode: e.Mode.String(), By: e.By, Why: e.Why})
	case e.Kind == decision.Full:
		a.send(Alert{Alert: AlertKeys, Text: "the step " + subject + " has its greatest number of keys", Policy: e.Policy, Step: e.Step})
	case (e.Kind == decision.Reject || e.Kind == decision.Drop) && e.Reason == reducer.ReasonFull && !e.Shadow:
		if slices.Contains(a.config.Kinds, AlertFull) && a.full.Allow(subject) {
			a.send(Alert{Alert: AlertFull, Text: "the step " + subject + " is full and refuses requests", Policy: e.Policy, Step: e.Step})
		}
	}
}

// reached notes that an upstream can or cannot be connected to.
func (a *alerts) reached(upstream string, down bool, err error) {
	if down {
		a.send(Alert{Alert: AlertDown, Text: "the upstream " + upstream + " cannot be connected to: " + err.Error(), Upstream: upstream,
			Cause: "connect"})
		return
	}
	a.send(Alert{Alert: AlertUp, Text: "the upstream " + upstream + " can be connected to again", Upstream: upstream, Cause: "connect"})
}

// ejected notes that an upstream is ejected or recovered.
func (a *alerts) ejected(upstream string, down bool, cause string) {
	switch {
	case a == nil:
	case down:
		a.send(Alert{Alert: AlertDown, Text: "the upstream " + upstream + " is ejected because of its " + cause, Upstream: upstream,
			Cause: cause})
	default:
		a.send(Alert{Alert: AlertUp, Text: "the upstream " + upstream + " recovered", Upstream: upstream})
	}
}

// send queues an alert unless there were too many. It never waits: requests cause alerts.
func (a *alerts) send(alert Alert) {
	if !slices.Contains(a.config.Kinds, alert.Alert) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	alert.At, alert.Instance, alert.Suppressed = time.Now(), a.instance, a.lost
	if a.limit.Allow() {
		select {
		case a.queue <- alert:
			a.lost = 0
			return
		default:
		}
	}
	a.lost++
	a.results.WithLabelValues("suppressed").Inc()
}

// run posts alerts one after another until the context ends.
func (a *alerts) run(ctx context.Context) {
	if a == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case alert := <-a.queue:
			if err := a.post(ctx, &alert); err != nil {
				a.results.WithLabelValues("failed").Inc()
				a.log.Error("an alert cannot be sent", "alert", alert.Alert, "text", alert.Text, "error", err)
				continue
			}
			a.results.WithLabelValues("sent").Inc()
		}
	}
}

// post sends an alert, again when the webhook fails.
func (a *alerts) post(ctx context.Context, alert *Alert) error {
	body, err := json.Marshal(alert)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.URL.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "sluice")
	// It makes the POST repeatable, and lets the webhook recognize a repetition.
	req.Header.Set("Idempotency-Key", rand.Text())
	resp, err := a.client.Do(req)
	if err != nil {
		// The text of the error has the URL, which may have a secret.
		var hidden *url.Error
		if errors.As(err, &hidden) {
			return hidden.Err
		}
		return err
	}
	defer resp.Body.Close()
	// The connection can be used again when the body was read.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the webhook answered %d", resp.StatusCode)
	}
	return nil
}
