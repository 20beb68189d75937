// Command bench compares sluice serve with Go's own httputil.ReverseProxy under
// the same load, and shows what sluice serve does while its upstream browns out.
// All of it is on the loopback, each part a process of its own:
//
//	go run ./cmd/sluice/internal/serve/bench
//
// Both proxies have the same connections to the upstream and the same buffers,
// so that what differs is the policy. Rounds alternate, and the table has their
// medians.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds of each proxy; 0 for no comparison")
	span := flag.Duration("time", 3*time.Second, "length of a round")
	clients := flag.Int("clients", 64, "connections of the load generator")
	brownout := flag.Duration("brownout", 30*time.Second, "length of the brown-out; 0 for none")
	role := flag.String("role", "", "used by the program itself")
	upstream := flag.String("upstream", "", "used by the program itself")
	flag.Parse()
	if err := run(*role, *upstream, *rounds, *clients, *span, *brownout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(role, upstream string, rounds, clients int, span, brownout time.Duration) error {
	switch role {
	case "upstream":
		return serveUpstream()
	case "plain":
		return servePlain(upstream)
	case "sluice":
		return serveSluice(upstream)
	}
	service, err := start("upstream", "")
	if err != nil {
		return err
	}
	defer service.stop()
	if rounds > 0 {
		if err := compare(service.address, rounds, clients, span); err != nil {
			return err
		}
	}
	if brownout > 0 {
		return brown(service.address, clients, brownout)
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

// compare prints the table.
func compare(upstream string, rounds, clients int, span time.Duration) error {
	roles := []string{"plain", "sluice"}
	rates, costs, tails := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for round := range rounds + 1 {
		for _, role := range roles {
			p, err := start(role, upstream)
			if err != nil {
				return err
			}
			length := span
			if round == 0 {
				length = span / 3 // to warm up
			}
			before := cpu(p.cmd.Process.Pid)
			result, err := load(p.address, "/api/x", clients, length, 0, nil)
			used := cpu(p.cmd.Process.Pid) - before
			p.stop()
			if err != nil {
				return err
			}
			if round == 0 {
				continue
			}
			if result.codes[200] != result.count {
				return fmt.Errorf("%s answered %v", role, result.codes)
			}
			rates[role] = append(rates[role], float64(result.count)/length.Seconds())
			costs[role] = append(costs[role], used.Seconds()*1e6/float64(result.count))
			tails[role] = append(tails[role], result.quantile(0.99).Seconds()*1e3)
		}
	}
	fmt.Printf("%d connections, medians of %d rounds of %s\n\n", clients, rounds, span)
	fmt.Printf("%-24s %12s %14s %10s\n", "proxy", "requests/s", "CPU us/request", "p99 ms")
	for _, role := range roles {
		fmt.Printf("%-24s %12.0f %14.1f %10.2f\n", names[role], median(rates[role]), median(costs[role]), median(tails[role]))
	}
	fmt.Printf("%-24s %12.2f %14.2f %10.2f\n\n", "ratio", median(rates["sluice"])/median(rates["plain"]),
		median(costs["sluice"])/median(costs["plain"]), median(tails["sluice"])/median(tails["plain"]))
	return nil
}

var names = map[string]string{"plain": "httputil.ReverseProxy", "sluice": "sluice serve"}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
