package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// result is what an attack on one proxy showed.
type result struct {
	name                string
	span                time.Duration
	honest, limited     *crowd
	direct              *crowd
	inside              times // of refusals of honest requests, by the access log of sluice serve
	before, early, left usage // without load, at 20 % of the time, at the end
	most                usage
	places              string
	open                []time.Duration // since the start, when the breaker was not closed
	admin               int64           // requests to /admin that the upstream got
	held                []string        // how many hostile clients of each kind are connected at the end
	load                [2]string       // averages of the machine, at the start and the end
}

// marks are the times of a brown-out.
func (o options) marks() (brown, healthy time.Duration) { return o.span * 2 / 5, o.span * 3 / 5 }

// recovery is how long a breaker may need to close after the upstream is healthy: the
// time that it is open, and a second to see it.
const recovery = 3 * time.Second

// attack runs the load against one proxy.
func attack(ctx context.Context, o options, dir, name string) (*result, error) {
	upstream, err := start("upstream", "")
	if err != nil {
		return nil, err
	}
	defer upstream.stop()
	p, err := proxy(o, dir, name, upstream.address)
	if err != nil {
		return nil, err
	}
	defer p.stop()

	r := &result{name: name, span: o.span}
	r.load[0] = average()
	// The first request makes what stays: pools, a connection to the upstream.
	if _, err := get("http://" + p.address + "/honest/x"); err != nil {
		return nil, err
	}
	if r.before, err = p.quiet(ctx, 20*time.Second, usage{}); err != nil {
		return nil, err
	}

	begin := time.Now()
	fmt.Fprintf(os.Stderr, "%s: %s from %s, load average %s\n", name, o.span, begin.UTC().Format(time.TimeOnly), r.load[0])
	running, over := context.WithDeadline(ctx, begin.Add(o.span))
	defer over()
	hold, release := context.WithCancel(ctx)
	defer release()
	r.honest, r.limited, r.direct = &crowd{begin: begin}, &crowd{begin: begin}, &crowd{begin: begin}
	var all sync.WaitGroup
	crowds := make(chan error, 3)
	send := func(c *crowd, rate int, ip, url string) {
		all.Go(func() { crowds <- c.sendApart(ctx, o.span, max(1, rate), ip, url) })
	}
	send(r.honest, o.rate, "127.0.1.1", "http://"+p.address+"/honest/x")
	send(r.limited, o.rate/5, "127.0.1.2", "http://"+p.address+"/limited/x")
	send(r.direct, o.rate/5, "127.0.1.3", "http://"+upstream.address+"/")
	connected := make([]atomic.Int64, len(kinds))
	wait := attackers(running, hold, o.hostileEvery, p.address, connected)
	all.Go(func() { r.brown(running, o, upstream.address) })
	err = r.watch(running, o, p, begin)
	all.Wait()
	for range cap(crowds) {
		err = errors.Join(err, <-crowds)
	}
	if err != nil {
		return nil, err
	}
	if p.access != "" {
		if r.inside, err = refusalsInside(p.access); err != nil {
			return nil, err
		}
	}
	// Hostile clients are still connected.
	if r.left, err = p.quiet(ctx, o.settle, r.before); err != nil {
		return nil, err
	}
	for i := range connected {
		if n := connected[i].Load(); n > 0 {
			r.held = append(r.held, fmt.Sprintf("%d: %s", n, kinds[i].name))
		}
	}
	metrics, err := p.metrics()
	if err != nil {
		return nil, err
	}
	r.places = places(metrics)
	release()
	wait()
	text, err := get("http://" + upstream.address + "/control/counts")
	if err != nil {
		return nil, err
	}
	var seen counts
	if err := json.Unmarshal(text, &seen); err != nil {
		return nil, err
	}
	r.admin = seen.Admin
	r.load[1] = average()
	return r, ctx.Err()
}

// brown lets the upstream brown out for a fifth of the time.
func (r *result) brown(ctx context.Context, o options, upstream string) {
	from, to := o.marks()
	for _, change := range []struct {
		at time.Duration
		on string
	}{{from, "true"}, {to, "false"}} {
		wait(ctx, time.Until(r.honest.begin.Add(change.at)))
		put, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+upstream+"/control/brown?on="+change.on, nil)
		if err != nil {
			continue
		}
		if resp, err := control.Do(put); err == nil {
			resp.Body.Close()
		}
	}
}

// watch looks at the proxy each second until the context ends.
func (r *result) watch(ctx context.Context, o options, p *process, begin time.Time) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		u, err := p.usage()
		if err != nil {
			return err
		}
		at := time.Since(begin)
		if at < o.span/5 {
			r.early = u
		}
		r.most = usage{max(r.most.descriptors, u.descriptors), max(r.most.memory, u.memory), max(r.most.goroutines, u.goroutines)}
		metrics, err := p.metrics()
		if err != nil {
			return err
		}
		if state, ok := metrics[breakerClosed]; ok && state != 1 {
			r.open = append(r.open, at)
		}
	}
}

// breakerClosed is the metric of the breaker of policy.yaml, which is 1 while it is closed.
const breakerClosed = `sluice_breaker_state{policy="api",state="closed",step="breaker"}`

// quiet waits, at most so long, until a proxy has no more than before, and returns what
// it has. The descriptors and goroutines of looking at it are in both.
func (p *process) quiet(ctx context.Context, most time.Duration, before usage) (usage, error) {
	end := time.Now().Add(most)
	for {
		u, err := p.usage()
		none := u.descriptors <= before.descriptors && u.goroutines <= before.goroutines
		if err != nil || none || time.Now().After(end) || ctx.Err() != nil {
			return u, err
		}
		wait(ctx, time.Second)
	}
}

// places says how many places of each bulkhead are taken, of the metrics.
func places(metrics map[string]float64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if strings.HasPrefix(name, "sluice_free{") && strings.Contains(name, `step="all"`) {
			all = append(all, fmt.Sprint(allPlaces-metrics[name]))
		}
		if name == "sluice_http_requests_in_flight" {
			all = append(all, fmt.Sprint(metrics[name]))
		}
	}
	return strings.Join(all, ", ")
}

// allPlaces is how many the bulkhead "all" of policy.yaml has.
const allPlaces = 1000

// average is the load average of the machine over a minute.
func average() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
