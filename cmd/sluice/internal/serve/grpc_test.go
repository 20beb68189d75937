package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// grpcService is a server of gRPC whose methods are named after what they do.
type grpcService struct {
	address string
	calls   atomic.Int64
}

func newGRPCService(t *testing.T) *grpcService {
	t.Helper()
	s := &grpcService{}
	server := grpc.NewServer(grpc.UnknownServiceHandler(s.serve))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = l.Addr().String()
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NoError(t, <-done)
	})
	return s
}

func (s *grpcService) serve(_ any, stream grpc.ServerStream) error {
	s.calls.Add(1)
	name, _ := grpc.MethodFromServerStream(stream)
	_, method, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	in := &wrapperspb.StringValue{}
	stream.SetTrailer(metadata.Pairs("x-end", "of "+method))
	switch method {
	case "Echo":
		for {
			switch err := stream.RecvMsg(in); {
			case err == io.EOF:
				return nil
			case err != nil:
				return err
			}
			if err := stream.SendMsg(in); err != nil {
				return err
			}
		}
	case "Hang":
		<-stream.Context().Done()
		return stream.Context().Err()
	case "FailAtOnce":
		drain(stream)
		return status.Error(codes.Unavailable, "not now")
	case "FailAfterHeaders":
		drain(stream)
		if err := stream.SendHeader(metadata.Pairs("x-begin", "yes")); err != nil {
			return err
		}
		return status.Error(codes.Unavailable, "not now")
	}
	return status.Error(codes.Unimplemented, method)
}

// drain reads the messages of a stream to their end. A proxy gives no vote to an answer
// that comes before.
func drain(stream grpc.ServerStream) {
	for stream.RecvMsg(&wrapperspb.StringValue{}) == nil {
	}
}

// grpcClient is a client that is connected to a proxy.
type grpcClient struct {
	*grpc.ClientConn
	header, trailer metadata.MD // of the last call
}

func dialGRPC(t *testing.T, p *proxy, c credentials.TransportCredentials) *grpcClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(p.url, "http://"), grpc.WithTransportCredentials(c))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &grpcClient{ClientConn: conn}
}

// call calls a method with a message and returns the message of the answer.
func (c *grpcClient) call(t *testing.T, method string) (string, error) {
	t.Helper()
	out := &wrapperspb.StringValue{}
	c.header, c.trailer = nil, nil
	err := c.Invoke(t.Context(), "/test.Service/"+method, wrapperspb.String("hello"), out, grpc.Header(&c.header), grpc.Trailer(&c.trailer))
	return out.GetValue(), err
}

func toGRPC(addresses ...string) func(*Config) {
	return func(c *Config) {
		c.Upstreams = nil
		for _, address := range addresses {
			c.Upstreams = append(c.Upstreams, &url.URL{Scheme: "h2c", Host: address})
		}
	}
}

const grpcDocument = `
version: 1
policies:
  plain: {steps: [{bulkhead: 100}]}
  limit: {steps: [{limit: 1/1h}]}
  breaker: {steps: [{breaker: {window: {consecutive: 2}, open: 1h}}], fallback: {status: 200, body: fine}}
  timeout: {steps: [{timeout: 1ms}]}
  retry: {steps: [{retry: {attempts: 3, backoff: none, methods: [POST]}}]}
routes:
  - {path: /test.Service/Echo, policy: plain}
  - {path: /test.Service/Limited, policy: limit}
  - {path: /test.Service/FailAfterHeaders, policy: breaker}
  - {path: /test.Service/FailAtOnce, policy: retry}
  - {path: /test.Service/Hang, policy: timeout}
`

// TestGRPC sends calls of a client of gRPC through a proxy to a server of gRPC.
func TestGRPC(t *testing.T) {
	up := newGRPCService(t)
	p := run(t, grpcDocument, http.NotFoundHandler(), toGRPC(up.address))
	c := dialGRPC(t, p, insecure.NewCredentials())
	answer, err := c.call(t, "Echo")
	require.NoError(t, err)
	assert.Equal(t, "hello", answer)
	assert.Equal(t, []string{"of Echo"}, c.trailer["x-end"])

	_, err = c.call(t, "Limited")
	assert.Equal(t, codes.Unimplemented, status.Code(err), "the answer of the server")
	_, err = c.call(t, "Limited")
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Equal(t, "Too many requests for now.", status.Convert(err).Message())
	assert.Equal(t, []string{"rate"}, c.trailer["x-throttle-reason"])
	assert.Regexp(t, `^\["limit";r=0;t=3(600|59\d)\]$`, fmt.Sprint(c.trailer["ratelimit"]))

	for range 2 {
		_, err = c.call(t, "FailAfterHeaders")
		assert.Equal(t, codes.Unavailable, status.Code(err))
		assert.Equal(t, "not now", status.Convert(err).Message())
		assert.Equal(t, []string{"yes"}, c.header["x-begin"])
		assert.Equal(t, []string{"of FailAfterHeaders"}, c.trailer["x-end"])
	}
	_, err = c.call(t, "FailAfterHeaders")
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.Equal(t, "The service is failing and is given time to recover.", status.Convert(err).Message(), "its trailers opened the breaker")

	_, err = c.call(t, "Hang")
	assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
	before := up.calls.Load()
	_, err = c.call(t, "FailAtOnce")
	assert.Equal(t, "not now", status.Convert(err).Message())
	assert.EqualValues(t, 3, up.calls.Load()-before)
}

// TestStreamsOfGRPCTakeTurns sends and receives messages in turns on one call.
func TestStreamsOfGRPCTakeTurns(t *testing.T) {
	up := newGRPCService(t)
	p := run(t, grpcDocument, http.NotFoundHandler(), toGRPC(up.address))
	c := dialGRPC(t, p, insecure.NewCredentials())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/test.Service/Echo")
	require.NoError(t, err)
	for _, text := range []string{"one", "two", "three"} {
		require.NoError(t, stream.SendMsg(wrapperspb.String(text)))
		got := &wrapperspb.StringValue{}
		require.NoError(t, stream.RecvMsg(got))
		assert.Equal(t, text, got.GetValue())
	}
	require.NoError(t, stream.CloseSend())
	assert.Equal(t, io.EOF, stream.RecvMsg(&wrapperspb.StringValue{}))
	assert.Equal(t, []string{"of Echo"}, stream.Trailer()["x-end"])
}

// TestGRPCWithTLS chooses HTTP/2 by ALPN in front.
func TestGRPCWithTLS(t *testing.T) {
	up, files := newGRPCService(t), newPair(t)
	p := run(t, grpcDocument, http.NotFoundHandler(), toGRPC(up.address), files.config)
	c := dialGRPC(t, p, credentials.NewTLS(&tls.Config{RootCAs: files.roots(t)}))
	answer, err := c.call(t, "Echo")
	require.NoError(t, err)
	assert.Equal(t, "hello", answer)
}

// TestGRPCWithoutUpstream has the only upstream down, and then one of two.
func TestGRPCWithoutUpstream(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	p := run(t, grpcDocument, http.NotFoundHandler(), toGRPC(closed.Addr().String()))
	_, err = dialGRPC(t, p, insecure.NewCredentials()).call(t, "Echo")
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.Equal(t, "The upstream gave no answer.", status.Convert(err).Message())

	up := newGRPCService(t)
	p = run(t, grpcDocument, http.NotFoundHandler(), toGRPC(closed.Addr().String(), up.address))
	c := dialGRPC(t, p, insecure.NewCredentials())
	for range 20 {
		_, err := c.call(t, "Echo")
		require.NoError(t, err)
	}
}
