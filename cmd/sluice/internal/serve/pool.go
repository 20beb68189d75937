package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// pool sends requests to one of several upstreams: of two that are drawn at random to
// the one with fewer requests under way, ejected ones left out.
//
// It is below the policy, so that each attempt of a retry or a hedge chooses anew.
type pool struct {
	upstreams []*upstream
	random    func(n int) int // 0 to n-1; safe for concurrent use
}

// try is a request at one upstream.
type try struct {
	upstream *upstream
	pass     sluice.Pass // of the upstream's breaker, where voting
	voting   bool
}

// RoundTrip implements http.RoundTripper. A request that an upstream got nothing of,
// because it could not be connected to, goes to another one, each at most once.
func (p *pool) RoundTrip(req *http.Request) (*http.Response, error) {
	body := newSentBody(req)
	var tried []*upstream
	for {
		var t try
		p.choose(&t, tried)
		resp, err := p.send(&t, req, body)
		if err == nil || !unsent(err) || body.touched() || req.Context().Err() != nil || len(tried)+1 == len(p.upstreams) {
			body.release()
			return resp, err
		}
		t.upstream.meter.failovers.Inc()
		tried = append(tried, t.upstream)
	}
}

// choose chooses an upstream that was not tried: an ejected one whose time for a request
// that probes it has come, else one of those that are not ejected, else any.
func (p *pool) choose(t *try, tried []*upstream) {
	var room [16]*upstream
	left := room[:0]
	for _, u := range p.upstreams {
		switch {
		case slices.Contains(tried, u):
		case !u.state.ejected.Load():
			left = append(left, u)
		case u.state.mayProbe():
			if t.pass, t.voting = u.state.answers.TryAcquire(); t.voting {
				t.upstream = u
				return
			}
		}
	}
	if len(left) == 0 {
		for _, u := range p.upstreams {
			if !slices.Contains(tried, u) {
				left = append(left, u)
			}
		}
	}
	t.upstream = left[0]
	if n := len(left); n > 1 {
		first, second := p.random(n), p.random(n-1)
		if second >= first {
			second++
		}
		t.upstream = left[first]
		if left[second].load.Load() < left[first].load.Load() {
			t.upstream = left[second]
		}
	}
	if t.upstream.state.answers != nil {
		// Where it refuses, as many upstreams as may be are ejected already.
		t.pass, t.voting = t.upstream.state.answers.TryAcquire()
	}
}

// send sends a request to the upstream of a try and counts what comes of it.
func (p *pool) send(t *try, req *http.Request, body *sentBody) (*http.Response, error) {
	u := t.upstream
	out := req.WithContext(req.Context())
	to := *req.URL
	to.Scheme, to.Host = u.url.Scheme, u.url.Host
	out.URL = &to
	if body != nil {
		out.Body = body.next()
	}
	outcome, answered := reducer.Fail, false
	u.load.Add(1)
	defer func() {
		// After a panic of the transport too.
		if !answered {
			u.load.Add(-1)
		}
		u.meter.count(outcome)
		if t.voting {
			t.pass.Done(outcome)
		}
	}()
	resp, err := u.transport.RoundTrip(out)
	outcome = outcomeOf(req.Context(), body, resp, err)
	if err != nil {
		return nil, err
	}
	answered = true
	countUntilClosed(resp, func() { u.load.Add(-1) })
	return resp, nil
}

// outcomeOf says what an answer or an error means for the upstream. Statuses that an
// upstream gives for itself or what is behind it count against it; 500 does not, for
// one kind of request may cause it at every upstream. What the client did, by leaving or
// with its body, means nothing.
func outcomeOf(ctx context.Context, body *sentBody, resp *http.Response, err error) reducer.Outcome {
	if err == nil && !isUnavailable(resp) {
		return reducer.OK
	}
	var timeout *sluice.TimeoutError
	switch {
	case err != nil && unsent(err) && ctx.Err() == nil:
		return reducer.Fail
	case body.unfinished():
		return reducer.Cancelled
	case ctx.Err() != nil && (!errors.As(context.Cause(ctx), &timeout) || timeout.Step == pipeline.Deadline):
		return reducer.Cancelled // the deadline is the client's
	}
	return reducer.Fail
}

// isUnavailable reports whether an answer says that the upstream cannot serve: 502, 503,
// 504, UNAVAILABLE of gRPC, or a status that is none.
func isUnavailable(resp *http.Response) bool {
	switch status := resp.StatusCode; {
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout, status < 100:
		return true
	}
	return resp.Header.Get("Grpc-Status") == "14" && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/grpc")
}
