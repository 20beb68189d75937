package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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
// keeps what they got. It is a process of its own: the collector and the goroutines of
// hostile clients would add to what it measures.
type crowd struct {
	client *http.Client
	begin  time.Time

	mu  sync.Mutex
	all []got
}

// sendApart has a process send so many requests a second from an address for a time, and
// takes over what they got.
func (c *crowd) sendApart(ctx context.Context, span time.Duration, rate int, ip, url string) error {
	cmd := exec.CommandContext(ctx, os.Args[0], "-role", "crowd", "-time", span.String(), "-rate", strconv.Itoa(rate),
		"-from", ip, "-to", url, "-begin", strconv.FormatInt(c.begin.UnixNano(), 10))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("requests to %s: %w", url, err)
	}
	c.all, err = readGot(string(out))
	return err
}

// crowdApart is that process.
func crowdApart(ctx context.Context, o options, ip, url string, begin int64) error {
	c := &crowd{client: from(ip), begin: time.Unix(0, begin)}
	running, over := context.WithDeadline(ctx, c.begin.Add(o.span))
	defer over()
	c.send(running, o.rate, url)
	return writeGot(os.Stdout, c.all)
}

func writeGot(w io.Writer, all []got) error {
	for _, g := range all {
		if _, err := fmt.Fprintf(w, "%d %d %d %q\n", g.at, g.took, g.code, g.reason); err != nil {
			return err
		}
	}
	return nil
}

func readGot(text string) (all []got, err error) {
	for line := range strings.Lines(text) {
		var g got
		if _, err := fmt.Sscanf(line, "%d %d %d %q\n", &g.at, &g.took, &g.code, &g.reason); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, g)
	}
	return all, nil
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
