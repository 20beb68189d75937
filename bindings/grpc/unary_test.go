package sluicegrpc_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// guarded returns the option of a connection whose unary calls pass a pipeline.
func guarded(p *sluice.Pipeline, options ...sluicegrpc.ClientOption) grpc.DialOption {
	return grpc.WithUnaryInterceptor(sluicegrpc.UnaryClientInterceptor(p, options...))
}

// echo answers with what it gets.
func echo(_ context.Context, _ int, in string) (string, error) { return in, nil }

// retryDelay returns the delay of the RetryInfo of an error, and false without one.
func retryDelay(err error) (time.Duration, bool) {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.RetryDelay.AsDuration(), true
		}
	}
	return 0, false
}

// TestRefusalOfAClient looks at the errors of policies and at their statuses.
func TestRefusalOfAClient(t *testing.T) {
	fails := func(context.Context, int, string) (string, error) {
		return "", status.Error(codes.Unavailable, "not now")
	}
	hangs := func(ctx context.Context, _ int, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	for name, c := range map[string]struct {
		steps string
		serve func(context.Context, int, string) (string, error)
		code  codes.Code
		as    any // a pointer for errors.As
		delay time.Duration
	}{
		"a limit":              {"{limit: 1/1h}", echo, codes.ResourceExhausted, new(*sluice.RejectedError), time.Hour},
		"a breaker":            {"{breaker: {window: {consecutive: 1}, open: 30s}}", fails, codes.Unavailable, new(*sluice.RejectedError), 30 * time.Second},
		"a timeout":            {"{timeout: 5s}", hangs, codes.DeadlineExceeded, new(*sluice.TimeoutError), -1},
		"chaos that fails":     {"{chaos: {fail: 100%}}", echo, codes.Unavailable, new(*sluice.InjectedError), -1},
		"chaos that throttles": {"{chaos: {throttle: {rate: 100%, retry_after: 1500ms}}}", echo, codes.ResourceExhausted, new(*sluice.InjectedError), 1500 * time.Millisecond},
		"chaos that ignores":   {"{chaos: {ignore: 100%}}", echo, codes.InvalidArgument, new(*sluice.InjectedError), -1},
		"chaos below a retry":  {"{retry: {attempts: 2, backoff: none, methods: POST}}, {chaos: {fail: 100%}}", echo, codes.Unavailable, new(*sluice.InjectedError), -1},
		"a timeout of a step":  {"{retry: {attempts: 2, methods: [POST]}}, {timeout: 5s}", hangs, codes.DeadlineExceeded, new(*sluice.TimeoutError), -1},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			p := policyOf(t, "steps: ["+c.steps+"]")
			conn := start(t, &service{unary: c.serve}, nil, guarded(p))
			_, _ = invoke(t.Context(), conn, get, "a")
			_, err := invoke(t.Context(), conn, get, "b")
			require.ErrorAs(t, err, c.as)
			assert.Equal(t, c.code, status.Code(err))
			assert.NotEmpty(t, status.Convert(err).Message())
			delay, ok := retryDelay(err)
			assert.Equal(t, c.delay >= 0, ok)
			if ok {
				assert.Equal(t, c.delay, delay)
			}
		})
	}
	inVirtualTime(t, "a cost that never fits", func(t *testing.T) {
		conn := start(t, &service{unary: echo}, nil, guarded(policyOf(t, "steps: [limit: 1/1h]"), sluicegrpc.WithCost(func(*sluicegrpc.Call) uint32 { return 2 })))
		_, err := invoke(t.Context(), conn, get, "")
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		_, ok := retryDelay(err)
		assert.False(t, ok, "no retry can help")
	})
	inVirtualTime(t, "the caller's context", func(t *testing.T) {
		conn := start(t, &service{unary: hangs}, nil, guarded(policyOf(t, "steps: [{retry: {attempts: 2, methods: [POST]}}, {bulkhead: 1}]")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := invoke(ctx, conn, get, "")
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = invoke(ctx, conn, get, "")
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err), "before the first attempt")
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = invoke(ctx, conn, get, "")
		assert.Equal(t, codes.Canceled, status.Code(err))
		_, err = invoke(ctx, conn, get, "")
		assert.Equal(t, codes.Canceled, status.Code(err), "before the first attempt")
		require.ErrorIs(t, err, context.Canceled)
	})
	inVirtualTime(t, "no policy", func(t *testing.T) {
		conn := start(t, &service{unary: echo}, nil, guarded(parse(t, "version: 1\npolicies: {a: {steps: [limit: 1/1s]}}").Pipeline("b")))
		_, err := invoke(t.Context(), conn, get, "")
		var unknown *sluice.UnknownPolicyError
		require.ErrorAs(t, err, &unknown)
		assert.Equal(t, codes.Internal, status.Code(err))
	})
}

// TestRetryWaitsAsAsked has a service that says by trailers or by details when to come back.
func TestRetryWaitsAsAsked(t *testing.T) {
	info := func(d *durationpb.Duration) error {
		st, err := status.New(codes.Unavailable, "not now").WithDetails(&errdetails.RetryInfo{RetryDelay: d})
		require.NoError(t, err)
		return st.Err()
	}
	plain := status.Error(codes.Unavailable, "not now")
	for name, c := range map[string]struct {
		pushback string // empty for none
		err      error
		took     time.Duration
		attempts int
		gaveUp   reducer.Reason
	}{
		"neither":                   {"", plain, time.Second, 2, reducer.NoReason},
		"a pushback":                {"2500", plain, 2500 * time.Millisecond, 2, reducer.NoReason},
		"a pushback of zero":        {"0", plain, time.Second, 2, reducer.NoReason},
		"a negative pushback":       {"-1", plain, 0, 1, sluice.ReasonPushback},
		"a pushback of words":       {"soon", plain, 0, 1, sluice.ReasonPushback},
		"RetryInfo":                 {"", info(durationpb.New(4 * time.Second)), 4 * time.Second, 2, reducer.NoReason},
		"RetryInfo without a delay": {"", info(nil), time.Second, 2, reducer.NoReason},
		"a negative RetryInfo":      {"", info(durationpb.New(-time.Second)), time.Second, 2, reducer.NoReason},
		"a pushback and RetryInfo":  {"3000", info(durationpb.New(4 * time.Second)), 3 * time.Second, 2, reducer.NoReason},
		"a status that is ignored":  {"1", status.Error(codes.NotFound, ""), 0, 1, reducer.NoReason},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			svc := &service{unary: func(ctx context.Context, call int, in string) (string, error) {
				if call > 1 {
					return in, nil
				}
				if c.pushback != "" {
					assert.NoError(t, grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", c.pushback)))
				}
				return "", c.err
			}}
			p := policyOf(t, "steps: [retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}]")
			conn := start(t, svc, nil, guarded(p))
			began := time.Now()
			var d sluicegrpc.Details
			out, err := invoke(t.Context(), conn, get, "hello", sluicegrpc.Info(&d))
			assert.Equal(t, c.took, time.Since(began))
			assert.Equal(t, sluicegrpc.Details{Policy: "p", Attempts: c.attempts, GaveUp: c.gaveUp}, d)
			if c.attempts > 1 {
				require.NoError(t, err)
				assert.Equal(t, "hello", out)
				return
			}
			assert.Equal(t, status.Code(c.err), status.Code(err))
			assert.Equal(t, status.Convert(c.err).Message(), status.Convert(err).Message(), "the status of the last attempt as it is")
			assert.Equal(t, status.Code(c.err), err.(interface{ GRPCStatus() *status.Status }).GRPCStatus().Code())
		})
	}
}

// TestMethodsThatAreRepeated has a service that fails, and counts what reaches it.
func TestMethodsThatAreRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		retry   string // its setting methods
		options []sluicegrpc.ClientOption
		want    map[string]int64 // attempts by method
	}{
		"as declared":        {"", nil, map[string]int64{get: 2, put: 2, post: 1}},
		"POST":               {", methods: POST", nil, map[string]int64{get: 2, put: 2, post: 2}},
		"GET":                {", methods: GET", nil, map[string]int64{get: 2, put: 1, post: 1}},
		"a name":             {"", []sluicegrpc.ClientOption{sluicegrpc.WithMethods(post)}, map[string]int64{get: 1, put: 1, post: 2}},
		"a service":          {"", []sluicegrpc.ClientOption{sluicegrpc.WithMethods("/sluicegrpc.test.Service/*")}, map[string]int64{get: 2, put: 2, post: 2}},
		"of another service": {"", []sluicegrpc.ClientOption{sluicegrpc.WithMethods("/sluicegrpc.test.Serv/*")}, map[string]int64{get: 1, put: 1, post: 1}},
		"all":                {"", []sluicegrpc.ClientOption{sluicegrpc.WithMethods("*")}, map[string]int64{get: 2, put: 2, post: 2}},
		"none":               {", methods: POST", []sluicegrpc.ClientOption{sluicegrpc.WithMethods()}, map[string]int64{get: 1, put: 1, post: 1}},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			svc := &service{unary: func(context.Context, int, string) (string, error) { return "", status.Error(codes.Unavailable, "") }}
			conn := start(t, svc, nil, guarded(policyOf(t, "steps: [retry: {attempts: 2, backoff: none"+c.retry+"}]"), c.options...))
			for method, want := range c.want {
				svc.calls.Store(0)
				var d sluicegrpc.Details
				_, err := invoke(t.Context(), conn, method, "", sluicegrpc.Info(&d))
				assert.Equal(t, codes.Unavailable, status.Code(err))
				assert.Equal(t, want, svc.calls.Load(), method)
				assert.Equal(t, want == 1, d.NoRetry != "", d.NoRetry)
			}
			svc.calls.Store(0)
			_, _ = invoke(metadata.AppendToOutgoingContext(t.Context(), "idempotency-key", "1"), conn, post, "")
			assert.Equal(t, int64(2), svc.calls.Load(), "with a key")
			svc.calls.Store(0)
			_, _ = invoke(sluicegrpc.WithOverride(t.Context(), sluicegrpc.Override{NoRetry: "the user waits"}), conn, get, "")
			assert.Equal(t, int64(1), svc.calls.Load())
			svc.calls.Store(0)
			_, _ = invoke(sluicegrpc.WithOverride(t.Context(), sluicegrpc.Override{Attempts: 1}), conn, get, "")
			assert.Equal(t, int64(1), svc.calls.Load())
		})
	}
	inVirtualTime(t, "a policy of Go values", func(t *testing.T) {
		p, err := sluice.New(pipeline.Policy{Name: "go", Steps: []pipeline.Step{{Name: "retry", Config: retry.Config{Attempts: 2}}}})
		require.NoError(t, err)
		svc := &service{unary: func(context.Context, int, string) (string, error) { return "", status.Error(codes.Internal, "") }}
		conn := start(t, svc, nil, guarded(p))
		_, _ = invoke(t.Context(), conn, get, "")
		assert.Equal(t, int64(2), svc.calls.Load())
		_, _ = invoke(t.Context(), conn, post, "")
		assert.Equal(t, int64(3), svc.calls.Load())
	})
}

// TestOverrideOfTimeout bounds one call. The server gets the deadline.
func TestOverrideOfTimeout(t *testing.T) {
	inVirtualTime(t, "timeout", func(t *testing.T) {
		svc := &service{unary: func(ctx context.Context, _ int, _ string) (string, error) {
			_, timed := ctx.Deadline()
			assert.True(t, timed)
			<-ctx.Done()
			return "", ctx.Err()
		}}
		conn := start(t, svc, nil, guarded(policyOf(t, "steps: [retry: {attempts: 2, backoff: none}]")))
		began := time.Now()
		ctx := sluicegrpc.WithOverride(sluicegrpc.WithOverride(t.Context(), sluicegrpc.Override{Timeout: time.Second}), sluicegrpc.Override{Key: "a"})
		_, err := invoke(ctx, conn, get, "")
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, int64(1), svc.calls.Load())
	})
}

// TestAnswerOfTheLastAttempt has two attempts whose headers, trailers and replies differ.
func TestAnswerOfTheLastAttempt(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		svc := &service{unary: func(ctx context.Context, call int, in string) (string, error) {
			assert.NoError(t, grpc.SetHeader(ctx, metadata.Pairs("x-call", fmt.Sprint(call), fmt.Sprintf("x-only-%d", call), "yes")))
			assert.NoError(t, grpc.SetTrailer(ctx, metadata.Pairs("x-end", fmt.Sprint(call))))
			if call == 1 {
				return "", status.Error(codes.Unavailable, "not now")
			}
			return in, nil
		}}
		conn := start(t, svc, nil, guarded(policyOf(t, "steps: [retry: {attempts: 2, backoff: none}]")))
		var header, trailer metadata.MD
		var from peer.Peer
		finishes := 0
		out, err := invoke(t.Context(), conn, get, "hello", grpc.WaitForReady(true), grpc.Header(&header), grpc.MaxCallSendMsgSize(100), grpc.Trailer(&trailer),
			grpc.Peer(&from), grpc.OnFinish(func(err error) { finishes++; assert.NoError(t, err) }))
		require.NoError(t, err)
		assert.Equal(t, "hello", out)
		assert.Equal(t, []string{"2"}, header["x-call"])
		assert.Empty(t, header["x-only-1"])
		assert.Equal(t, []string{"2"}, trailer["x-end"])
		assert.NotNil(t, from.Addr)
		assert.Equal(t, 1, finishes)
		_, err = invoke(t.Context(), conn, get, string(make([]byte, 200)), grpc.MaxCallSendMsgSize(100), grpc.Header(&header))
		assert.Equal(t, codes.ResourceExhausted, status.Code(err), "the other options reach each attempt")
	})
}

// adding is a codec that adds to a message in place of replacing it.
type adding struct{}

func (adding) Name() string { return "proto" }

func (adding) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

func (adding) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(data.Materialize(), v.(proto.Message))
}

// TestReplyIsThatOfOneAttempt has an attempt that gets a message and then fails.
func TestReplyIsThatOfOneAttempt(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		calls := 0
		svc := &service{stream: func(s grpc.ServerStream) error {
			calls++
			if err := drain(s); err != nil {
				return err
			}
			list, err := structpb.NewList([]any{calls})
			if err == nil {
				err = s.SendMsg(list)
			}
			if err == nil && calls == 1 {
				err = status.Error(codes.Unavailable, "the rest does not come")
			}
			return err
		}}
		conn := start(t, svc, nil, guarded(policyOf(t, "steps: [retry: {attempts: 2, backoff: none, methods: POST}]")))
		out := &structpb.ListValue{}
		require.NoError(t, conn.Invoke(t.Context(), chat, wrapperspb.String(""), out, grpc.ForceCodecV2(adding{})))
		assert.Equal(t, []any{2.0}, out.AsSlice())
	})
}

// plain is a reply that is no message of protobuf.
type plain struct{ Texts []string }

// TestReplyOfAnotherCodec has attempts add to a reply that only reflection can reset.
func TestReplyOfAnotherCodec(t *testing.T) {
	intercept := sluicegrpc.UnaryClientInterceptor(policyOf(t, "steps: [retry: {attempts: 3, backoff: none, methods: POST}, hedge: {after: 1ms, methods: POST}]"))
	reply, calls := &plain{}, 0
	var d sluicegrpc.Details
	err := intercept(t.Context(), post, nil, reply, nil, func(_ context.Context, _ string, _, reply any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		calls++
		r := reply.(*plain)
		r.Texts = append(r.Texts, fmt.Sprint(calls))
		if calls < 3 {
			return errors.New("down")
		}
		return nil
	}, sluicegrpc.Info(&d))
	require.NoError(t, err)
	assert.Equal(t, []string{"3"}, reply.Texts)
	assert.Contains(t, d.NoHedge, "protobuf")
}

// sleep waits in virtual time, until the context ends at the latest.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// TestHedge has the first attempt hang, or answer when the second has, and the caller
// change its request at once.
func TestHedge(t *testing.T) {
	for name, late := range map[string]time.Duration{"hangs": time.Hour, "answers later": 150 * time.Millisecond} {
		inVirtualTime(t, name, func(t *testing.T) {
			svc := &service{unary: func(ctx context.Context, call int, in string) (string, error) {
				assert.NoError(t, grpc.SetHeader(ctx, metadata.Pairs("x-call", fmt.Sprint(call))))
				assert.NoError(t, grpc.SetTrailer(ctx, metadata.Pairs("x-end", fmt.Sprint(call))))
				wait := late
				if call > 1 {
					wait = 10 * time.Millisecond
				}
				sleep(ctx, wait)
				return fmt.Sprint(in, call), nil
			}}
			p := policyOf(t, "steps: [{hedge: {after: 100ms, methods: POST}}, {bulkhead: 2}]")
			conn := start(t, svc, nil, guarded(p))
			var header, trailer metadata.MD
			var d sluicegrpc.Details
			in, out, began := wrapperspb.String("a"), wrapperspb.String("before"), time.Now()
			require.NoError(t, conn.Invoke(t.Context(), post, in, out, grpc.Header(&header), sluicegrpc.Info(&d), grpc.Trailer(&trailer)))
			in.Value = "another"
			assert.Equal(t, 110*time.Millisecond, time.Since(began))
			assert.Equal(t, "a2", out.Value)
			assert.Equal(t, []string{"2"}, header["x-call"])
			assert.Equal(t, []string{"2"}, trailer["x-end"])
			assert.Equal(t, sluicegrpc.Details{Policy: "p", Attempts: 2}, d)
			synctest.Wait()
			assert.Equal(t, "a2", out.Value, "a late answer goes nowhere")
			assert.Equal(t, 2, free(t, p))
		})
	}
	inVirtualTime(t, "not of what must not run twice", func(t *testing.T) {
		svc := &service{unary: func(ctx context.Context, _ int, in string) (string, error) {
			sleep(ctx, time.Second)
			return in, nil
		}}
		conn := start(t, svc, nil, guarded(policyOf(t, "steps: [hedge: {after: 100ms}]")))
		var d sluicegrpc.Details
		_, err := invoke(t.Context(), conn, post, "a", sluicegrpc.Info(&d))
		require.NoError(t, err)
		assert.Equal(t, int64(1), svc.calls.Load())
		assert.Equal(t, 1, d.Attempts)
		assert.NotEmpty(t, d.NoHedge)
		assert.Empty(t, d.NoRetry, "the policy has no retry")
		_, err = invoke(t.Context(), conn, get, "a")
		require.NoError(t, err)
		assert.Equal(t, int64(3), svc.calls.Load(), "nine hundred milliseconds are enough for another")
	})
}

// TestRequestOfAnAttemptThatLost has an attempt look at its request when the call has
// returned and the caller has changed it.
func TestRequestOfAnAttemptThatLost(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		intercept := sluicegrpc.UnaryClientInterceptor(policyOf(t, "steps: [hedge: {after: 1s, methods: POST}]"))
		changed, seen, calls := make(chan struct{}), make(chan string, 1), atomic.Int64{}
		invoker := func(_ context.Context, _ string, req, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			if calls.Add(1) == 1 {
				<-changed
				seen <- req.(*text).Value
			}
			return nil
		}
		in := wrapperspb.String("a")
		require.NoError(t, intercept(t.Context(), post, in, &text{}, nil, invoker))
		in.Value = "another"
		close(changed)
		assert.Equal(t, "a", <-seen)
	})
}

// TestDeadlineOfAnAttempt looks at the deadlines that a service gets.
func TestDeadlineOfAnAttempt(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		left := make(chan time.Duration, 2)
		svc := &service{unary: func(ctx context.Context, call int, _ string) (string, error) {
			at, ok := ctx.Deadline()
			assert.True(t, ok)
			left <- time.Until(at).Round(time.Millisecond)
			if call == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "", nil
		}}
		conn := start(t, svc, nil, guarded(policyOf(t, "steps: [{timeout: 3s}, {retry: {attempts: 2, backoff: none}}, {timeout: 2s}]")))
		_, err := invoke(t.Context(), conn, get, "")
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, <-left)
		assert.Equal(t, time.Second, <-left)
	})
}

// TestPriority sends a call by a service that calls another one for it.
func TestPriority(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		var got []string
		behind := start(t, &service{unary: func(ctx context.Context, _ int, in string) (string, error) {
			got = metadata.ValueFromIncomingContext(ctx, "priority")
			return in, nil
		}}, nil, guarded(policyOf(t, "steps: [bulkhead: 9]"), sluicegrpc.WithPriority("priority")))
		own := ""
		front := start(t, &service{unary: func(ctx context.Context, _ int, in string) (string, error) {
			if own != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "priority", own)
			}
			return invoke(ctx, behind, get, in)
		}}, nil)
		call := func(values ...string) []string {
			ctx := t.Context()
			for _, v := range values {
				ctx = metadata.AppendToOutgoingContext(ctx, "priority", v)
			}
			_, err := invoke(ctx, front, get, "")
			require.NoError(t, err)
			return got
		}
		assert.Equal(t, []string{"u=1"}, call("u=1"))
		assert.Equal(t, []string{"u=1", "i"}, call("u=1", "i"))
		assert.Empty(t, call())
		assert.Empty(t, call(string(make([]byte, 0, 2000))+fmt.Sprintf("%02000d", 1)), "too long")
		own = "u=7"
		assert.Equal(t, []string{"u=7"}, call("u=1"), "that of the call itself stays")
	})
}

// TestOptionsOfAClient looks at what is counted by.
func TestOptionsOfAClient(t *testing.T) {
	inVirtualTime(t, "attributes", func(t *testing.T) {
		for attribute, want := range map[string]string{
			"key": "mine", "host": "orders.test", "method": "POST", "path": get, "route": get, "header:x-tenant": "a, b", "header:host": "orders.test:443",
		} {
			p := policyOf(t, `steps: [limit: {rate: 1/1h, per: "`+attribute+`"}]`)
			conn := start(t, &service{unary: echo}, nil, guarded(p, sluicegrpc.WithKey(func(c *sluicegrpc.Call) string {
				assert.Equal(t, get, c.Method())
				assert.False(t, c.Stream())
				assert.Equal(t, "in", c.Message().(*text).Value)
				if attribute == "key" {
					return "mine"
				}
				return ""
			})))
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "a", "x-tenant", "b")
			_, err := invoke(ctx, conn, get, "in")
			require.NoError(t, err)
			assert.True(t, counts(p, want), attribute)
			_, err = invoke(ctx, conn, get, "in", grpc.CallAuthority("billing.test:8443"))
			assert.Equal(t, attribute == "host" || attribute == "header:host", err == nil, "another authority")
		}
	})
	inVirtualTime(t, "cost, skip and overrides", func(t *testing.T) {
		p := policyOf(t, "steps: [limit: {rate: 10/1h, per: key}]")
		left := func(key string) uint32 { return p.Limits(sluice.Request{Key: key}, nil)[0].Free }
		conn := start(t, &service{unary: echo}, nil, guarded(p,
			sluicegrpc.WithCost(func(c *sluicegrpc.Call) uint32 { return uint32(len(c.Message().(*text).Value)) }),
			sluicegrpc.WithSkip(func(c *sluicegrpc.Call) bool { return c.Method() == put })))
		call := func(ctx context.Context, method, in string) {
			_, err := invoke(ctx, conn, method, in)
			require.NoError(t, err)
		}
		call(t.Context(), get, "abc")
		assert.Equal(t, uint32(7), left(""))
		call(t.Context(), get, "")
		call(t.Context(), put, "abc")
		assert.Equal(t, uint32(7), left(""), "no cost, and skipped")
		ctx := sluicegrpc.WithOverride(t.Context(), sluicegrpc.Override{Key: "k"})
		call(ctx, get, "ab")
		assert.Equal(t, uint32(8), left("k"))
		call(sluicegrpc.WithOverride(ctx, sluicegrpc.Override{Cost: 5}), get, "ab")
		assert.Equal(t, uint32(3), left("k"))
		call(sluicegrpc.WithoutPolicy(ctx), get, "ab")
		other := policyOf(t, "steps: [limit: 10/1h]")
		call(sluicegrpc.WithPolicy(ctx, other), get, "ab")
		assert.Equal(t, uint32(3), left("k"))
		assert.Equal(t, uint32(8), other.Limits(sluice.Request{}, nil)[0].Free)
	})
	inVirtualTime(t, "outcomes", func(t *testing.T) {
		svc := &service{unary: func(_ context.Context, _ int, in string) (string, error) {
			if in == "" {
				return "", status.Error(codes.FailedPrecondition, "")
			}
			return in, nil
		}}
		p := policyOf(t, "steps: [retry: {attempts: 2, backoff: none}]")
		got := listen(p)
		conn := start(t, svc, nil, guarded(p, sluicegrpc.WithOutcomes(policy.Outcomes{Throttle: policy.Class{Codes: []int{400}}}),
			sluicegrpc.WithOutcome(func(c *sluicegrpc.Call, reply any, err error, byStatus reducer.Outcome) reducer.Outcome {
				assert.Equal(t, get, c.Method())
				if err != nil {
					assert.Nil(t, reply)
					assert.Equal(t, reducer.Throttle, byStatus)
					return reducer.OK
				}
				assert.Equal(t, reducer.OK, byStatus)
				if reply.(*text).Value == "bad" {
					return reducer.Fail
				}
				return byStatus
			})))
		for _, in := range []string{"good", "", "bad"} {
			var d sluicegrpc.Details
			out, err := invoke(t.Context(), conn, get, in, sluicegrpc.Info(&d))
			assert.Equal(t, in, out, "the reply is returned whatever it means")
			assert.Equal(t, in == "", status.Code(err) == codes.FailedPrecondition)
			assert.Equal(t, in == "bad", d.Attempts == 2)
		}
		assert.Equal(t, []string{"ok", "ok", "fail"}, got.all())
	})
}

// TestErrorsNameTheLastAttempt has a limit refuse after a reply that WithOutcome does not
// take, and after a status.
func TestErrorsNameTheLastAttempt(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		svc := &service{unary: func(_ context.Context, _ int, in string) (string, error) {
			if in == "down" {
				return "", status.Error(codes.Unavailable, "out of order")
			}
			return in, nil
		}}
		for in, want := range map[string]string{"bad": "the reply means fail", "down": "out of order"} {
			p := policyOf(t, "steps: [{retry: {attempts: 2, backoff: none, methods: POST}}, {limit: 1/1h}]")
			conn := start(t, svc, nil, guarded(p, sluicegrpc.WithOutcome(func(c *sluicegrpc.Call, _ any, _ error, _ reducer.Outcome) reducer.Outcome {
				assert.NoError(t, c.Context().Err())
				return reducer.Fail
			})))
			_, err := invoke(t.Context(), conn, post, in)
			var refused *sluice.RejectedError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, want)
			assert.Equal(t, in == "down", status.Code(refused.Err) == codes.Unavailable)
		}
		denied := start(t, svc, nil, grpc.WithUnaryInterceptor(sluicegrpc.RoutedUnaryClientInterceptor(parse(t, "version: 1\npolicies: {a: {steps: [limit: 1/1s]}}\nhttp: {default: deny}"))))
		_, err := invoke(t.Context(), denied, post, "")
		var request *sluicegrpc.RequestError
		require.ErrorAs(t, err, &request)
		assert.Equal(t, "sluice: call refused (route): No route of this service matches the request.", err.Error())
	})
}

// TestRefusalBelowAClient has a policy inside the attempts of another.
func TestRefusalBelowAClient(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		outer := policyOf(t, "steps: [retry: {attempts: 2, backoff: none, methods: POST}]")
		inner, err := sluice.New(pipeline.Policy{Name: "inner", Steps: []pipeline.Step{{Name: "limit", Config: limiter.Config{Count: 1, Period: 10 * time.Second}}}})
		require.NoError(t, err)
		conn := start(t, &service{unary: echo}, nil, grpc.WithChainUnaryInterceptor(sluicegrpc.UnaryClientInterceptor(outer), sluicegrpc.UnaryClientInterceptor(inner)))
		began := time.Now()
		for range 2 {
			_, err := invoke(t.Context(), conn, post, "")
			require.NoError(t, err)
		}
		assert.Equal(t, 10*time.Second, time.Since(began), "the retry waits for the limit")
	})
}

// TestRefusalBelowAClientIsNoFailure has the inner policy refuse where its status alone would
// be a failure, or would be repeated.
func TestRefusalBelowAClientIsNoFailure(t *testing.T) {
	for name, c := range map[string]struct {
		inner string
		code  codes.Code
		tries int
	}{
		"a breaker":              {"breaker: {window: {consecutive: 1}, open: 1h}", codes.Unavailable, 2},
		"a cost that never fits": {"limit: 1/1s", codes.ResourceExhausted, 1},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			outer, inner := policyOf(t, "steps: [retry: {attempts: 2, backoff: none, methods: POST}]"), policyOf(t, "steps: ["+c.inner+"]")
			got := listen(outer)
			down := &service{unary: func(context.Context, int, string) (string, error) { return "", status.Error(codes.Unavailable, "down") }}
			conn := start(t, down, nil, grpc.WithChainUnaryInterceptor(sluicegrpc.UnaryClientInterceptor(outer),
				sluicegrpc.UnaryClientInterceptor(inner, sluicegrpc.WithCost(func(*sluicegrpc.Call) uint32 { return 2 }))))
			var d sluicegrpc.Details
			_, err := invoke(t.Context(), conn, post, "", sluicegrpc.Info(&d))
			var refused *sluice.RejectedError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, c.code, status.Code(err))
			assert.Equal(t, []string{"throttle"}, got.all())
			assert.Equal(t, c.tries, d.Attempts)
		})
	}
}
