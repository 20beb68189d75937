package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/sim/engine"
)

// figure is a row of a table.
type figure struct {
	// name is the path behind the client's name in the result; behind service. it is a
	// figure of the service that the client calls.
	name, label string
	write       func(x float64) string
	// of is the path of the count that this one is a part of, empty for none.
	of string
}

// busiest is the figure that is not in the result: it is taken from the timeline.
const busiest = "busiest 10s"

var figures = []figure{
	{name: "calls", label: "calls", write: count},
	{name: "ok", label: "ended ok", write: count, of: "calls"},
	{name: "failed", label: "failed", write: count, of: "calls"},
	{name: "refused", label: "refused", write: count, of: "calls"},
	{name: "attempts", label: "attempts", write: count},
	{name: "amplification", label: "attempts a call", write: ratio},
	{name: "latency.p50", label: "median latency", write: seconds},
	{name: "latency.p99", label: "99th percentile of latency", write: seconds},
	{name: "latency.p999", label: "99.9th percentile of latency", write: seconds},
	{name: "latency.max", label: "greatest latency", write: seconds},
	{name: "recovery", label: "time from the end of the fault to the old goodput", write: seconds},
	{name: "breakers.breaker.opened", label: "times that the breaker opened", write: count},
	{name: "breakers.breaker.delay", label: "time from the fault to the open breaker", write: seconds},
	{name: "breakers.breaker.open", label: "time open or half-open", write: seconds},
	{name: "service.dropped", label: "requests that found no room", write: count, of: "service.arrived"},
	{name: "service.wasted", label: "answers that no caller waited for", write: count, of: "service.arrived"},
	{name: "service.utilization", label: "servers in use", write: percent},
	{name: "service.in_system", label: "requests in the service, average", write: ratio},
	{name: "service.wait.p99", label: "99th percentile of the wait in the service", write: seconds},
	{name: busiest, label: "most attempts within 10 s", write: count},
}

// table writes a table of figures: the text has its clients and its figures.
func (r *run) table(text string) (string, error) {
	columns, rows, ok := strings.Cut(text, ": ")
	if !ok {
		return "", fmt.Errorf("found %q; allowed: clients, a colon and figures", text)
	}
	clients := strings.Split(columns, ", ")
	var out strings.Builder
	out.WriteString("| | | " + strings.Join(clients, " | ") + " |\n|---|---|" + strings.Repeat("---|", len(clients)) + "\n")
	for _, name := range strings.Split(rows, ", ") {
		row := rowOf(name)
		out.WriteString("| " + row.label + " | ")
		if name != busiest {
			out.WriteString("`" + strings.Replace(name, "service.", "services.*.", 1) + "`")
		}
		out.WriteString(" |")
		known := false
		for _, client := range clients {
			cell, ok, err := r.cell(client, row)
			if err != nil {
				return "", err
			}
			known = known || ok
			out.WriteString(" " + cell + " |")
		}
		if !known {
			return "", fmt.Errorf("found no figure %s", name)
		}
		out.WriteString("\n")
	}
	return out.String(), nil
}

// rowOf returns the figure of a name. Refusals have the name of a step and a reason.
func rowOf(name string) figure {
	if i := slices.IndexFunc(figures, func(f figure) bool { return f.name == name }); i >= 0 {
		return figures[i]
	}
	step, reason, _ := strings.Cut(strings.TrimPrefix(name, "refusals."), ":")
	return figure{name: name, label: "refused by " + step + " for " + reason, write: count, of: "calls"}
}

// number writes a figure of a client in a sentence. With % behind its name it is the
// share of a count.
func (r *run) number(text string) (string, error) {
	client, name, _ := strings.Cut(text, " ")
	name, share := strings.CutSuffix(name, "%")
	f := rowOf(name)
	x, ok, err := r.value(client, f.name)
	if err == nil && (!ok || math.IsNaN(x)) {
		err = fmt.Errorf("found no figure %s", text)
	}
	if err != nil || !share {
		return f.write(x), err
	}
	if f.of == "" {
		return "", fmt.Errorf("%s: found no share, only counts have one", text)
	}
	whole, _, err := r.value(client, f.of)
	return percent(x / whole), err
}

// cell writes a figure of a client with its share. It is false where the client has no
// such figure.
func (r *run) cell(client string, f figure) (text string, ok bool, err error) {
	x, ok, err := r.value(client, f.name)
	if err != nil || !ok {
		return "", ok, err
	}
	if math.IsNaN(x) {
		return "none", true, nil
	}
	if f.of == "" {
		return f.write(x), true, nil
	}
	whole, _, err := r.value(client, f.of)
	return f.write(x) + " (" + percent(x/whole) + ")", true, err
}

// value returns a figure of a client or of the service that it calls: not a number for
// a time that there is not, and false for a figure that the result does not have.
func (r *run) value(client, name string) (x float64, ok bool, err error) {
	i := slices.IndexFunc(r.result.Clients, func(c engine.ClientResult) bool { return c.Name == client })
	if i < 0 {
		return 0, false, fmt.Errorf("found no client %s", client)
	}
	if name == busiest {
		return busiestOf(r.result.Timeline.Clients[i].Attempts, int(10*time.Second/r.result.Timeline.Width)), true, nil
	}
	path := "clients." + client + "." + name
	if rest, ok := strings.CutPrefix(name, "service."); ok {
		path = "services." + r.scenario.Services[r.scenario.Clients[i].To].Name + "." + rest
	}
	if x, ok = r.figures.Number(path); !ok && slices.Contains(r.figures.Paths, path) {
		return math.NaN(), true, nil
	}
	return x, ok, nil
}

// busiestOf returns the greatest sum of so many counts in a row.
func busiestOf(counts []uint32, width int) float64 {
	sum, most := 0, 0
	for i, n := range counts {
		sum += int(n)
		if i >= width {
			sum -= int(counts[i-width])
		}
		most = max(most, sum)
	}
	return float64(most)
}

func count(x float64) string   { return strconv.FormatFloat(x, 'f', 0, 64) }
func ratio(x float64) string   { return strconv.FormatFloat(x, 'f', 2, 64) }
func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// seconds writes a time with three digits.
func seconds(x float64) string {
	d := time.Duration(math.Round(x * 1e9))
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
