package sluicegrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
)

// serve serves the health service in memory until stop is called.
func serve(options ...grpc.ServerOption) (dial grpc.DialOption, stop func()) {
	l := bufconn.Listen(1 << 16)
	server := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }()
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }), server.Stop
}

// A client whose calls pass a policy: its errors have a status, and say what refused.
func ExampleUnaryClientInterceptor() {
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  health:
    steps:
      - timeout: 2s
      - retry: {attempts: 3, methods: POST, budget: 20%}
      - limit: 1/1h
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	dial, stop := serve()
	defer stop()
	p := set.Pipeline("health")
	conn, err := grpc.NewClient("passthrough:///health.test", dial, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(sluicegrpc.UnaryClientInterceptor(p)),
		grpc.WithChainStreamInterceptor(sluicegrpc.StreamClientInterceptor(p)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	client := healthpb.NewHealthClient(conn)
	for range 2 {
		var details sluicegrpc.Details
		reply, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{}, sluicegrpc.Info(&details))
		var refused *sluice.RejectedError
		if errors.As(err, &refused) {
			fmt.Println(status.Code(err), "by", refused.Step, refused.Reason)
			continue
		}
		fmt.Println(reply.GetStatus(), err, details.Attempts)
	}
	// Output:
	// SERVING <nil> 1
	// ResourceExhausted by limit rate
}

// A server whose handlers are guarded by the routes of a document.
func ExampleRoutedUnaryServerInterceptor() {
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  checks:
    steps:
      - limit: {rate: 1/1h, per: "header:x-tenant"}
      - bulkhead: 50
  streams:
    steps:
      - bulkhead: 500
routes:
  - {path: /grpc.health.v1.Health/Watch, policy: streams}
  - {path: /grpc.health.v1.Health/*, policy: checks}
http: {default: deny}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	dial, stop := serve(
		grpc.ChainUnaryInterceptor(sluicegrpc.RoutedUnaryServerInterceptor(set)),
		grpc.ChainStreamInterceptor(sluicegrpc.RoutedStreamServerInterceptor(set)))
	defer stop()
	conn, err := grpc.NewClient("passthrough:///health.test", dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	client := healthpb.NewHealthClient(conn)
	for range 2 {
		_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{})
		fmt.Println(status.Code(err), status.Code(err) == codes.ResourceExhausted)
	}
	// Output:
	// OK false
	// ResourceExhausted true
}
