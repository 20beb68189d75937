package sluicegrpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
	"github.com/sluice-go/sluice/policy"
)

// guards returns the option of a server whose unary handlers pass a pipeline.
func guards(p *sluice.Pipeline, options ...sluicegrpc.ServerOption) []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(recoversUnary, sluicegrpc.UnaryServerInterceptor(p, options...))}
}

// recoversUnary answers a panic of a handler as interceptors for that do.
func recoversUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (_ any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = status.Errorf(codes.Internal, "%v", v)
		}
	}()
	return handler(ctx, req)
}

// TestRefusalOfAServer looks at what a client gets in place of an answer.
func TestRefusalOfAServer(t *testing.T) {
	for name, c := range map[string]struct {
		steps    string
		code     codes.Code
		message  string
		reason   string
		pushback string
		delay    time.Duration // of RetryInfo, negative for none
		limit    []string
	}{
		"a limit":    {"limit: 1/1h", codes.ResourceExhausted, "Too many requests for now.", "rate", "3600000", time.Hour, []string{`"limit";r=0;t=3600`}},
		"a breaker":  {"breaker: {window: {consecutive: 1}, open: 1500us}", codes.Unavailable, "The service is failing and is given time to recover.", "open", "2", 1500 * time.Microsecond, nil},
		"chaos":      {"chaos: {throttle: {rate: 100%, retry_after: 5s}}", codes.ResourceExhausted, "A chaos step of the policy gives this answer in place of the service.", "injected", "5000", 5 * time.Second, nil},
		"a bulkhead": {"bulkhead: 1", codes.Unavailable, "The queue is full.", "full", "1000", time.Second, nil},
		"a limit by an attribute that is missing": {`limit: {rate: 1/1h, per: "header:x-tenant", missing: deny}`, codes.InvalidArgument, "The request lacks what it is counted by.", "missing", "-1", -1, []string{`"limit";r=1;t=0`}},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			p := policyOf(t, "steps: ["+c.steps+"]")
			svc := &service{unary: func(ctx context.Context, _ int, in string) (string, error) {
				if in == "hang" {
					<-ctx.Done()
				}
				return "", status.Error(codes.Unavailable, "not now")
			}}
			conn := start(t, svc, guards(p))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.reason == "full" {
				go func() { _, _ = invoke(ctx, conn, get, "hang") }()
				synctest.Wait()
			} else {
				_, _ = invoke(t.Context(), conn, get, "")
			}
			before := svc.calls.Load()
			var header, trailer metadata.MD
			_, err := invoke(t.Context(), conn, get, "", grpc.Header(&header), grpc.Trailer(&trailer))
			assert.Equal(t, before, svc.calls.Load(), "the handler is not called")
			assert.Equal(t, c.code, status.Code(err))
			assert.Equal(t, c.message, status.Convert(err).Message())
			assert.Equal(t, []string{c.reason}, trailer["x-throttle-reason"])
			assert.Equal(t, []string{c.pushback}, trailer["grpc-retry-pushback-ms"])
			assert.Equal(t, c.limit, trailer["ratelimit"])
			assert.Empty(t, header, "a client of gRPC does not repeat what has headers")
			delay, ok := retryDelay(err)
			assert.Equal(t, c.delay >= 0, ok)
			if ok {
				assert.Equal(t, c.delay, delay)
			}
		})
	}
}

// TestRetryOfARefusal has a client of ours come back to a server of ours when it says so.
func TestRetryOfARefusal(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		front := policyOf(t, "steps: [retry: {attempts: 2, backoff: none}]")
		conn := start(t, &service{unary: echo}, guards(policyOf(t, "steps: [limit: 1/1m]")), guarded(front))
		began := time.Now()
		for range 2 {
			_, err := invoke(t.Context(), conn, get, "")
			require.NoError(t, err)
		}
		assert.Equal(t, time.Minute, time.Since(began))
	})
}

// TestHandlerEnds has unary handlers return, fail, panic and be cut.
func TestHandlerEnds(t *testing.T) {
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	late := func(context.Context) error { time.Sleep(2 * time.Minute); return status.Error(codes.Internal, "") }
	panics := func(context.Context) error { time.Sleep(2 * time.Minute); panic("a bug") }
	ended := []string{"cancel"}
	for name, c := range map[string]struct {
		timeout string
		serve   func(context.Context) error
		votes   []string
		code    codes.Code // Canceled where the client cancels after a minute
		reason  []string
	}{
		"without an error":               {"1h", func(context.Context) error { return nil }, []string{"ok"}, codes.OK, nil},
		"with a status":                  {"1h", func(context.Context) error { return status.Error(codes.ResourceExhausted, "") }, []string{"throttle"}, codes.ResourceExhausted, nil},
		"by a panic":                     {"1h", func(context.Context) error { panic("a bug") }, []string{"fail"}, codes.Internal, nil},
		"by a timeout":                   {"10s", hangs, []string{"timeout of timeout", "timeout"}, codes.DeadlineExceeded, []string{"timeout"}},
		"late and well":                  {"10s", func(ctx context.Context) error { <-ctx.Done(); return nil }, []string{"timeout of timeout", "ok"}, codes.OK, nil},
		"at the client's deadline":       {"1h", hangs, ended, codes.DeadlineExceeded, nil},
		"after it":                       {"1h", late, ended, codes.DeadlineExceeded, nil},
		"by a panic after it":            {"1h", panics, ended, codes.DeadlineExceeded, nil},
		"when the client cancels":        {"1h", hangs, ended, codes.Canceled, nil},
		"after the client has cancelled": {"1h", late, ended, codes.Canceled, nil},
		"by a panic after that":          {"1h", panics, ended, codes.Canceled, nil},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			p := policyOf(t, "steps: [{timeout: "+c.timeout+"}, {retry: 3}, {breaker: {window: {calls: 10}}}, {bulkhead: 1}]")
			got := listen(p)
			svc := &service{unary: func(ctx context.Context, _ int, _ string) (string, error) {
				assert.Zero(t, free(t, p))
				return "", c.serve(ctx)
			}}
			conn := start(t, svc, guards(p))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if c.code == codes.Canceled {
				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, cancel)
			}
			defer cancel()
			var trailer metadata.MD
			_, err := invoke(ctx, conn, post, "", grpc.Trailer(&trailer))
			assert.Equal(t, c.code, status.Code(err))
			assert.Equal(t, c.reason, trailer["x-throttle-reason"])
			time.Sleep(10 * time.Minute)
			assert.Equal(t, c.votes, got.all())
			assert.Equal(t, 1, free(t, p))
			assert.Equal(t, int64(1), svc.calls.Load(), "a server does not repeat")
		})
	}
}

func TestHeadersOfAnAdmission(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		p := policyOf(t, `steps: [{limit: {name: a, rate: 10/1m}}, {limit: {name: b, rate: 1/1s, burst: 2}}]`)
		conn := start(t, &service{unary: echo}, guards(p))
		var header metadata.MD
		_, err := invoke(t.Context(), conn, get, "", grpc.Header(&header))
		require.NoError(t, err)
		assert.Equal(t, []string{`"a";q=10;w=60, "b";q=1;w=1`}, header["ratelimit-policy"])
		assert.Equal(t, []string{`"a";r=9;t=6, "b";r=1;t=1`}, header["ratelimit"])
		_, err = invoke(t.Context(), conn, get, "", grpc.Header(&header))
		require.NoError(t, err)
		assert.Equal(t, []string{`"a";r=8;t=12, "b";r=0;t=1`}, header["ratelimit"], "the time until there is a permit again")
		time.Sleep(time.Second)
		silent := start(t, &service{unary: echo}, guards(p, sluicegrpc.WithRateLimitHeaders(false)))
		_, err = invoke(t.Context(), silent, get, "", grpc.Header(&header))
		require.NoError(t, err)
		assert.Empty(t, header["ratelimit"])
		assert.Empty(t, header["ratelimit-policy"])
	})
}

const routed = `
version: 1
policies:
  orders: {steps: [limit: 1/1h]}
  vip: {steps: [limit: {rate: 1/1h, per: "header:x-tenant"}]}
  rest: {steps: [bulkhead: 1]}
routes:
  - {host: vip.test, path: /sluicegrpc.test.Service/*, policy: vip}
  - {path: /sluicegrpc.test.Service/Get, policy: orders, method: POST}
  - {path: /sluicegrpc.test.Service/Put, policy: orders, method: GET}
  - {path: /sluicegrpc.test.Service/Upload, policy: pass}
`

// TestRoutes compares hosts, methods and paths, on both sides.
func TestRoutes(t *testing.T) {
	for _, side := range []string{"client", "server"} {
		for unmatched, code := range map[string]codes.Code{"deny": codes.PermissionDenied, "pass": codes.OK} {
			inVirtualTime(t, side+", "+unmatched, func(t *testing.T) {
				set := parse(t, routed+"http: {default: "+unmatched+"}\n")
				svc := &service{unary: echo, stream: drain}
				var conn *grpc.ClientConn
				if side == "client" {
					conn = start(t, svc, nil, grpc.WithUnaryInterceptor(sluicegrpc.RoutedUnaryClientInterceptor(set)),
						grpc.WithStreamInterceptor(sluicegrpc.RoutedStreamClientInterceptor(set)))
				} else {
					conn = start(t, svc, []grpc.ServerOption{grpc.UnaryInterceptor(sluicegrpc.RoutedUnaryServerInterceptor(set)),
						grpc.StreamInterceptor(sluicegrpc.RoutedStreamServerInterceptor(set))})
				}
				call := func(method string, options ...grpc.CallOption) codes.Code {
					_, err := invoke(t.Context(), conn, method, "", options...)
					return status.Code(err)
				}
				assert.Equal(t, code, call(put))
				assert.Equal(t, code, call(post))
				assert.Equal(t, codes.OK, call(get))
				assert.Equal(t, codes.ResourceExhausted, call(get))
				vip := grpc.CallAuthority("VIP.test:1234")
				assert.Equal(t, codes.OK, call(get, vip))
				var trailer metadata.MD
				s, err := conn.NewStream(t.Context(), chatDesc, chat, grpc.Trailer(&trailer))
				if err == nil {
					require.NoError(t, s.CloseSend())
					if err = s.RecvMsg(&text{}); unmatched == "pass" {
						assert.ErrorContains(t, err, "EOF")
						err = nil
					}
				}
				assert.Equal(t, code, status.Code(err))
				s, err = conn.NewStream(t.Context(), uploadDesc, upload)
				require.NoError(t, err)
				require.NoError(t, s.CloseSend())
				assert.Equal(t, codes.Internal, status.Code(s.RecvMsg(&text{})), "the handler answers without a message")
				require.NoError(t, set.Reload("policy.yaml", []byte(strings.ReplaceAll(routed, "Service/Get", "Service/Post")+"http: {default: "+unmatched+"}\n")))
				assert.Equal(t, code, call(get))
				assert.Equal(t, codes.ResourceExhausted, call(post), "the policy keeps its state")
			})
		}
	}
	inVirtualTime(t, "a default policy", func(t *testing.T) {
		set := parse(t, routed+"http: {default: rest}\n")
		rest := set.Pipeline("rest")
		conn := start(t, &service{unary: func(context.Context, int, string) (string, error) {
			assert.Zero(t, free(t, rest))
			return "", nil
		}}, []grpc.ServerOption{grpc.UnaryInterceptor(sluicegrpc.RoutedUnaryServerInterceptor(set))})
		_, err := invoke(t.Context(), conn, post, "")
		require.NoError(t, err)
	})
}

// TestPathsOfAServer has a server without a service get methods that other servers read in
// other ways.
func TestPathsOfAServer(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		set := parse(t, routed)
		calls := 0
		conn := start(t, &service{}, []grpc.ServerOption{
			grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { calls++; return status.Error(codes.NotFound, "") }),
			grpc.StreamInterceptor(sluicegrpc.RoutedStreamServerInterceptor(set)),
		})
		for path, want := range map[string]codes.Code{
			"/a.B/C": codes.NotFound, "/a.B//C": codes.Internal, "/a.B/%43": codes.Internal, "/a.B/../C": codes.Internal, "/a.B/%zz": codes.Internal,
		} {
			before := calls
			var trailer metadata.MD
			_, err := invoke(t.Context(), conn, path, "", grpc.Trailer(&trailer))
			assert.Equal(t, want, status.Code(err), path)
			assert.Equal(t, want == codes.NotFound, calls == before+1, path)
			assert.Equal(t, want == codes.Internal, trailer["x-throttle-reason"] != nil, path)
		}
	})
}

// fromAddress gives the calls of a server a peer.
func fromAddress(address string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		host, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			return nil, err
		}
		return handler(peer.NewContext(ctx, &peer.Peer{Addr: host}), req)
	}
}

// TestOptionsOfAServer looks at what is counted by.
func TestOptionsOfAServer(t *testing.T) {
	inVirtualTime(t, "attributes", func(t *testing.T) {
		const four, six = "192.0.2.1:1", "[2001:db8:1:2:3::4]:1"
		for _, c := range []struct{ attribute, address, want string }{
			{"key", four, "mine"}, {"host", four, "orders.test"}, {"method", four, "POST"}, {"path", four, get}, {"route", four, get},
			{"header:x-tenant", four, "a"}, {"header:host", four, "orders.test:443"}, {"ip", four, "192.0.2.1"}, {"ip", six, "2001:db8:1:2::/64"},
		} {
			attribute := c.attribute
			p := policyOf(t, `steps: [limit: {rate: 1/1h, per: "`+attribute+`"}]`)
			conn := start(t, &service{unary: echo}, []grpc.ServerOption{grpc.ChainUnaryInterceptor(fromAddress(c.address),
				sluicegrpc.UnaryServerInterceptor(p, sluicegrpc.WithKey(func(c *sluicegrpc.Call) string {
					if attribute == "key" && c.Message().(*text).Value == "in" {
						return "mine"
					}
					return ""
				})))})
			_, err := invoke(metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "a"), conn, get, "in")
			require.NoError(t, err)
			assert.True(t, counts(p, c.want), attribute)
		}
	})
	inVirtualTime(t, "addresses", func(t *testing.T) {
		proxies := sluicegrpc.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::ffff:172.16.0.0/108"), netip.Prefix{})
		for _, c := range []struct {
			address   string
			forwarded []string
			options   []sluicegrpc.ServerOption
			want      string
		}{
			{"10.0.0.1:1", []string{"192.0.2.1"}, nil, "10.0.0.1"},
			{"10.0.0.1:1", []string{"192.0.2.1"}, []sluicegrpc.ServerOption{proxies}, "192.0.2.1"},
			{"192.0.2.7:1", []string{"192.0.2.1"}, []sluicegrpc.ServerOption{proxies}, "192.0.2.7"},
			{"10.0.0.1:1", []string{"192.0.2.1, 192.0.2.2", "172.16.0.1"}, []sluicegrpc.ServerOption{proxies}, "192.0.2.2"},
			{"[2001:db8::1]:1", nil, []sluicegrpc.ServerOption{sluicegrpc.WithIPv6Prefix(128)}, "2001:db8::1"},
			{"[2001:db8::1]:1", nil, []sluicegrpc.ServerOption{sluicegrpc.WithIPv6Prefix(-5)}, "::/1"},
		} {
			p := policyOf(t, "steps: [limit: {rate: 1/1h, per: ip}]")
			conn := start(t, &service{unary: echo}, []grpc.ServerOption{grpc.ChainUnaryInterceptor(fromAddress(c.address), sluicegrpc.UnaryServerInterceptor(p, c.options...))})
			ctx := t.Context()
			for _, line := range c.forwarded {
				ctx = metadata.AppendToOutgoingContext(ctx, "x-forwarded-for", line)
			}
			_, err := invoke(ctx, conn, get, "")
			require.NoError(t, err)
			assert.True(t, counts(p, c.want), c)
		}
		p := policyOf(t, "steps: [limit: {rate: 1/1h, per: ip}]")
		_, err := invoke(t.Context(), start(t, &service{unary: echo}, guards(p)), get, "")
		require.NoError(t, err)
		assert.True(t, counts(p, "bufconn"), "a peer without an address")
	})
	inVirtualTime(t, "a key twice", func(t *testing.T) {
		p := policyOf(t, `steps: [limit: {rate: 1/1h, per: "header:x-tenant"}]`)
		conn := start(t, &service{unary: echo}, guards(p))
		var trailer metadata.MD
		_, err := invoke(metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "a", "x-tenant", "b"), conn, get, "", grpc.Trailer(&trailer))
		assert.Equal(t, codes.Internal, status.Code(err))
		assert.Equal(t, []string{"key"}, trailer["x-throttle-reason"])
		_, err = invoke(metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "a", "x-tenant", "a"), conn, get, "")
		require.NoError(t, err)
		assert.True(t, counts(p, "a"), "equal values are one")
	})
	inVirtualTime(t, "policy, cost and skip", func(t *testing.T) {
		p, other := policyOf(t, "steps: [limit: 10/1h]"), policyOf(t, "steps: [limit: 10/1h]")
		conn := start(t, &service{unary: echo}, guards(p, sluicegrpc.WithCost(func(*sluicegrpc.Call) uint32 { return 3 }),
			sluicegrpc.WithSkip(func(c *sluicegrpc.Call) bool { return c.Method() == put }),
			sluicegrpc.WithPolicyOf(func(c *sluicegrpc.Call) *sluice.Pipeline {
				if len(c.Metadata("x-plan")) > 0 {
					return other
				}
				return nil
			})))
		left := func(p *sluice.Pipeline) uint32 { return p.Limits(sluice.Request{}, nil)[0].Free }
		for _, method := range []string{get, put} {
			_, err := invoke(t.Context(), conn, method, "")
			require.NoError(t, err)
		}
		assert.Equal(t, uint32(7), left(p))
		for range 2 {
			_, err := invoke(metadata.AppendToOutgoingContext(t.Context(), "x-plan", "pro"), conn, get, "")
			require.NoError(t, err)
		}
		assert.Equal(t, uint32(7), left(p))
		assert.Equal(t, uint32(4), left(other))
	})
}

// TestInterceptorOfAServerAlone calls an interceptor without a server, as programs do in
// their tests.
func TestInterceptorOfAServerAlone(t *testing.T) {
	intercept := sluicegrpc.UnaryServerInterceptor(policyOf(t, "steps: [limit: 1/1h]"))
	handler := func(_ context.Context, req any) (any, error) { return req, nil }
	reply, err := intercept(t.Context(), "a", &grpc.UnaryServerInfo{FullMethod: get}, handler)
	require.NoError(t, err)
	assert.Equal(t, "a", reply)
	reply, err = intercept(t.Context(), "a", &grpc.UnaryServerInfo{FullMethod: get}, handler)
	assert.Nil(t, reply)
	var refused *sluice.RejectedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// TestTrace has a trace ask for attributes that no step has.
func TestTrace(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		p := policyOf(t, "steps: [bulkhead: 5]")
		trace, err := p.Trace(sluice.TraceOptions{Attributes: []string{"path", "header:x-tenant"}})
		require.NoError(t, err)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "acme")
		_, err = invoke(ctx, start(t, &service{unary: echo}, guards(p)), get, "")
		require.NoError(t, err)
		_, err = invoke(ctx, start(t, &service{unary: echo}, nil, guarded(p)), put, "")
		require.NoError(t, err)
		require.NoError(t, trace.Stop())
		var lines bytes.Buffer
		_, err = trace.WriteTo(&lines)
		require.NoError(t, err)
		assert.Contains(t, lines.String(), get)
		assert.Contains(t, lines.String(), put)
		assert.Equal(t, 2, strings.Count(lines.String(), "acme"))
	})
}

// TestLogger looks at what is said of steps, attributes and outcomes without effect, and of
// policies that there are not.
func TestLogger(t *testing.T) {
	asks := policyOf(t, `deny: {"query:old": "1"}`, `steps: [{limit: {rate: 1/s, per: [ip, "header:x-tenant", "cookie:session"]}}]`)
	parts := policyOf(t, "steps: [bulkhead: 1]", "outcomes: {fail: [5xx], ignore: [connect]}")
	p := policyOf(t, "steps: [{retry: {name: again, attempts: 3}}, {hedge: {name: beside, after: 1s}}]")
	for name, c := range map[string]struct {
		make func(l sluicegrpc.Option)
		want []string
	}{
		"a server":               {func(l sluicegrpc.Option) { sluicegrpc.UnaryServerInterceptor(p, l) }, []string{"again", "beside", "in a server"}},
		"a stream":               {func(l sluicegrpc.Option) { sluicegrpc.StreamClientInterceptor(p, l) }, []string{"again", "beside", "in a stream"}},
		"a unary client":         {func(l sluicegrpc.Option) { sluicegrpc.UnaryClientInterceptor(p, l) }, nil},
		"a missing route":        {func(l sluicegrpc.Option) { sluicegrpc.UnaryClientInterceptor(nil, l) }, []string{"ERROR", "nil or zero"}},
		"attributes of a client": {func(l sluicegrpc.Option) { sluicegrpc.UnaryClientInterceptor(asks, l) }, []string{"cookie:session", "query:old", "attribute=ip"}},
		"attributes of a server": {func(l sluicegrpc.Option) { sluicegrpc.StreamServerInterceptor(asks, l) }, []string{"cookie:session", "query:old"}},
		"outcomes of a server":   {func(l sluicegrpc.Option) { sluicegrpc.UnaryServerInterceptor(parts, l) }, []string{"entry=connect"}},
		"outcomes of a client":   {func(l sluicegrpc.Option) { sluicegrpc.UnaryClientInterceptor(parts, l) }, nil},
		"outcomes of an option": {func(l sluicegrpc.Option) {
			sluicegrpc.UnaryServerInterceptor(parts, l, sluicegrpc.WithOutcomes(policy.Outcomes{}))
		}, nil},
		"routes": {func(l sluicegrpc.Option) { sluicegrpc.RoutedStreamServerInterceptor(parse(t, routed), l) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c.make(sluicegrpc.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			assert.Equal(t, len(c.want) == 0, log.Len() == 0, log.String())
			for _, word := range c.want {
				assert.Contains(t, log.String(), word)
			}
			assert.NotContains(t, log.String(), "x-tenant")
			assert.Equal(t, name == "attributes of a client", strings.Contains(log.String(), "attribute=ip"))
		})
	}
}
