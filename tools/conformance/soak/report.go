package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// check is one thing that must hold of sluice serve.
type check struct {
	ok   bool
	text string
}

// mostRefusal is how long 99 of 100 refusals may take.
const mostRefusal = 5 * time.Millisecond

func refused(g got) bool { return g.reason != "" }

// healthy are the honest requests while the upstream was healthy for a while.
func (r *result) healthy(o options) func(got) bool {
	brown, healthy := o.marks()
	return func(g got) bool { return g.at < brown-time.Second || g.at > healthy+recovery }
}

// refusals are the refusals of both crowds.
func (r *result) refusals() times {
	all := append(r.honest.which(refused), r.limited.which(refused)...)
	slices.Sort(all)
	return all
}

func (r *result) checks(o options) []check {
	calm := r.healthy(o)
	var opened []time.Duration
	for _, at := range r.open {
		if calm(got{at: at}) {
			opened = append(opened, at.Round(time.Second))
		}
	}
	asked := len(r.honest.which(calm))
	good := len(r.honest.which(func(g got) bool { return calm(g) && g.code == 200 }))
	refusals := r.refusals()
	growth := r.left.memory - r.early.memory
	return []check{
		{len(refusals) > 0 && refusals.quantile(.99) < mostRefusal,
			fmt.Sprintf("p99 of %d refusals of honest requests: %s", len(refusals), ms(refusals.quantile(.99)))},
		{good*1000 >= asked*999, fmt.Sprintf("%d of %d honest requests served while the upstream was healthy", good, asked)},
		{r.places == "0, 0", "bulkhead places taken at the end, requests under way: " + r.places},
		{r.left.goroutines <= r.before.goroutines, fmt.Sprintf("goroutines: %d before, %d at the end", r.before.goroutines, r.left.goroutines)},
		{r.left.descriptors <= r.before.descriptors, fmt.Sprintf("descriptors: %d before, %d at the end", r.before.descriptors,
			r.left.descriptors)},
		{growth <= max(r.early.memory/4, 8<<20), fmt.Sprintf("resident memory: %s at 20 %% of the time, %s at the end",
			mb(r.early.memory), mb(r.left.memory))},
		{len(opened) == 0, fmt.Sprintf("seconds in which the breaker was not closed although the upstream was healthy: %v", opened)},
		{r.admin <= 1, fmt.Sprintf("requests to /admin, which has a limit of one an hour, that the upstream got: %d", r.admin)},
	}
}

func table(o options, all []*result) string {
	var page strings.Builder
	fmt.Fprintf(&page, "%s, %s/%s, %d CPUs, %s. %s for each proxy; %d honest requests a second to the service, %d to a route with a limit of 10/s;\n"+
		"a new hostile client of each of %d kinds every %s. The upstream browns out from 40 %% to 60 %% of the time.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), o.span, o.rate,
		max(1, o.rate/5), len(kinds), o.hostileEvery)
	head := []string{"|"}
	for _, r := range all {
		head = append(head, r.name+" |")
	}
	fmt.Fprintln(&page, "|", strings.Join(head, " "))
	fmt.Fprintln(&page, "|"+strings.Repeat("---|", len(all)+1))
	row := func(name string, value func(r *result) string) {
		fmt.Fprint(&page, "| ", name, " |")
		for _, r := range all {
			fmt.Fprint(&page, " ", cmp.Or(value(r), "-"), " |")
		}
		fmt.Fprintln(&page)
	}
	brown := func(r *result) func(got) bool {
		from, to := o.marks()
		return func(g got) bool { return g.at >= from+time.Second && g.at < to }
	}
	row("healthy: honest requests served", func(r *result) string {
		calm := r.healthy(o)
		asked := len(r.honest.which(calm))
		good := len(r.honest.which(func(g got) bool { return calm(g) && g.code == 200 }))
		return fmt.Sprintf("%d of %d", good, asked)
	})
	row("healthy: p50, p99 of an honest request through the proxy", func(r *result) string {
		return spread(r.honest.which(r.healthy(o)))
	})
	row("straight to the upstream at the same time", func(r *result) string {
		return spread(r.direct.which(every))
	})
	row("brown-out: p50, p99 of an honest request", func(r *result) string {
		return spread(r.honest.which(brown(r)))
	})
	row("refusals of honest requests", func(r *result) string { return fmt.Sprint(len(r.refusals())) })
	row("p50, p99 of a refusal", func(r *result) string { return spread(r.refusals()) })
	row("p50, p99 of a refusal inside sluice serve", func(r *result) string { return spread(r.inside) })
	row("p99 of a refusal, as a multiple of that straight to the upstream", func(r *result) string {
		if t := r.refusals(); len(t) > 0 {
			return fmt.Sprintf("%.2f", float64(t.quantile(.99))/float64(r.direct.which(every).quantile(.99)))
		}
		return ""
	})
	row("requests to /admin at the upstream", func(r *result) string { return fmt.Sprint(r.admin) })
	row("places taken, requests under way at the end", func(r *result) string { return r.places })
	row("goroutines before, most, at the end", func(r *result) string {
		if r.before.goroutines == 0 {
			return ""
		}
		return fmt.Sprintf("%d, %d, %d", r.before.goroutines, r.most.goroutines, r.left.goroutines)
	})
	row("descriptors before, most, at the end", func(r *result) string {
		return fmt.Sprintf("%d, %d, %d", r.before.descriptors, r.most.descriptors, r.left.descriptors)
	})
	row("resident memory at 20 %, most, at the end", func(r *result) string {
		return mb(r.early.memory) + ", " + mb(r.most.memory) + ", " + mb(r.left.memory)
	})
	row("hostile clients that are connected at the end", func(r *result) string { return cmp.Or(strings.Join(r.held, "<br>"), "none") })
	row("load average of the machine, start and end", func(r *result) string { return r.load[0] + ", " + r.load[1] })
	for _, r := range all {
		if r.name != "sluice" {
			continue
		}
		fmt.Fprintln(&page, "\n| check of sluice serve | |\n|---|---|")
		for _, c := range r.checks(o) {
			verdict := "holds"
			if !c.ok {
				verdict = "FAILS"
			}
			fmt.Fprintf(&page, "| %s | %s |\n", c.text, verdict)
		}
	}
	return page.String()
}

func every(got) bool { return true }

// spread is the median and the 99th percentile, empty without any.
func spread(t times) string {
	if len(t) == 0 {
		return ""
	}
	return ms(t.quantile(.5)) + ", " + ms(t.quantile(.99))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

func mb(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
