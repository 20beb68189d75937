package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bench/internal/machine"
	"github.com/sluice-go/sluice/internal/envoy"
)

// row is what the rounds of a contender were.
type row struct {
	rate, p50, p99 []float64 // requests a second, microseconds
	cpu, load      []float64 // processor time a request of Envoy and of wrk, microseconds
}

// measure has all contenders take their turns and returns the table.
func (t *table) measure(o options, w *wrk, progress io.Writer) (lines string, err error) {
	list, err := t.contenders()
	if err != nil {
		return "", err
	}
	var upstream string
	if t.upstream {
		up, err := envoy.Start(envoy.Config{})
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, up.Close()) }()
		upstream = up.Address()
	}
	for _, c := range list {
		if c.envoy, err = envoy.Start(envoy.Config{Upstream: upstream, Filters: c.filters}); err != nil {
			return "", fmt.Errorf("%s: %w", c.name, err)
		}
		defer func() { err = errors.Join(err, c.envoy.Close()) }()
	}
	rows := make([]row, len(list))
	for round := -1; round < o.rounds; round++ { // one more, to warm up
		for i := range list {
			// Each round begins with another one.
			at := (i + max(round, 0)) % len(list)
			c := list[at]
			before, err := envoy.CPU(c.envoy.Process())
			if err != nil {
				return "", err
			}
			result, err := w.run(c.envoy.Address(), o.connections, o.each)
			if err != nil {
				return "", fmt.Errorf("%s: %w", c.name, err)
			}
			after, err := envoy.CPU(c.envoy.Process())
			if err != nil {
				return "", err
			}
			if most := max(4, result.Requests/1000); !c.refuses && result.Refused > 0 || c.refuses && result.Requests-result.Refused > most {
				return "", fmt.Errorf("%s refused %d of %d", c.name, result.Refused, result.Requests)
			}
			if round < 0 {
				continue
			}
			n, r := float64(result.Requests), &rows[at]
			r.rate = append(r.rate, n/(float64(result.Micros)/1e6))
			r.p50, r.p99 = append(r.p50, float64(result.P50)), append(r.p99, float64(result.P99))
			r.cpu, r.load = append(r.cpu, micros(after-before)/n), append(r.load, micros(result.cpu)/n)
			fmt.Fprintf(progress, "%s, round %d: %s: %.0f a second\n", t.title, round+1, c.name, r.rate[len(r.rate)-1])
		}
	}
	return format(list, rows), nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// format makes the table. Admitted and refused requests of Sluice are compared with the
// requests of local_ratelimit, and all with no filter and with the module without callbacks.
func format(list []*contender, rows []row) string {
	var b strings.Builder
	b.WriteString("| filter | requests/s | p50 | p99 | CPU of Envoy | CPU of wrk | to no filter | to an empty module | to local_ratelimit |\n|---|---|---|---|---|---|---|---|---|\n")
	at := func(name string) int {
		return slices.IndexFunc(list, func(c *contender) bool { return c.name == name })
	}
	none, empty := at("no filter"), at("module without callbacks")
	for i, c := range list {
		native := at("local_ratelimit, admitted")
		if c.refuses {
			native = at("local_ratelimit, refused")
		}
		r := &rows[i]
		fmt.Fprintf(&b, "| %s | %.0f | %.0f us | %.0f us | %.1f us | %.1f us | %.2f | %.2f | %.2f |\n", c.name,
			median(r.rate), median(r.p50), median(r.p99), median(r.cpu), median(r.load),
			ratio(r.rate, rows[none].rate), ratio(r.rate, rows[empty].rate), ratio(r.rate, rows[native].rate))
	}
	return b.String()
}

// ratio is the median of the ratios within rounds.
func ratio(a, b []float64) float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] / b[i]
	}
	return median(all)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// The limit of the table of accuracy: a thousand requests a second.
const (
	rate  = 1000
	burst = 50
)

// accuracy counts what each limit admits under a load far above it.
func accuracy(o options, w *wrk, progress io.Writer) (lines string, err error) {
	root, err := envoy.Root()
	if err != nil {
		return "", err
	}
	filters := []contender{{name: "local_ratelimit", filters: []envoy.Filter{envoy.LocalRateLimit(burst, burst, burst*time.Second/rate)}}}
	all, err := contenders(false)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(c *contender) bool { return strings.HasPrefix(c.name, "Sluice") }) {
		for _, state := range []string{"process", "worker"} {
			filters = append(filters, contender{name: "Sluice, " + state, filters: []envoy.Filter{
				sluice(filepath.Join(root, "proxywasm/sluice.wasm"), state, fmt.Sprintf("%d/1s", rate), burst),
			}})
		}
	}
	results := make([]turn, len(filters))
	failures := make([]error, len(filters))
	var group sync.WaitGroup
	for i := range filters {
		e, failed := envoy.Start(envoy.Config{Filters: filters[i].filters})
		if failed != nil {
			return "", fmt.Errorf("%s: %w", filters[i].name, failed)
		}
		defer func() { err = errors.Join(err, e.Close()) }()
		filters[i].envoy = e
	}
	for i := range filters {
		group.Go(func() { results[i], failures[i] = w.run(filters[i].envoy.Address(), o.connections, o.accuracy) })
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## What a limit admits\n\n%d requests a second with a burst of %d, across %d workers, for %s. All are loaded at the same time, so that a moment in which the machine stands still costs all of them the same.\n\n", rate, burst, envoy.Workers, o.accuracy)
	b.WriteString("| filter | offered | times the limit | could be admitted | admitted | share |\n|---|---|---|---|---|---|\n")
	for i, c := range filters {
		result := results[i]
		seconds := float64(result.Micros) / 1e6
		possible, admitted := rate*seconds+burst, float64(result.Requests-result.Refused)
		fmt.Fprintf(progress, "accuracy: %s: %.0f of %.0f\n", c.name, admitted, possible)
		fmt.Fprintf(&b, "| %s | %d | %.0f | %.0f | %.0f | %.2f%% |\n", c.name, result.Requests,
			float64(result.Requests)/(rate*seconds), possible, admitted, 100*admitted/possible)
	}
	return b.String(), nil
}

// head says what was measured, where, and by which command.
func head(o options, w *wrk, version, args string) string {
	return fmt.Sprintf(`# The filter for Envoy, measured

By `+"`%s`"+`: %d rounds of %s for each filter, in turns, medians.
%s with %d connections and one thread on the same machine: %s.
Envoy %s with %d workers, %s.`,
		strings.TrimSpace("go run ./bench/envoy "+args), o.rounds, o.each, w.version, o.connections, machine.Text(), version, envoy.Workers, runtime.Version())
}
