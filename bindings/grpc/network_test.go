package sluicegrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
)

// watches reads a stream of the server to its end.
func watches(ctx context.Context, conn *grpc.ClientConn) error {
	s, err := conn.NewStream(ctx, watchDesc, watch)
	if err != nil {
		return err
	}
	if err := s.SendMsg(wrapperspb.String("")); err != nil {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	for err == nil {
		err = s.RecvMsg(&text{})
	}
	return err
}

// bothWays are the options of a connection whose calls of both forms pass a pipeline.
func bothWays(p *sluice.Pipeline, options ...sluicegrpc.ClientOption) []grpc.DialOption {
	return []grpc.DialOption{grpc.WithUnaryInterceptor(sluicegrpc.UnaryClientInterceptor(p, options...)), grpc.WithStreamInterceptor(sluicegrpc.StreamClientInterceptor(p, options...))}
}

// refuses is what a dialer does that has no connection.
func refuses(conn net.Conn) (net.Conn, error) {
	conn.Close()
	return nil, errors.New("connection refused")
}

// hurries ends calls after a second, below the policy.
func hurries() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return invoke(ctx, method, req, reply, cc, options...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			context.AfterFunc(ctx, cancel)
			return stream(ctx, desc, cc, method, options...)
		}),
	}
}

// TestFailuresOfTheNetwork: connect, reset and timeout of outcomes are what gRPC says in a
// status of its own, and not the same status of the service.
func TestFailuresOfTheNetwork(t *testing.T) {
	const parting = "outcomes: {fail: [5xx], throttle: [connect], ignore: [reset, timeout]}"
	down, late := status.Error(codes.Unavailable, "down"), status.Error(codes.DeadlineExceeded, "late")
	for name, c := range map[string]struct {
		outcomes string
		answer   error // nil for a handler that does not return by itself
		refuses  bool  // there is no connection
		breaks   bool  // the connection ends while the call runs
		hurries  bool
		code     codes.Code
		want     string
	}{
		"the service is down":     {outcomes: parting, answer: down, code: codes.Unavailable, want: "fail"},
		"the service is late":     {outcomes: parting, answer: late, code: codes.DeadlineExceeded, want: "fail"},
		"no connection":           {outcomes: parting, refuses: true, code: codes.Unavailable, want: "throttle"},
		"a reset":                 {outcomes: parting, breaks: true, code: codes.Unavailable, want: "ignore"},
		"no answer":               {outcomes: parting, hurries: true, code: codes.DeadlineExceeded, want: "ignore"},
		"a connection, unnamed":   {outcomes: "outcomes: {fail: [5xx]}", refuses: true, code: codes.Unavailable, want: "fail"},
		"a connection and no 503": {outcomes: "outcomes: {fail: [connect]}", refuses: true, code: codes.Unavailable, want: "fail"},
		"503 and no connection":   {outcomes: "outcomes: {fail: [connect]}", answer: down, code: codes.Unavailable, want: "ok"},
		"by default":              {outcomes: "description: none", refuses: true, code: codes.Unavailable, want: "fail"},
	} {
		for _, form := range []string{"unary", "stream"} {
			inVirtualTime(t, name+", "+form, func(t *testing.T) {
				var wire net.Conn
				ends := func(ctx context.Context) error {
					switch {
					case c.breaks:
						wire.Close()
						<-ctx.Done()
					case c.hurries:
						<-ctx.Done()
						time.Sleep(time.Minute) // the client is the first to say that it is late
					}
					return c.answer
				}
				svc := &service{
					unary:  func(ctx context.Context, _ int, _ string) (string, error) { return "", ends(ctx) },
					stream: func(s grpc.ServerStream) error { return ends(s.Context()) },
					dialed: func(conn net.Conn) (net.Conn, error) { wire = conn; return conn, nil },
				}
				if c.refuses {
					svc.dialed = refuses
				}
				p := policyOf(t, "steps: [bulkhead: 9]", c.outcomes)
				got := listen(p)
				dial := bothWays(p)
				if c.hurries {
					dial = append(dial, hurries()...)
				}
				conn := start(t, svc, nil, dial...)
				var header, trailer metadata.MD
				var err error
				if form == "unary" {
					_, err = invoke(t.Context(), conn, get, "", grpc.Header(&header), grpc.Trailer(&trailer))
				} else {
					err = watches(t.Context(), conn)
				}
				assert.Equal(t, c.code, status.Code(err), "%v", err)
				assert.Equal(t, []string{c.want}, got.all())
				assert.Equal(t, 9, free(t, p))
				time.Sleep(time.Hour) // until the handler has returned
			})
		}
	}
}

// TestBreakersObeyCalls: a failure that says when to come back opens a breaker that obeys it,
// on both sides and in both forms, without a retry in the policy.
func TestBreakersObeyCalls(t *testing.T) {
	down := status.New(codes.Unavailable, "down")
	informed, err := down.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
	require.NoError(t, err)
	at := func() string { return time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		err     error
		trailer func() []string
		want    time.Duration // 0 for a breaker that stays closed
	}{
		"pushback":  {down.Err(), func() []string { return []string{"grpc-retry-pushback-ms", "15000", "retry-after", "1"} }, 15 * time.Second},
		"no retry":  {down.Err(), func() []string { return []string{"grpc-retry-pushback-ms", "-1", "retry-after", "20"} }, 0},
		"RetryInfo": {informed.Err(), func() []string { return []string{"retry-after", "1"} }, 7 * time.Second},
		"seconds":   {down.Err(), func() []string { return []string{"retry-after", "20"} }, 20 * time.Second},
		"a date":    {down.Err(), func() []string { return []string{"retry-after", at()} }, 30 * time.Second},
		"a date by the clock of the service": {down.Err(), func() []string {
			return []string{"retry-after", at(), "date", time.Now().Add(10 * time.Second).UTC().Format(http.TimeFormat)}
		}, 20 * time.Second},
		"what cannot be read": {down.Err(), func() []string { return []string{"retry-after", "soon"} }, 0},
		"at most":             {down.Err(), func() []string { return []string{"retry-after", "86400"} }, time.Minute},
		"ignored":             {status.Error(codes.NotFound, "none"), func() []string { return []string{"retry-after", "20"} }, 0},
		"a success":           {nil, func() []string { return []string{"retry-after", "20"} }, 0},
		"nothing":             {down.Err(), func() []string { return nil }, 0},
	} {
		for _, side := range []string{"client", "server"} {
			for _, form := range []string{"unary", "stream"} {
				inVirtualTime(t, name+", "+side+", "+form, func(t *testing.T) {
					p := policyOf(t, "steps: [breaker: {window: {calls: 10}, obey_retry_after: 1m}]")
					svc := &service{
						unary: func(ctx context.Context, _ int, _ string) (string, error) {
							return "", errors.Join(c.err, grpc.SetTrailer(ctx, metadata.Pairs(c.trailer()...)))
						},
						stream: func(s grpc.ServerStream) error {
							s.SetTrailer(metadata.Pairs(c.trailer()...))
							return c.err
						},
					}
					var server []grpc.ServerOption
					var dial []grpc.DialOption
					if side == "client" {
						dial = bothWays(p)
					} else {
						server = append(guards(p), grpc.StreamInterceptor(sluicegrpc.StreamServerInterceptor(p)))
					}
					conn := start(t, svc, server, dial...)
					call := func() error { return watches(t.Context(), conn) }
					if form == "unary" {
						call = func() error { _, err := invoke(t.Context(), conn, get, ""); return err }
					}
					_ = call()
					calls := svc.calls.Load()
					err := call()
					if c.want == 0 {
						assert.Equal(t, calls+1, svc.calls.Load())
						return
					}
					assert.Equal(t, calls, svc.calls.Load())
					delay, _ := retryDelay(err)
					assert.Equal(t, c.want, delay)
				})
			}
		}
	}
}

// TestFromContext: a handler asks what let its call through.
func TestFromContext(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		set := parse(t, `
version: 1
policies:
  orders:
    steps:
      - limit: {rate: 2/1m, burst: 4, per: "header:x-tenant", name: tenant}
      - limit: {rate: 1/1h, name: trial, shadow: true}
  plain: {steps: [timeout: 1m]}
routes:
  - {path: /sluicegrpc.test.Service/Get, policy: orders}
  - {path: /sluicegrpc.test.Service/Watch, policy: orders}
  - {path: /sluicegrpc.test.Service/Put, policy: plain}
`)
		type seen struct {
			a  sluicegrpc.Admission
			ok bool
		}
		var got []seen
		look := func(ctx context.Context) {
			a, ok := sluicegrpc.FromContext(ctx)
			got = append(got, seen{a, ok})
		}
		svc := &service{
			unary:  func(ctx context.Context, _ int, _ string) (string, error) { look(ctx); return "", nil },
			stream: func(s grpc.ServerStream) error { look(s.Context()); return nil },
		}
		with := sluicegrpc.WithAdmission()
		conn := start(t, svc, []grpc.ServerOption{
			grpc.UnaryInterceptor(sluicegrpc.RoutedUnaryServerInterceptor(set, with)), grpc.StreamInterceptor(sluicegrpc.RoutedStreamServerInterceptor(set, with)),
		})
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "a")
		for _, method := range []string{get, put, post} {
			_, err := invoke(ctx, conn, method, "")
			require.NoError(t, err)
		}
		assert.ErrorIs(t, watches(ctx, conn), io.EOF)
		limit := func(free uint32, full time.Duration) sluicegrpc.Admission {
			return sluicegrpc.Admission{Policy: "orders", Route: "/sluicegrpc.test.Service/", Limits: []sluicegrpc.Limit{{Step: "tenant", Most: 4, Free: free, Full: full}}}
		}
		first, last := limit(3, 30*time.Second), limit(2, time.Minute)
		first.Route += "Get"
		last.Route += "Watch"
		assert.Equal(t, []seen{
			{first, true}, {sluicegrpc.Admission{Policy: "plain", Route: "/sluicegrpc.test.Service/Put"}, true}, {}, {last, true},
		}, got)

		got = nil
		p := policyOf(t, "steps: [limit: 9/1s]")
		bare := start(t, svc, guards(p))
		_, err := invoke(ctx, bare, get, "")
		require.NoError(t, err)
		assert.Equal(t, []seen{{}}, got, "without the option")
	})
}
