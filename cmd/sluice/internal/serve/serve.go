// Package serve is the reverse proxy of sluice serve: it guards an upstream with
// a policy document and no code.
package serve

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/policy/document"
)

// Config says what to serve.
type Config struct {
	// File and Source are the policy document that is active at the start.
	// The file is read again when it changes.
	File   string
	Source []byte
	// Upstreams are where requests go: URLs of http, https or h2c (HTTP/2 without TLS).
	// The path of the first comes before the path of the request. Of several, each attempt
	// goes to one.
	Upstreams []*url.URL
	// UpstreamCA is a PEM file of certificates that upstreams may have beside the certificates of
	// the system. Empty: none.
	UpstreamCA string
	// ConnectTimeout bounds how long a connection to an upstream takes to be made. 0
	// means 10 s.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a connection of a client may be idle between requests. 0
	// means DefaultIdleTimeout.
	IdleTimeout time.Duration
	// UpstreamIdleTimeout is how long an idle connection to an upstream is kept for the
	// next request. 0 means DefaultUpstreamIdleTimeout.
	UpstreamIdleTimeout time.Duration
	// Headers bound the headers of requests and answers.
	Headers Headers
	// UpstreamConnections are at most open to an upstream. 0: no bound.
	UpstreamConnections int
	// NetHTTP has the transport of net/http take every request.
	NetHTTP bool
	// AbandonedWait and AbandonedGrace say how long an attempt whose client has left keeps
	// its places, see nethttp.Abandoned. 0: not at all.
	AbandonedWait, AbandonedGrace time.Duration
	// Ejection is for several upstreams.
	Ejection Ejection
	// ProbePath is the path and the query of probes of several upstreams. nil: none.
	ProbePath *url.URL
	// ProbeInterval is the time between probes of an upstream.
	ProbeInterval time.Duration
	// TLS has the certificates.
	TLS TLS
	// MaxConnections is how many connections of clients may be open. One more is closed at
	// once. 0: as many as the descriptors of the process allow, less those that connections
	// to upstreams and files need.
	MaxConnections int
	// MaxStreams is how many requests a client may have under way on a connection of
	// HTTP/2. 0 means DefaultMaxStreams.
	MaxStreams int
	// Listen and Admin are addresses, host:port. No Admin, no metrics.
	Listen, Admin string
	// AdminHosts are names, in lower case, by which clients reach Admin beside addresses and
	// names that are local.
	AdminHosts []string
	// AdminTokens is a file of the tokens that open the routes for operators on Admin, read
	// again when it changes. AdminToken is the only token where there is no file. Neither:
	// there are no such routes.
	AdminTokens, AdminToken string
	// Alerts says what a webhook is told. No URL, no alerts.
	Alerts Alerts
	// Version is the version of the program, for the metrics. Empty: unknown.
	Version string
	// DrainDelay is how long requests are still taken after the end was asked for,
	// while /readyz says that they should go elsewhere. 0 takes no more at once.
	DrainDelay time.Duration
	// Drain is how long requests may go on after the end was asked for. 0 ends
	// them at once.
	Drain time.Duration
	// Trusted are the hops whose X-Forwarded-* and Forwarded are believed.
	Trusted []netip.Prefix
	// ProxyProtocol are the peers whose connections begin with a header of the
	// PROXY protocol. None by default.
	ProxyProtocol []netip.Prefix
	// IPv6Prefix is how many bits of an address of IPv6 make the attribute ip.
	// 0 means nethttp.DefaultIPv6Prefix.
	IPv6Prefix int
	// Upgrades are the protocols, in lower case, to which a client may upgrade its
	// connection, as in websocket. Others are ignored. Empty: none.
	Upgrades []string
	// PreserveHost sends the client's Host to the upstream in place of its own.
	PreserveHost bool
	// DeadlineHeader is a header field that says how long a request may take, see
	// nethttp.WithDeadlineHeader. Empty: none, and Grpc-Timeout is passed on as it is.
	DeadlineHeader string
	// DeadlineMax is the greatest time in that field. 0: none.
	DeadlineMax time.Duration
	// PriorityHeader is a header field with the priority of a request, which Trusted
	// alone may set. Empty: none.
	PriorityHeader string
	// WholeAnswers makes bodies of answers a part of the call, see
	// nethttp.WithWholeAnswers.
	WholeAnswers bool
	// Legacy adds X-RateLimit-* to answers.
	Legacy bool
	// Log is told what happens: a line for the start, for each reload, for what
	// fails; at level debug one for each request.
	Log *slog.Logger
	// Access gets a line of JSON for each request; nil for none. Where it has a
	// method Reopen, that is called on Reload, for files that are rotated.
	Access io.Writer
	// AccessSample writes one of so many requests with a status below 400. 0 and 1
	// write all of them.
	AccessSample int
	// Trace says what a trace of the policies records and to which File; no File, no
	// trace. It begins at the start unless TraceOff is set, and the admin address stops and
	// starts it.
	Trace    sluice.TraceOptions
	TraceOff bool
	// State says where what the policies know outlives the process.
	State State
	// Reload asks for the file to be read again, whether or not it changed.
	Reload <-chan os.Signal
	// Ready, where it is set, is told the addresses once both are open.
	Ready func(listen, admin net.Addr)

	// For tests:
	after  func(time.Duration) <-chan time.Time // nil for time.After
	dial   dialer                               // nil for the network
	random func(n int) int                      // nil for rand.IntN
}

// headerTime bounds the time for the headers of a request, against slow-loris. How long a
// client may take over bodies is the section http of the document.
const headerTime = 10 * time.Second

// lostEvery is how often the log says that lines are lost.
const lostEvery = time.Minute

// defaultConnectTimeout is the default of Config.ConnectTimeout.
const defaultConnectTimeout = 10 * time.Second

const (
	// DefaultIdleTimeout is as long as common clients keep connections.
	DefaultIdleTimeout = 120 * time.Second
	// DefaultUpstreamIdleTimeout is the same as in http.DefaultTransport.
	DefaultUpstreamIdleTimeout = 90 * time.Second
	// DefaultAbandonedWait is as long as most services take at most.
	DefaultAbandonedWait = 30 * time.Second
	// DefaultAbandonedGrace is longer than most services take to notice that a connection
	// was closed.
	DefaultAbandonedGrace = time.Second
	// DefaultUpstreamConnections is as many as are kept while they are idle.
	DefaultUpstreamConnections = 4096
)

// Server is a proxy that has been set up.
type Server struct {
	config Config
	set    *sluice.Set
	name   string // in Via, different for each proxy
	log    *slog.Logger
	meter  *meter
	// transport has the connections to the upstreams. Tests put another there.
	transport http.RoundTripper
	headers   heldHeaders    // of all requests under way
	calls     sync.WaitGroup // requests under way, connections that were taken over included

	tls      *tlsFiles
	tracer   *tracer   // nil without a file of traces
	operator *operator // nil without tokens
	alerts   *alerts   // nil without a webhook
	keeper   *keeper   // nil without a state file

	spares    spares
	upstreams []*upstream
	pool      *pool // nil for one upstream
	draining  atomic.Bool
	// cut ends when requests are cut off.
	cut        context.Context
	cutOff     context.CancelFunc
	keyed      sparse // lines about breakers of keys
	unanswered sparse // lines about an upstream that gives no answer
	crowded    sparse // lines about connections that are closed because of their number
	unwritten  sparse // lines about an access log that cannot be written
}

// New sets a proxy up. The error comes from the policy document or from a file of TLS.
func New(c Config) (*Server, error) {
	if c.after == nil {
		c.after = time.After
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = DefaultMaxStreams
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.IPv6Prefix == 0 {
		c.IPv6Prefix = nethttp.DefaultIPv6Prefix
	}
	set, err := sluice.Parse(c.File, c.Source)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, set: set, name: "sluice-" + rand.Text()[:10], log: c.Log, meter: newMeter(set, c.Version),
	}
	s.unwritten.every = lostEvery
	s.cut, s.cutOff = context.WithCancel(context.Background())
	if s.tls, err = newTLSFiles(&c.TLS, s.log, s.meter.registry); err != nil {
		return nil, err
	}
	if s.alerts, err = newAlerts(&c, s.meter.registry); err != nil {
		return nil, err
	}
	if err := s.connect(); err != nil {
		return nil, err
	}
	set.Listen(s.note, sluice.EventChange, sluice.EventFull)
	if s.alerts != nil {
		set.Listen(s.alerts.observe, sluice.EventChange, sluice.EventFull, sluice.EventReject, sluice.EventDrop)
	}
	tokens, err := newTokens(c.AdminTokens, c.AdminToken, s.log)
	if err != nil {
		return nil, err
	}
	if tokens != nil {
		s.operator = newOperator(set, s.log, tokens)
		s.operator.ipv6 = c.IPv6Prefix
	}
	if s.keeper = newKeeper(set, c.State, s.log, s.meter.registry); s.keeper != nil {
		again, err := sluice.Parse(c.File, c.Source)
		if err != nil {
			return nil, err
		}
		s.keeper.load(again)
	}
	if c.Trace.File != "" {
		s.tracer = newTracer(set, &c, s.meter.registry)
	}
	return s, nil
}

// Run serves until the context ends, then lets requests finish for as long as
// Drain says. The error comes from an address, or from a server that broke.
func (s *Server) Run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		defer tune()()
	}
	front, err := listen(s.config.Listen)
	if err != nil {
		return err
	}
	defer front.Close()
	var back net.Listener
	if s.config.Admin != "" {
		if back, err = listen(s.config.Admin); err != nil {
			return err
		}
		defer back.Close()
		s.spares.begin()
		defer s.spares.end()
		back = &spareListener{back.(deadlineListener), &s.spares}
	}
	if s.tracer != nil && !s.config.TraceOff {
		if err := s.tracer.start(); err != nil {
			return fmt.Errorf("cannot begin the trace: %w", err)
		}
	}
	defer s.tracer.stop()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()

	broken := make(chan error, 2)
	proxy := s.front()
	proxy.BaseContext = func(net.Listener) context.Context { return requests }
	clients := s.clients(front)
	go func() { broken <- serveFront(proxy, withProxyProtocol(clients, s.config.ProxyProtocol)) }()
	var admin *http.Server
	if back != nil {
		admin = s.server(s.spares.closing(s.admin()))
		if s.tls.admin != nil {
			back = tls.NewListener(back, s.tls.admin.config())
		}
		go func() { broken <- admin.Serve(back) }()
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(ctx)
	}()
	alerted := make(chan struct{})
	go func() {
		defer close(alerted)
		s.alerts.run(ctx)
	}()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.keeper.run(ctx)
	}()
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		if s.pool != nil && s.config.ProbePath != nil {
			s.pool.probe(ctx, s.config.ProbePath, s.config.ProbeInterval)
		}
	}()
	s.started(front, back)

	select {
	case err = <-broken:
		err = fmt.Errorf("serving failed: %w", err)
	case <-ctx.Done():
		s.draining.Store(true)
		if s.config.DrainDelay > 0 {
			s.log.Info("not ready any more; requests are still taken", "for", s.config.DrainDelay)
			select {
			case err = <-broken:
				err = fmt.Errorf("serving failed: %w", err)
			case <-s.config.after(s.config.DrainDelay):
			}
		}
	}
	s.draining.Store(true)
	stop()
	s.drain(proxy, cut)
	if admin != nil {
		// A scraper needs the last values, too, so the admin address closes last.
		err = errors.Join(err, admin.Close())
	}
	<-kept
	s.keeper.write()
	<-watched
	<-probed
	<-alerted
	return err
}

// server returns a server with our limits, whose own complaints are logged.
func (s *Server) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: s.config.IdleTimeout,
		ErrorLog: s.complaints(), MaxHeaderBytes: s.config.Headers.Bytes,
	}
}

func (s *Server) started(front, back net.Listener) {
	attrs := []any{"listen", front.Addr().String(), "tls", s.tls.on(), "upstream", names(s.upstreams), "policy", s.config.File}
	var admin net.Addr
	if back != nil {
		admin = back.Addr()
		attrs = append(attrs, "admin", admin.String())
	}
	if doc := s.set.Document(); len(doc.Routes) == 0 && doc.HTTP.Unmatched == document.UnmatchedPass {
		s.log.Warn("the document has no routes and no http.default: every request passes untouched", "policy", s.config.File)
	}
	if back != nil && s.operator != nil && s.tls.admin == nil && !loopback(admin) {
		s.log.Warn("tokens of the admin address cross the network without TLS", "admin", admin.String())
	}
	s.log.Info("serving", attrs...)
	if s.config.Ready != nil {
		s.config.Ready(front.Addr(), admin)
	}
}

// loopback reports whether an address is reached from this machine alone.
func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// drain takes no more requests, waits for those under way, and cuts off those
// that take too long.
func (s *Server) drain(proxy *http.Server, cut context.CancelFunc) {
	s.log.Info("draining", "at_most", s.config.Drain)
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Drain)
	defer cancel()
	done := make(chan struct{})
	err := proxy.Shutdown(ctx)
	go func() {
		defer close(done)
		// Shutdown does not know of connections that were upgraded.
		s.calls.Wait()
	}()
	if err == nil {
		select {
		case <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		s.log.Warn("requests took longer than the drain time and are cut off", "in_flight", s.meter.inFlight.Load())
	}
	s.cutOff()
	cut()
	// What is left to close is closed with the process.
	_ = proxy.Close()
	<-done
	s.log.Info("stopped")
}

// ListenError says why an address could not be had.
type ListenError struct {
	Address string
	Err     error
}

// Error implements error.
func (e *ListenError) Error() string {
	return "cannot listen on " + e.Address + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	var op *net.OpError
	var call *os.SyscallError
	switch {
	case errors.As(err, &call):
		err = call.Err // without the address and the name of the call again
	case errors.As(err, &op):
		err = op.Err
	}
	return nil, &ListenError{Address: address, Err: err}
}
