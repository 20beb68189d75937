package host_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

func TestHTTPCalls(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Workers: 2, Clusters: []string{"up"}}, `
request_headers: httpcall none / _ 0; httpcall up _ _ 0; httpcall up / _ -1; httpcall up /check body 250; pause
http_call_response: pairs 6; pairs 7; body 4 0 99; status; header 0 :path; effective stream; resume 0
tick: pairs 6; body 4 0 9`)
	s := f.Worker(1).Stream(host.StreamOptions{})
	defer s.Close()
	s.RequestHeaders(host.Get("/"), host.End)
	assert.Equal(t, "httpcall none / _ 0 = 2  / httpcall up _ _ 0 = 2  / httpcall up / _ -1 = 2  / httpcall up /check body 250 = 0 4", said(p))
	calls := p.HTTPCalls()
	require.Len(t, calls, 1)
	call := calls[0]
	assert.Equal(t, 1, call.Worker)
	assert.Equal(t, "up", call.Cluster)
	assert.Equal(t, host.Headers{{":method", "POST"}, {":path", "/check"}, {":authority", "upstream"}, {"content-length", "4"}}, call.Headers)
	assert.Equal(t, "body", string(call.Body))
	assert.Equal(t, 250*time.Millisecond, call.Timeout)

	call.Reply(host.Answer(200, "a", "b"), []byte("yes"), host.Headers{{"c", "d"}})
	assert.Equal(t, "http_call_response 2 3 / pairs 6 = 0 :status=200 a=b / pairs 7 = 0 c=d / body 4 0 99 = 0 yes / status = 0 0  / header 0 :path = 2  / "+
		"effective stream = 0  / resume 0 = 0 ", said(p), "the root context has the answer")
	assert.NotNil(t, s.Upstream())
	call.Reply(host.Answer(200), nil, nil)
	assert.Empty(t, said(p), "once")
	assert.Empty(t, p.HTTPCalls())

	for _, test := range []struct {
		end  func(*host.HTTPCall)
		want string
	}{
		{(*host.HTTPCall).Fail, "http_call_response 0 0 / pairs 6 = 0  / pairs 7 = 0  / body 4 0 99 = 1  / status = 0 11 reset"},
		{(*host.HTTPCall).TimeOut, "http_call_response 3 24 / pairs 6 = 0 :status=504 content-length=24 content-type=text/plain / pairs 7 = 0  / body 4 0 99 = 0 upstream request timeout"},
		{(*host.HTTPCall).Unreachable, "http_call_response 3 19 / pairs 6 = 0 :status=503 content-length=19 content-type=text/plain / pairs 7 = 0  / body 4 0 99 = 0 no healthy upstream"},
	} {
		s := f.Worker(0).Stream(host.StreamOptions{})
		s.RequestHeaders(host.Get("/"), host.End)
		said(p)
		call := p.HTTPCalls()[0]
		test.end(call)
		assert.Contains(t, said(p), test.want)
		call.Fail()
		assert.Empty(t, said(p))
		assert.NotNil(t, s.Upstream())
		s.Reset()
	}

	s = f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.End)
	call = p.HTTPCalls()[0]
	f.Drain()
	s.Reset()
	said(p)
	call.Reply(host.Answer(200), nil, nil)
	assert.Empty(t, said(p), "the end of the root cancels its calls")
}

func TestGRPCCalls(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Clusters: []string{"up"}}, `
configure: period 5
request_headers: grpccall none s m x; grpccall up svc Check hello; grpccancel 4; grpccancel 9; grpcsend 5 x 1; grpcclose 5; grpccall up svc Check again
grpc_receive: body 5 0 99; pairs 4
grpc_close: status; body 5 0 9`)
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "grpccall none s m x = 4  / grpccall up svc Check hello = 0 5 / grpccancel 4 = 2  / grpccancel 9 = 1  / grpcsend 5 x 1 = 2  / grpcclose 5 = 0  / grpccall up svc Check again = 0 9", said(p))
	calls := p.GRPCCalls()
	require.Len(t, calls, 1)
	call := calls[0]
	assert.Equal(t, []any{0, "up", "svc", "Check", "again", time.Second, false},
		[]any{call.Worker, call.Upstream, call.Service, call.Method, string(call.Sent[0]), call.Timeout, call.Stream})
	call.InitialMetadata(host.Headers{{"a", "b"}})
	assert.Empty(t, said(p), "a call has no metadata")
	call.Receive([]byte("ok"))
	assert.Equal(t, "grpc_receive 9 2 / body 5 0 99 = 0 ok / pairs 4 = 0 ", said(p))
	call.Close(0, "")
	call.Receive(nil)
	assert.Empty(t, said(p), "the message is the end")

	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	said(p)
	require.Len(t, p.GRPCCalls(), 2)
	p.GRPCCalls()[1].Close(14, "gone")
	assert.Equal(t, "grpc_close 17 14 / status = 0 14 gone / body 5 0 9 = 0 ", said(p))
	assert.Len(t, p.GRPCCalls(), 1)
}

func TestGRPCStreams(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Clusters: []string{"up"}}, `
configure: period 5
request_headers: grpcstream none s m; grpcstream up svc Watch; grpcsend last one 0; grpcsend 6 two 1; grpcsend 10 x 0; grpcstream up svc Watch
grpc_metadata: pairs 4; pairs 5
grpc_receive: body 5 0 99
grpc_trailers: pairs 5
grpc_close: status
tick: grpcclose 6; grpccancel 10; grpcclose 6; grpccancel 10`)
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "grpcstream none s m = 4  / grpcstream up svc Watch = 0 6 / grpcsend last one 0 = 0  / grpcsend 6 two 1 = 0  / grpcsend 10 x 0 = 1  / grpcstream up svc Watch = 0 10", said(p))
	calls := p.GRPCCalls()
	require.Len(t, calls, 2)
	call := calls[0]
	assert.True(t, call.Stream)
	assert.Equal(t, host.Headers{{"key", "value"}}, call.Metadata)
	assert.Equal(t, [][]byte{[]byte("one"), []byte("two")}, call.Sent)
	assert.True(t, call.HalfClosed)
	call.InitialMetadata(host.Headers{{"A", "b"}})
	call.Receive([]byte("1"))
	call.Receive([]byte("2"))
	call.TrailingMetadata(host.Headers{{"c", "d"}})
	assert.Equal(t, "grpc_metadata 6 1 / pairs 4 = 0 a=b / pairs 5 = 0  / grpc_receive 6 1 / body 5 0 99 = 0 1 / grpc_receive 6 1 / body 5 0 99 = 0 2 / grpc_trailers 6 1 / pairs 5 = 0 c=d", said(p))
	call.Close(0, "")
	assert.Equal(t, "grpc_close 6 0 / status = 0 0 ", said(p))
	f.Worker(0).Tick()
	assert.Equal(t, "grpcclose 6 = 1  / grpccancel 10 = 0  / grpcclose 6 = 1  / grpccancel 10 = 1 ", said(p))
	assert.Empty(t, p.GRPCCalls())

	// A side that is open keeps the stream.
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	call = p.GRPCCalls()[1]
	call.Close(0, "")
	call.Close(0, "")
	assert.Len(t, p.GRPCCalls(), 2)
}
