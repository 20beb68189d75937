package main

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
)

// grpcMethod is a method of no service.
const grpcMethod = "/bench.Service/Call"

func grpcTasks() []task {
	return []task{
		{name: "gRPC client, retry, breaker, limit", allocs: -1, sluice: repeated(ourGRPCClient), peers: []peer{
			{"failsafegrpc", repeated(failsafeGRPCClient), 0},
		}},
		{name: "gRPC server, one limit", allocs: -1, sluice: repeated(ourGRPCServer), peers: []peer{
			{"failsafegrpc", repeated(failsafeGRPCServer), 0},
		}},
	}
}

func grpcCalls(ctx context.Context, guarded grpc.UnaryClientInterceptor) func() {
	req, reply := wrapperspb.String("in"), &wrapperspb.StringValue{}
	next := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	return func() {
		if err := guarded(ctx, grpcMethod, req, reply, nil, next); err != nil {
			panic(err)
		}
	}
}

func ourGRPCClient(ctx context.Context) func() {
	const document = `
version: 1
policies:
  api: {steps: [{retry: {attempts: 3, methods: POST}}, {breaker: {window: {calls: 100}}}, {limit: 1000000000/1s}]}
`
	return grpcCalls(ctx, sluicegrpc.UnaryClientInterceptor(must(sluice.Parse("bench.yaml", []byte(document))).Pipeline("api")))
}

func failsafeGRPCClient(ctx context.Context) func() {
	return grpcCalls(ctx, failsafegrpc.NewUnaryClientInterceptor[*wrapperspb.StringValue](
		retrypolicy.NewBuilder[*wrapperspb.StringValue]().WithMaxAttempts(3).Build(),
		circuitbreaker.NewBuilder[*wrapperspb.StringValue]().WithFailureThresholdRatio(50, 100).Build(),
		ratelimiter.NewBursty[*wrapperspb.StringValue](1_000_000_000, time.Second)))
}

func grpcHandles(ctx context.Context, guarded grpc.UnaryServerInterceptor) func() {
	req, info := wrapperspb.String("in"), &grpc.UnaryServerInfo{FullMethod: grpcMethod}
	next := func(_ context.Context, req any) (any, error) { return req, nil }
	return func() {
		if _, err := guarded(ctx, req, info, next); err != nil {
			panic(err)
		}
	}
}

func ourGRPCServer(ctx context.Context) func() {
	const document = `
version: 1
policies:
  api: {steps: [limit: 1000000000/1s]}
`
	p := must(sluice.Parse("bench.yaml", []byte(document))).Pipeline("api")
	return grpcHandles(ctx, sluicegrpc.UnaryServerInterceptor(p, sluicegrpc.WithRateLimitHeaders(false)))
}

func failsafeGRPCServer(ctx context.Context) func() {
	return grpcHandles(ctx, failsafegrpc.NewUnaryServerInterceptor[any](ratelimiter.NewBursty[any](1_000_000_000, time.Second)))
}
