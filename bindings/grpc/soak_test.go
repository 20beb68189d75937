package sluicegrpc_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
	"github.com/sluice-go/sluice/internal/testenv"
)

// troubled is a unary handler with every trouble there is, chosen by the message.
func troubled(ctx context.Context, _ int, in string) (string, error) {
	switch in {
	case "unavailable":
		return "", status.Error(codes.Unavailable, "not now")
	case "pushback":
		_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "20"))
		return "", status.Error(codes.ResourceExhausted, "too many")
	case "hangs":
		<-ctx.Done()
		return "", ctx.Err()
	case "slow":
		sleep(ctx, 200*time.Millisecond)
	case "panics":
		panic("a bug")
	}
	return in, nil
}

// troubledStream sends messages for a while, and ends as the first message says.
func troubledStream(s grpc.ServerStream) error {
	in := &text{}
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	for range 3 {
		if err := s.SendMsg(in); err != nil {
			return err
		}
		sleep(s.Context(), 50*time.Millisecond)
	}
	_, err := troubled(s.Context(), 0, in.Value)
	return err
}

var troubles = []string{"fine", "unavailable", "pushback", "hangs", "slow", "panics"}

// one makes a call or a stream and does with it what a caller might.
func one(ctx context.Context, conn *grpc.ClientConn, r *rand.Rand) error {
	if r.IntN(3) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(300))*time.Millisecond)
		defer cancel()
	}
	in := troubles[r.IntN(len(troubles))]
	if r.IntN(2) == 0 {
		_, err := invoke(ctx, conn, []string{get, post}[r.IntN(2)], in)
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := conn.NewStream(ctx, chatDesc, chat)
	if err != nil {
		return err
	}
	if err := s.SendMsg(wrapperspb.String(in)); err != nil {
		return s.RecvMsg(&text{})
	}
	for n := r.IntN(10); n > 0 && err == nil; n-- {
		err = s.RecvMsg(&text{})
	}
	return err
}

// TestNothingIsLeft has many callers with every trouble there is, on both sides, in a
// bubble, which fails when a goroutine is left at its end.
func TestNothingIsLeft(t *testing.T) {
	seed := testenv.Seed()
	t.Logf("seed %d", seed)
	steps := func(more string) string {
		return "steps: [{timeout: 2s}, " + more + "{breaker: {window: {consecutive: 60}, open: 10ms, probes: 40}}, {limit: {rate: 100000/1s, wait: 1s}}, " +
			"{bulkhead: {concurrent: 8, wait: 5s}}, {timeout: 500ms}]"
	}
	for name, more := range map[string]string{
		"retries": "{retry: {attempts: 3, backoff: {exponential: 10ms, max: 1s}, methods: POST}}, ",
		"hedges":  "{hedge: {after: 100ms, methods: POST}}, ",
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			front, back := policyOf(t, steps(more)), policyOf(t, steps(""))
			svc := &service{unary: troubled, stream: troubledStream}
			conn := start(t, svc, []grpc.ServerOption{
				grpc.ChainUnaryInterceptor(recoversUnary, sluicegrpc.UnaryServerInterceptor(back)),
				grpc.ChainStreamInterceptor(recovers, sluicegrpc.StreamServerInterceptor(back)),
			}, guarded(front), grpc.WithStreamInterceptor(sluicegrpc.StreamClientInterceptor(front)))
			const callers, each = 16, 40
			var wait sync.WaitGroup
			for caller := range callers {
				wait.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(caller)))
					for range each * testenv.Times() {
						if delay, ok := retryDelay(one(t.Context(), conn, r)); ok {
							time.Sleep(delay)
						}
					}
				})
			}
			wait.Wait()
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Greater(t, svc.calls.Load(), int64(callers*each/2), "too few calls reach the service")
			for _, p := range []*sluice.Pipeline{front, back} {
				assert.Equal(t, 8, free(t, p))
				for _, s := range p.State() {
					assert.Zero(t, s.Waiting, s.Step)
				}
			}
		})
	}
}
