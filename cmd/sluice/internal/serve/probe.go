package serve

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// An upstream is ejected after so many probes in a row that failed, and comes back after
// so many that succeeded.
const (
	failedProbes = 3
	goodProbes   = 2
)

// probe sends a GET to each upstream at once and then in each interval, until the
// context ends. A probe succeeds with a status from 200 to 399 within the interval.
func (p *pool) probe(ctx context.Context, path *url.URL, interval time.Duration) {
	var all sync.WaitGroup
	for _, u := range p.upstreams {
		all.Go(func() {
			ticker := time.NewTicker(interval)
			defer ticker.Stop()
			for {
				u.probe(ctx, path, interval)
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
			}
		})
	}
	all.Wait()
}

// probe sends one probe.
func (u *upstream) probe(ctx context.Context, path *url.URL, timeout time.Duration) {
	pass, ok := u.state.probes.TryAcquire()
	if !ok {
		return
	}
	outcome := reducer.Fail
	defer func() { pass.Done(outcome) }()
	probing, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := u.transport.RoundTrip((&http.Request{
		Method: http.MethodGet, URL: u.url.ResolveReference(path), Host: u.url.Host,
		Header: http.Header{"User-Agent": {"sluice-serve-probe"}},
	}).WithContext(probing))
	result := "fail"
	switch {
	case ctx.Err() != nil:
		outcome = reducer.Cancelled
		return
	case err == nil:
		// What is left of the answer is of no use; the connection is closed then.
		_ = resp.Body.Close()
		if resp.StatusCode >= 200 && resp.StatusCode < 400 {
			outcome, result = reducer.OK, "ok"
		}
	}
	u.meter.probes.WithLabelValues(u.name, result).Inc()
}
