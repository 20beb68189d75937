package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/operate"
)

// admin serves what is for those who run the proxy: metrics and the states of health.
//
// /livez is 200 as long as the process serves. /readyz and /healthz are 200 while the
// proxy is of use: they are 503 from the beginning of the end on, and while no
// upstream can be connected to.
func (s *Server) admin() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.meter.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { health(w, nil) })
	ready := func(w http.ResponseWriter, r *http.Request) { health(w, s.ready(r.Context())) }
	mux.HandleFunc("GET /readyz", ready)
	mux.HandleFunc("GET /healthz", ready)
	places := "/metrics /livez /readyz /healthz"
	if s.tracer != nil {
		places += " /trace"
		s.tracer.handle(mux, s.operator)
	}
	if s.operator != nil {
		places += " " + operate.Root + " " + pagePath
		s.operator.handle(mux)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "sluice serve: "+places)
	})
	return s.ownHost(mux)
}

// ownHost refuses requests for names that may be others' (RFC 9110 section 7.4): a page whose
// name a stranger has lead to this address could read what is here. Probes pass, which have
// whatever Host a load balancer sends, and are told nothing else.
func (s *Server) ownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez", "/readyz", "/healthz":
		default:
			if !s.isOwn(r.Host) {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				w.WriteHeader(http.StatusMisdirectedRequest)
				fmt.Fprintf(w, "the Host is %q; allowed: addresses, names without a dot, names of the cluster, and those of --admin-host\n", r.Host)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// ownSuffixes are of names that no stranger can have in the DNS.
var ownSuffixes = []string{".localhost", ".internal", ".cluster.local", ".svc"}

func (s *Server) isOwn(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	own := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	return name != "" && !strings.Contains(name, ".") || slices.ContainsFunc(ownSuffixes, own) || slices.Contains(s.config.AdminHosts, name)
}

// health answers a probe.
func health(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, err.Error()+"\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

var errDraining = errors.New("draining")

// ready returns why requests should go elsewhere, nil where they need not.
func (s *Server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return errDraining
	}
	return reachable(ctx, s.upstreams)
}

// probeTime is how long a probe waits for a connection to the upstream: probes of
// Kubernetes give up after a second.
const probeTime = 800 * time.Millisecond

// reach knows whether the upstream can be connected to.
type reach struct {
	next    func(ctx context.Context, network, address string) (net.Conn, error)
	address string
	failed  atomic.Bool                // the latest attempt to connect
	changed func(down bool, err error) // nil for none
}

func newReach(upstream *url.URL, next func(ctx context.Context, network, address string) (net.Conn, error)) *reach {
	port := upstream.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[upstream.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return &reach{next: next, address: net.JoinHostPort(upstream.Hostname(), port)}
}

// dial is the transport's.
func (u *reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := u.next(ctx, network, address)
	if !errors.Is(err, context.Canceled) {
		if down := err != nil; u.failed.Swap(down) != down && u.changed != nil {
			u.changed(down, err)
		}
	}
	return conn, err
}

// check returns why the upstream cannot be connected to, nil while it can. While
// requests succeed it costs nothing; after one that could not connect it tries anew,
// for without requests nothing else would.
func (u *reach) check(ctx context.Context) error {
	if !u.failed.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	conn, err := u.dial(ctx, "tcp", u.address)
	if err != nil {
		return fmt.Errorf("the upstream cannot be connected to: %w", err)
	}
	// It was opened to be closed.
	_ = conn.Close()
	return nil
}
