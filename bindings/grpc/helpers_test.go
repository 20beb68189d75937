package sluicegrpc_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/mechanism"
)

// The methods of the service of the tests. The names of the unary ones say how their
// descriptors declare them.
const (
	get  = "/sluicegrpc.test.Service/Get"  // NO_SIDE_EFFECTS
	put  = "/sluicegrpc.test.Service/Put"  // IDEMPOTENT
	post = "/sluicegrpc.test.Service/Post" // as it is by default
	// The streams: of the server, of the client, of both.
	watch  = "/sluicegrpc.test.Service/Watch"
	upload = "/sluicegrpc.test.Service/Upload"
	chat   = "/sluicegrpc.test.Service/Chat"
)

func init() {
	const message = ".google.protobuf.StringValue"
	method := func(name string, level descriptorpb.MethodOptions_IdempotencyLevel) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{
			Name: proto.String(name), InputType: proto.String(message), OutputType: proto.String(message),
			Options: &descriptorpb.MethodOptions{IdempotencyLevel: level.Enum()},
		}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("sluicegrpc_test.proto"), Package: proto.String("sluicegrpc.test"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/wrappers.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Service"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Get", descriptorpb.MethodOptions_NO_SIDE_EFFECTS),
			method("Put", descriptorpb.MethodOptions_IDEMPOTENT),
			method("Post", descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN),
		}}},
	}, protoregistry.GlobalFiles)
	if err == nil {
		err = protoregistry.GlobalFiles.RegisterFile(file)
	}
	if err != nil {
		panic(err)
	}
}

type text = wrapperspb.StringValue

// service is a server of gRPC whose methods are functions of the test.
type service struct {
	unary  func(ctx context.Context, call int, in string) (string, error)
	stream func(grpc.ServerStream) error
	calls  atomic.Int64
	dialed func(net.Conn) (net.Conn, error) // nil for connections as they are
}

func (s *service) desc() *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: "sluicegrpc.test.Service", HandlerType: (*any)(nil)}
	for _, name := range []string{get, put, post} {
		d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: name[strings.LastIndexByte(name, '/')+1:], Handler: s.handler(name)})
	}
	for _, name := range []string{watch, upload, chat} {
		d.Streams = append(d.Streams, grpc.StreamDesc{
			StreamName: name[strings.LastIndexByte(name, '/')+1:], ServerStreams: name != upload, ClientStreams: name != watch,
			Handler: func(_ any, stream grpc.ServerStream) error {
				s.calls.Add(1)
				return s.stream(stream)
			},
		})
	}
	return d
}

func (s *service) handler(name string) grpc.MethodHandler {
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := &text{}
		if err := decode(in); err != nil {
			return nil, err
		}
		call := func(ctx context.Context, req any) (any, error) {
			out, err := s.unary(ctx, int(s.calls.Add(1)), req.(*text).Value)
			return wrapperspb.String(out), err
		}
		if interceptor == nil {
			return call(ctx, in)
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: name}, call)
	}
}

// start serves without a socket, and returns a connection. It is for a bubble.
func start(t testing.TB, s *service, server []grpc.ServerOption, client ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(server...)
	srv.RegisterService(s.desc(), s)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	synctest.Wait() // a server that is stopped before it serves is an error
	conn, err := grpc.NewClient("passthrough:///orders.test:443", append(client,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := l.DialContext(ctx)
			if err != nil || s.dialed == nil {
				return conn, err
			}
			return s.dialed(conn)
		}))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close() // a test may have closed it
		srv.Stop()
		assert.NoError(t, <-served)
	})
	return conn
}

// invoke makes a unary call with a text and returns the text of the reply.
func invoke(ctx context.Context, conn *grpc.ClientConn, method, in string, options ...grpc.CallOption) (string, error) {
	out := &text{}
	err := conn.Invoke(ctx, method, wrapperspb.String(in), out, options...)
	return out.Value, err
}

// drain reads a stream of a server to its end.
func drain(stream grpc.ServerStream) error {
	for {
		switch err := stream.RecvMsg(&text{}); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// inVirtualTime runs a test in a bubble, which fails when a goroutine is left at its end.
func inVirtualTime(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// parse makes the pipelines of a document.
func parse(t testing.TB, document string) *sluice.Set {
	t.Helper()
	set, err := sluice.Parse("policy.yaml", []byte(document), sluice.WithSeed(1))
	require.NoError(t, err)
	return set
}

// policyOf is a pipeline of the steps and settings of one policy, one a line.
func policyOf(t testing.TB, lines ...string) *sluice.Pipeline {
	t.Helper()
	return parse(t, "version: 1\npolicies:\n  p:\n    "+strings.Join(lines, "\n    ")+"\n").Pipeline("p")
}

// free returns how many places of a pipeline's bulkhead are free.
func free(t testing.TB, p *sluice.Pipeline) int {
	t.Helper()
	for _, s := range p.State() {
		if s.Kind == mechanism.Bulkhead {
			return int(s.Free)
		}
	}
	t.Fatal("there is no bulkhead")
	return 0
}

// votes records how the calls of a pipeline end.
type votes struct {
	mu   sync.Mutex
	list []string
}

func listen(p *sluice.Pipeline) *votes {
	v := &votes{}
	p.Listen(func(e sluice.Event) {
		if e.Kind != sluice.EventEnd && e.Kind != sluice.EventTimeout {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		word := e.Outcome.String()
		if e.Kind == sluice.EventTimeout {
			word = "timeout of " + e.Step
		}
		v.list = append(v.list, word)
	})
	return v
}

func (v *votes) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.list
}

// counts reports whether a limit of one permit for each value of an attribute has given the
// permit of a value.
func counts(p *sluice.Pipeline, value string) bool {
	states := p.Limits(sluice.Request{Key: value, Lookup: func(string) string { return value }}, nil)
	return len(states) == 1 && states[0].Free == 0
}
