// Command bench measures the commands and prints a page of tables:
//
//	go run ./cmd/sluice/internal/bench -o bench/COMMANDS.md
//
// It compares sluice serve with Go's own httputil.ReverseProxy under the same load,
// and runs it alone while its upstream browns out. All of it is on the loopback, each
// part a process of its own; both proxies have the same connections to the
// upstream and the same buffers, so that what differs is the policy. Rounds
// alternate, and the table has their medians. sluice eval decides long logs, and sluice
// simulate runs long scenarios.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 30, "rounds of each proxy; 0 for no comparison")
	span := flag.Duration("time", 500*time.Millisecond, "length of a round")
	clients := flag.Int("clients", 64, "connections of the load generator")
	brownout := flag.Duration("brownout", 15*time.Second, "length of the brown-out; 0 for none")
	lines := flag.Int("lines", 1_000_000, "lines of a log for eval; 0 for none")
	calls := flag.Int("calls", 10_000_000, "calls of a simulation; 0 for none")
	output := flag.String("o", "", "write the page to this file, too")
	role := flag.String("role", "", "used by the program itself")
	upstream := flag.String("upstream", "", "used by the program itself")
	flag.Parse()
	err := play(*role, *upstream)
	if *role == "" {
		page := &bytes.Buffer{}
		out := io.MultiWriter(os.Stdout, page)
		title(out)
		if err = measure(out, *rounds, *clients, *span, *brownout, *lines, *calls); err == nil && *output != "" {
			err = os.WriteFile(*output, page.Bytes(), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// play is what this program does as a part of the comparison.
func play(role, upstream string) error {
	switch role {
	case "upstream":
		return serveUpstream()
	case "plain":
		return servePlain(upstream)
	case "sluice":
		return serveSluice(upstream)
	case "eval":
		return evaluate()
	case "simulate":
		return simulate()
	}
	return nil
}

func title(out io.Writer) {
	fmt.Fprintf(out, "# The commands, measured\n\n"+
		"Written by `go run ./cmd/sluice/internal/bench -o bench/COMMANDS.md`. Do not edit. Libraries beside their peers\n"+
		"are in [RESULTS.md](RESULTS.md).\n\n"+
		"%s, %s/%s, %d CPUs, %s.\n", time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

func measure(out io.Writer, rounds, clients int, span, brownout time.Duration, lines, calls int) error {
	service, err := start("upstream", "")
	if err != nil {
		return err
	}
	defer service.stop()
	if rounds > 0 {
		if err := compare(out, service.address, rounds, clients, span); err != nil {
			return err
		}
	}
	if brownout > 0 {
		if err := brown(out, service.address, clients, brownout); err != nil {
			return err
		}
	}
	if lines > 0 {
		if err := logs(out, lines); err != nil {
			return err
		}
	}
	if calls > 0 {
		return simulations(out, calls)
	}
	return nil
}

// process is a part of the comparison.
type process struct {
	cmd     *exec.Cmd
	address string
	admin   string
	stop    func()
}

// start runs this program in a role, and waits until it says where it listens.
func start(role, upstream string) (*process, error) {
	cmd := exec.Command(os.Args[0], "-role", role, "-upstream", upstream)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	hold, err := cmd.StdinPipe() // the end of it ends the process
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	p.stop = func() {
		hold.Close()
		_ = cmd.Wait() // what it was worth has been measured
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s did not start: %w", role, err)
	}
	p.address, p.admin, _ = strings.Cut(strings.TrimSpace(line), " ")
	return p, nil
}

// compare compares the proxies. Rounds are short and alternate, and the ratio is
// the median of its neighbours, so that whatever else the machine does
// falls on both.
func compare(out io.Writer, upstream string, rounds, clients int, span time.Duration) error {
	roles := []string{"plain", "sluice"}
	parts, figures := map[string]*process{}, map[string]*figure{}
	for _, role := range roles {
		p, err := start(role, upstream)
		if err != nil {
			return err
		}
		defer p.stop()
		parts[role], figures[role] = p, &figure{}
	}
	for round := range rounds + 1 {
		for _, role := range roles {
			p, f := parts[role], figures[role]
			before := cpu(p.cmd.Process.Pid)
			result, err := load(p.address, "/api/x", clients, span, 0, nil)
			switch {
			case err != nil:
				return err
			case result.codes[200] != result.count:
				return fmt.Errorf("%s answered %v", role, result.codes)
			case round == 0: // to warm up
				continue
			}
			f.rates = append(f.rates, float64(result.count)/span.Seconds())
			f.tails = append(f.tails, result.quantile(0.99).Seconds()*1e3)
			f.count += result.count
			f.used += cpu(p.cmd.Process.Pid) - before
		}
	}
	plain, own := figures["plain"], figures["sluice"]
	fmt.Fprintf(out, "\n## sluice serve beside httputil.ReverseProxy\n\n"+
		"%d connections, medians of %d rounds of %s, which alternate; the ratio is the median of its neighbours.\n"+
		"`serve` sets GOGC to 400 unless the environment says otherwise.\n\n"+
		"| proxy | requests/s | CPU us/request | p99 ms |\n|---|---|---|---|\n", clients, rounds, span)
	for i, name := range []string{"httputil.ReverseProxy", "sluice serve"} {
		f := figures[roles[i]]
		fmt.Fprintf(out, "| %s | %.0f | %.1f | %.2f |\n", name, median(f.rates), f.cost(), median(f.tails))
	}
	fmt.Fprintf(out, "| ratio | %.2f | %.2f | %.2f |\n", median(over(own.rates, plain.rates)), own.cost()/plain.cost(), median(over(own.tails, plain.tails)))
	return nil
}

// figure is what the rounds of a proxy gave.
type figure struct {
	rates, tails []float64 // requests a second, p99 in milliseconds
	count        int
	used         time.Duration // of the processor
}

// cost returns the microseconds of processor time that a request takes.
func (f *figure) cost() float64 { return f.used.Seconds() * 1e6 / float64(max(1, f.count)) }

func over(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] / b[i]
	}
	return list
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
