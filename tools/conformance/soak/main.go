// Command soak sends hostile clients of every kind to sluice serve, beside honest load at
// a fixed rate and a brown-out of the upstream, and checks what is left at the end:
//
//	tools/conformance/soak.sh -time 10m
//
// The controls, httputil.ReverseProxy as people write it and nginx, get the same. Each
// proxy, the upstream and each crowd of honest clients is a process of its own on the
// loopback. Hostile clients come
// from 127.0.2.x, an address for each kind, honest ones from 127.0.1.1. The upstream
// browns out from 40 % to 60 % of the time: it takes 500 ms and answers 503.
//
// The exit code is 1 when a check of sluice serve fails. Linux alone has the addresses
// and the files under /proc that it needs.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

//go:embed policy.yaml
var policy []byte

// options are the flags.
type options struct {
	span         time.Duration
	rate         int
	sluice       string
	nginx        string
	targets      string
	output       string
	settle       time.Duration
	hostileEvery time.Duration
}

func main() {
	var o options
	role := flag.String("role", "", "used by the program itself")
	to := flag.String("to", "", "used by the program itself")
	ip := flag.String("from", "", "used by the program itself")
	begin := flag.Int64("begin", 0, "used by the program itself")
	flag.DurationVar(&o.span, "time", 10*time.Minute, "how long each proxy is attacked")
	flag.IntVar(&o.rate, "rate", 100, "honest requests a second")
	flag.DurationVar(&o.hostileEvery, "every", time.Second, "a new hostile client of each kind comes so often")
	flag.DurationVar(&o.settle, "settle", 130*time.Second,
		"how long proxies have to get rid of hostile clients, which stay connected; sluice serve keeps idle connections 120 s")
	flag.StringVar(&o.sluice, "sluice", "", "the program sluice")
	flag.StringVar(&o.nginx, "nginx", "", "the program nginx; empty for none")
	flag.StringVar(&o.targets, "targets", "sluice,reverseproxy,nginx", "which proxies")
	flag.StringVar(&o.output, "o", "", "write the page to this file, too")
	flag.Parse()
	var err error
	switch *role {
	case "upstream":
		err = serveUpstream()
	case "plain":
		err = servePlain(*to)
	case "crowd":
		err = crowdApart(context.Background(), o, *ip, *to, *begin)
	default:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "sluice-soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []*result
	for name := range strings.SplitSeq(o.targets, ",") {
		if name == "nginx" && o.nginx == "" {
			fmt.Fprintln(os.Stderr, "no nginx: left out")
			continue
		}
		r, err := attack(ctx, o, dir, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, r)
	}
	page := table(o, all)
	fmt.Print(page)
	if o.output != "" {
		if err := os.WriteFile(o.output, []byte(page), 0o644); err != nil {
			return err
		}
	}
	var failed []error
	for _, r := range all {
		if r.name != "sluice" {
			continue
		}
		for _, c := range r.checks(o) {
			if !c.ok {
				failed = append(failed, errors.New(c.text))
			}
		}
	}
	return errors.Join(failed...)
}
