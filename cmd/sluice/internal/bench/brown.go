package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// phase is a part of the brown-out.
type phase struct {
	name                  string
	from, to              time.Duration
	count, good, failed   int
	refused               []time.Duration
	reasons               map[string]int
	goroutines, inFlights float64 // the most
}

// pause is how long a client of the brown-out waits after any answer before the next
// request: short, but long enough that the processor is not the limit.
const pause = 20 * time.Millisecond

// brown shows a brown-out: the upstream takes 500 ms and then fails.
func brown(out io.Writer, upstream string, clients int, length time.Duration) error {
	p, err := start("sluice", upstream)
	if err != nil {
		return err
	}
	defer p.stop()
	const before, after = 3 * time.Second, 5 * time.Second
	phases := []*phase{
		{name: "before", from: 0, to: before},
		{name: "brown-out", from: before, to: before + length},
		{name: "coming back", from: before + length, to: before + length + 2*time.Second},
		{name: "after", from: before + length + 2*time.Second, to: before + length + after},
	}
	var mu sync.Mutex
	at := func(t time.Duration) *phase {
		i := slices.IndexFunc(phases, func(p *phase) bool { return t < p.to })
		return phases[max(0, i)]
	}
	begin := time.Now()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			goroutines, inFlight, err := gauges(ctx, p.admin)
			if err == nil {
				mu.Lock()
				now := at(time.Since(begin))
				now.goroutines, now.inFlights = max(now.goroutines, goroutines), max(now.inFlights, inFlight)
				mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	timer := time.AfterFunc(before, func() { _ = set(ctx, upstream, length) })
	defer timer.Stop()
	total := before + length + after
	if _, err := load(p.address, "/api/x", clients, total, pause, func(o outcome) {
		mu.Lock()
		defer mu.Unlock()
		now := at(o.at)
		now.count++
		switch {
		case o.reason != "":
			now.refused = append(now.refused, o.took)
			if now.reasons == nil {
				now.reasons = map[string]int{}
			}
			now.reasons[o.reason]++
		case o.code == http.StatusOK:
			now.good++
		default:
			now.failed++
		}
	}); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n## sluice serve in a brown-out\n\n"+
		"The upstream takes 500 ms and then fails, for %s; %d connections, which ask again %s after any answer.\n\n"+
		"| phase | requests | good/s | failed | refused | p99 of a refusal, ms | most goroutines |\n|---|---|---|---|---|---|---|\n",
		length, clients, pause)
	for _, p := range phases {
		s := summary{took: p.refused}
		tail := "-"
		if len(p.refused) > 0 {
			tail = fmt.Sprintf("%.2f", s.quantile(0.99).Seconds()*1e3)
		}
		fmt.Fprintf(out, "| %s | %d | %.0f | %d | %d | %s | %.0f |\n", p.name, p.count, float64(p.good)/(p.to-p.from).Seconds(),
			p.failed, len(p.refused), tail, p.goroutines)
	}
	return nil
}

// set begins the brown-out.
func set(ctx context.Context, upstream string, length time.Duration) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+upstream+"/brown?for="+length.String(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
