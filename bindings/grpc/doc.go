// Package sluicegrpc guards clients and servers of gRPC with Sluice policies.
//
// Interceptors of a client pass every call through the steps of a policy: limits,
// breakers, retries, hedges, bulkheads and timeouts.
//
//	set, err := sluice.Load("policy.yaml")
//	conn, err := grpc.NewClient(target,
//		grpc.WithChainUnaryInterceptor(sluicegrpc.RoutedUnaryClientInterceptor(set)),
//		grpc.WithChainStreamInterceptor(sluicegrpc.RoutedStreamClientInterceptor(set)))
//
// Interceptors of a server guard its handlers, and turn refusals into statuses that say when to
// come back.
//
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(sluicegrpc.RoutedUnaryServerInterceptor(set)),
//		grpc.ChainStreamInterceptor(sluicegrpc.RoutedStreamServerInterceptor(set)))
//
// What a status means is the policy's `outcomes`, by the HTTP status that it stands for;
// docs/grpc.md has the table. Routes compare a method as the path of a POST.
//
//   - An error of the policy is a *sluice.RejectedError, *sluice.TimeoutError or
//     *sluice.InjectedError for errors.As, and has a status: RESOURCE_EXHAUSTED where a
//     limit refused, UNAVAILABLE for other refusals, DEADLINE_EXCEEDED for timeouts. google.rpc.RetryInfo says when to
//     come back, and a server adds the trailers grpc-retry-pushback-ms and
//     x-throttle-reason.
//   - When the attempts are used up, the status of the last attempt is returned as it is.
//   - A client repeats and hedges a unary call where `methods` has POST, where the descriptor
//     of its method declares an idempotency_level, and where the call has an
//     idempotency-key. grpc-retry-pushback-ms or RetryInfo of a failure delays the retry;
//     a negative pushback forbids it.
//   - Each attempt is one call of the rest of the chain. Attempts beside each other have
//     messages of their own, and the reply, header, trailer and peer that the caller gets
//     come from the attempt that won. Info returns what was done.
//   - A server does not repeat: it passes a retry or hedge step untouched. So does a stream
//     on either side.
//   - A unary call votes with its status, a stream with the status at its end. Timeouts hold
//     until then, and places in bulkheads too. A stream of a client ends with io.EOF or
//     another error of RecvMsg, with its context, or when its connection is closed.
//   - The deadline of an attempt is sent as grpc-timeout by gRPC itself. What ends at the
//     deadline of a server's client gives no vote there.
//   - The entries connect, reset and timeout of `outcomes` are what gRPC itself says of the
//     network to a client; a server does not see them.
//   - A breaker that obeys the time that a failure names takes it from the pushback, the
//     RetryInfo or the retry-after of calls and streams, on both sides.
//   - FromContext returns which policy and route let a call through, and what is left of
//     each limit, where WithAdmission is given.
//   - WithPolicy, WithoutPolicy and WithOverride say what differs for one call of a client,
//     WithPriority carries a priority over hops.
//   - No goroutine is started but the attempts of a hedge. A panic of what is guarded gives
//     everything back, counts as a failure, and goes on.
//   - A fallback is not used, since its body is no message.
package sluicegrpc
