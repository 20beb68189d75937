package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// caller makes a call and returns its result.
type caller interface {
	call(ctx context.Context, id int) (Result, string)
}

// client sends the attempts of one side over connections of its own.
type client struct {
	http     *http.Client
	url      string
	start    time.Time
	recorder *recorder
}

func newClient(url string, start time.Time, r *recorder) *client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: time.Second}).DialContext,
		MaxIdleConnsPerHost: 256,
		DisableCompression:  true,
	}
	return &client{http: &http.Client{Transport: transport}, url: url, start: start, recorder: r}
}

// close closes the idle connections.
func (c *client) close() { c.http.CloseIdleConnections() }

// attempt sends one request and reads the whole answer.
func (c *client) attempt(ctx context.Context, id, number int) error {
	c.recorder.attempt(Attempt{At: time.Since(c.start), Number: number})
	url := fmt.Sprintf("%s/?call=%d&attempt=%d", c.url, id, number)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return statusError(response.StatusCode)
	}
	return nil
}

// statusError is an answer that is not the one asked for.
type statusError int

func (e statusError) Error() string { return http.StatusText(int(e)) }

// naive is what is written first: a time limit of each attempt, and the next
// attempt at once.
type naive struct {
	*client
	attempts int
	patience time.Duration
}

func (n *naive) call(ctx context.Context, id int) (Result, string) {
	for number := 1; number <= n.attempts; number++ {
		once, cancel := context.WithTimeout(ctx, n.patience)
		err := n.attempt(once, id, number)
		cancel()
		if err == nil {
			return Good, ""
		}
	}
	return Failed, ""
}

// guarded makes its calls through a policy.
type guarded struct {
	*client
	pipeline *sluice.Pipeline
}

// newGuarded compiles the policy. Its breakers' states go to the recorder.
func newGuarded(c *client, p *policy.Policy, seed uint64) (*guarded, error) {
	pipeline, err := sluice.New(p.Policy, sluice.WithSeed(seed), sluice.WithClassify(meaning(&p.Outcomes)))
	if err != nil {
		return nil, err
	}
	pipeline.Listen(func(e sluice.Event) {
		if e.Kind == decision.Change && !e.Shadow {
			c.recorder.change(Change{At: time.Since(c.start), Breaker: e.Step + " " + e.Key, State: e.Mode.String()})
		}
	})
	return &guarded{client: c, pipeline: pipeline}, nil
}

func (g *guarded) call(ctx context.Context, id int) (Result, string) {
	number := 0
	request := sluice.Request{Lookup: func(attribute string) string {
		return map[string]string{"method": http.MethodGet, "path": "/", "ip": "127.0.0.1", "host": "127.0.0.1"}[attribute]
	}}
	_, err := sluice.DoWith(ctx, g.pipeline, request, func(ctx context.Context) (struct{}, error) {
		number++
		return struct{}{}, g.attempt(ctx, id, number)
	})
	var rejected *sluice.RejectedError
	switch {
	case err == nil:
		return Good, ""
	case errors.As(err, &rejected):
		return Refused, rejected.Step + ": " + rejected.Reason.String()
	}
	return Failed, ""
}

// meaning says what an error of an attempt means by the policy's outcomes.
func meaning(o *policy.Outcomes) func(error) reducer.Outcome {
	return func(err error) reducer.Outcome {
		var status statusError
		var dial *net.OpError
		switch {
		case errors.As(err, &status):
			return o.OfStatus(int(status))
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return reducer.Fail
		case errors.As(err, &dial) && dial.Op == "dial", errors.Is(err, syscall.ECONNREFUSED):
			return o.OfFailure(document.Connect)
		}
		return o.OfFailure(document.Reset)
	}
}
