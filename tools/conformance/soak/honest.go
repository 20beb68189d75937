package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// got is what one honest request got.
type got struct {
	at, took time.Duration // at is since the start
	code     int           // 0 without an answer
	reason   string        // of a refusal by a policy
}

// crowd sends requests at a fixed rate, whatever the answers (an open model), and
// keeps what they got.
type crowd struct {
	client *http.Client
	begin  time.Time

	mu  sync.Mutex
	all []got
}

// from returns a client whose connections come from an address.
func from(ip string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: 5 * time.Second}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 256, DisableCompression: true},
		Timeout:   10 * time.Second,
	}
}

// send sends so many requests a second until the context ends, and waits for all of
// them.
func (c *crowd) send(ctx context.Context, rate int, url string) {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			under.Go(func() { c.ask(url) })
		}
	}
}

func (c *crowd) ask(url string) {
	began := time.Now()
	g := got{at: began.Sub(c.begin)}
	if resp, err := c.client.Get(url); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		g.code, g.reason = resp.StatusCode, resp.Header.Get("X-Throttle-Reason")
	}
	g.took = time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, g)
}

// which are the times that these requests took.
func (c *crowd) which(keep func(got) bool) times {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all times
	for _, g := range c.all {
		if keep(g) {
			all = append(all, g.took)
		}
	}
	slices.Sort(all)
	return all
}

// times are sorted durations.
type times []time.Duration

func (t times) quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[min(len(t)-1, int(q*float64(len(t))))]
}
