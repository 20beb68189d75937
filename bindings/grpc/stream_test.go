package sluicegrpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
	"github.com/sluice-go/sluice/reducer"
)

var (
	watchDesc  = &grpc.StreamDesc{StreamName: "Watch", ServerStreams: true}
	uploadDesc = &grpc.StreamDesc{StreamName: "Upload", ClientStreams: true}
	chatDesc   = &grpc.StreamDesc{StreamName: "Chat", ServerStreams: true, ClientStreams: true}
)

// hangs sends one message and then waits for the end of its context.
func hangs(s grpc.ServerStream) error {
	if err := s.SendMsg(wrapperspb.String("first")); err != nil {
		return err
	}
	<-s.Context().Done()
	return s.Context().Err()
}

// TestStreamOfAClientEnds has streams end in each way, and looks at the vote and at the
// place after it.
func TestStreamOfAClientEnds(t *testing.T) {
	receive := func(s grpc.ClientStream) error { return s.RecvMsg(&text{}) }
	for name, c := range map[string]struct {
		desc    *grpc.StreamDesc
		timeout string
		serve   func(grpc.ServerStream) error
		// use uses the stream until it has ended, and returns the last error.
		use   func(s grpc.ClientStream, cancel func(), conn *grpc.ClientConn) error
		votes []string
		code  codes.Code
	}{
		"io.EOF": {
			watchDesc, "1h", func(s grpc.ServerStream) error { return s.SendMsg(wrapperspb.String("only")) },
			func(s grpc.ClientStream, _ func(), _ *grpc.ClientConn) error {
				assert.NoError(t, receive(s))
				return receive(s)
			}, []string{"ok"}, codes.Unknown,
		},
		"a status": {
			watchDesc, "1h", func(grpc.ServerStream) error { return status.Error(codes.Unavailable, "not now") },
			func(s grpc.ClientStream, _ func(), _ *grpc.ClientConn) error { return receive(s) },
			[]string{"fail"}, codes.Unavailable,
		},
		"a status after a message": {
			watchDesc, "1h", func(s grpc.ServerStream) error {
				assert.NoError(t, s.SendMsg(wrapperspb.String("one")))
				return status.Error(codes.ResourceExhausted, "too many")
			},
			func(s grpc.ClientStream, _ func(), _ *grpc.ClientConn) error {
				assert.NoError(t, receive(s))
				return receive(s)
			}, []string{"throttle"}, codes.ResourceExhausted,
		},
		"the reply to a stream of the client": {
			uploadDesc, "1h", func(s grpc.ServerStream) error {
				assert.NoError(t, drain(s))
				return s.SendMsg(wrapperspb.String("all"))
			},
			func(s grpc.ClientStream, _ func(), _ *grpc.ClientConn) error {
				assert.NoError(t, s.SendMsg(wrapperspb.String("part")))
				assert.NoError(t, s.CloseSend())
				return receive(s)
			}, []string{"ok"}, codes.OK,
		},
		"a failure of a stream of the client": {
			uploadDesc, "1h", func(grpc.ServerStream) error { return status.Error(codes.InvalidArgument, "no") },
			func(s grpc.ClientStream, _ func(), _ *grpc.ClientConn) error { return receive(s) },
			[]string{"ignore"}, codes.InvalidArgument,
		},
		"a message that cannot be sent": {
			chatDesc, "1h", hangs,
			func(s grpc.ClientStream, _ func(), _ *grpc.ClientConn) error { return s.SendMsg("no message") },
			[]string{"fail"}, codes.Internal,
		},
		"the caller cancels while it reads": {
			watchDesc, "1h", hangs,
			func(s grpc.ClientStream, cancel func(), _ *grpc.ClientConn) error {
				assert.NoError(t, receive(s))
				time.AfterFunc(time.Minute, cancel)
				return receive(s)
			}, []string{"cancel"}, codes.Canceled,
		},
		"the caller cancels and does not read": {
			watchDesc, "1h", hangs,
			func(_ grpc.ClientStream, cancel func(), _ *grpc.ClientConn) error { cancel(); return nil },
			[]string{"cancel"}, codes.OK,
		},
		"a timeout of the policy": {
			watchDesc, "10s", hangs,
			func(s grpc.ClientStream, _ func(), _ *grpc.ClientConn) error {
				assert.NoError(t, receive(s))
				err := receive(s)
				var timeout *sluice.TimeoutError
				assert.ErrorAs(t, err, &timeout)
				assert.Equal(t, err, receive(s), "the error stays")
				return err
			}, []string{"timeout of timeout", "timeout"}, codes.DeadlineExceeded,
		},
		"a timeout of the policy while nothing is read": {
			watchDesc, "10s", hangs,
			func(grpc.ClientStream, func(), *grpc.ClientConn) error { time.Sleep(10 * time.Second); return nil },
			[]string{"timeout of timeout", "timeout"}, codes.OK,
		},
		"the connection is closed while nothing is read": {
			watchDesc, "1h", hangs,
			func(_ grpc.ClientStream, _ func(), conn *grpc.ClientConn) error { return conn.Close() },
			[]string{"cancel"}, codes.OK,
		},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			p := policyOf(t, "steps: [{timeout: "+c.timeout+"}, {retry: 3}, {breaker: {window: {calls: 10}}}, {bulkhead: 1}]")
			got := listen(p)
			svc := &service{stream: c.serve}
			judged := 0
			conn := start(t, svc, nil, grpc.WithStreamInterceptor(sluicegrpc.StreamClientInterceptor(p,
				sluicegrpc.WithOutcome(func(c *sluicegrpc.Call, reply any, _ error, byStatus reducer.Outcome) reducer.Outcome {
					assert.True(t, c.Stream())
					assert.Nil(t, reply)
					judged++
					return byStatus
				}))))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var d sluicegrpc.Details
			s, err := conn.NewStream(ctx, c.desc, "/sluicegrpc.test.Service/"+c.desc.StreamName, sluicegrpc.Info(&d))
			require.NoError(t, err)
			assert.Equal(t, sluicegrpc.Details{Policy: "p", Attempts: 1, NoRetry: "a stream is not repeated"}, d)
			assert.Zero(t, free(t, p))
			if !c.desc.ClientStreams {
				require.NoError(t, s.SendMsg(wrapperspb.String("go on")))
				require.NoError(t, s.CloseSend())
			}
			assert.Empty(t, got.all())
			err = c.use(s, cancel, conn)
			if c.code == codes.Unknown {
				assert.Equal(t, io.EOF, err)
			} else {
				assert.Equal(t, c.code, status.Code(err))
			}
			synctest.Wait()
			assert.Equal(t, c.votes, got.all())
			cut := c.votes[len(c.votes)-1]
			assert.Equal(t, cut != "cancel" && cut != "timeout", judged == 1, "what ended with its context is not judged")
			assert.Equal(t, 1, free(t, p))
			assert.LessOrEqual(t, svc.calls.Load(), int64(1), "a stream is not repeated")
		})
	}
}

func TestDeadlineOfTheCallerEndsAStream(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		p := policyOf(t, "steps: [{bulkhead: 1}]")
		conn := start(t, &service{stream: hangs}, nil, grpc.WithStreamInterceptor(sluicegrpc.StreamClientInterceptor(p)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := conn.NewStream(ctx, chatDesc, chat)
		require.NoError(t, err)
		require.NoError(t, s.RecvMsg(&text{}))
		assert.Equal(t, codes.DeadlineExceeded, status.Code(s.RecvMsg(&text{})))
		synctest.Wait()
		assert.Equal(t, 1, free(t, p))
	})
}

func TestStreamThatIsRefused(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		p := policyOf(t, "steps: [{limit: 1/1h}]")
		svc := &service{stream: drain}
		conn := start(t, svc, nil, grpc.WithStreamInterceptor(sluicegrpc.StreamClientInterceptor(p)))
		s, err := conn.NewStream(t.Context(), chatDesc, chat)
		require.NoError(t, err)
		require.NoError(t, s.CloseSend())
		require.Equal(t, io.EOF, s.RecvMsg(&text{}))
		var d sluicegrpc.Details
		var finished error
		_, err = conn.NewStream(t.Context(), chatDesc, chat, sluicegrpc.Info(&d), grpc.OnFinish(func(err error) { finished = err }))
		var refused *sluice.RejectedError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		assert.Equal(t, err, finished)
		assert.Equal(t, sluicegrpc.Details{Policy: "p"}, d)
		assert.Equal(t, int64(1), svc.calls.Load())
	})
}

// headless is a stream without a header.
type headless struct{ grpc.ClientStream }

func (headless) Header() (metadata.MD, error) { return nil, status.Error(codes.Unavailable, "down") }

// TestStreamThatDoesNotBegin has what is below the interceptor fail and panic.
func TestStreamThatDoesNotBegin(t *testing.T) {
	p := policyOf(t, "steps: [{breaker: {window: {calls: 10}}}, {bulkhead: 1}]")
	got := listen(p)
	begin := sluicegrpc.StreamClientInterceptor(p)
	fails := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, status.Error(codes.Unavailable, "down")
	}
	_, err := begin(t.Context(), chatDesc, nil, chat, fails)
	assert.Equal(t, codes.Unavailable, status.Code(err))
	begins := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return headless{}, nil
	}
	s, err := begin(t.Context(), chatDesc, nil, chat, begins)
	require.NoError(t, err)
	assert.Zero(t, free(t, p))
	_, err = s.Header()
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.Equal(t, 1, free(t, p), "a stream whose header fails is over")
	panics := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		panic("a bug")
	}
	assert.PanicsWithValue(t, "a bug", func() { _, _ = begin(t.Context(), chatDesc, nil, chat, panics) })
	assert.Equal(t, []string{"fail", "fail", "fail"}, got.all())
	assert.Equal(t, 1, free(t, p))
}

// TestStreamOfAServerEnds has the handlers of streams return, fail, panic and be cut.
func TestStreamOfAServerEnds(t *testing.T) {
	for name, c := range map[string]struct {
		timeout string
		serve   func(grpc.ServerStream) error
		votes   []string
		code    codes.Code
		reason  []string
	}{
		"without an error": {"1h", drain, []string{"ok"}, codes.OK, nil},
		"with a status":    {"1h", func(grpc.ServerStream) error { return status.Error(codes.NotFound, "") }, []string{"ignore"}, codes.NotFound, nil},
		"with an error":    {"1h", func(grpc.ServerStream) error { return errors.New("down") }, []string{"fail"}, codes.Unknown, nil},
		"by a panic":       {"1h", func(grpc.ServerStream) error { panic("a bug") }, []string{"fail"}, codes.Internal, nil},
		"by a timeout":     {"10s", hangs, []string{"timeout of timeout", "timeout"}, codes.DeadlineExceeded, []string{"timeout"}},
		"by the client":    {"1h", hangs, []string{"cancel"}, codes.DeadlineExceeded, nil},
	} {
		inVirtualTime(t, name, func(t *testing.T) {
			p := policyOf(t, "steps: [{timeout: "+c.timeout+"}, {bulkhead: 1}]")
			got := listen(p)
			conn := start(t, &service{stream: c.serve}, []grpc.ServerOption{grpc.ChainStreamInterceptor(recovers, sluicegrpc.StreamServerInterceptor(p))})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := conn.NewStream(ctx, chatDesc, chat)
			require.NoError(t, err)
			require.NoError(t, s.CloseSend())
			for err == nil {
				err = s.RecvMsg(&text{})
			}
			if err == io.EOF {
				err = nil
			}
			assert.Equal(t, c.code, status.Code(err))
			assert.Equal(t, c.reason, s.Trailer()["x-throttle-reason"])
			synctest.Wait()
			assert.Equal(t, c.votes, got.all())
			assert.Equal(t, 1, free(t, p))
		})
	}
}

// recovers answers a panic of a handler as interceptors for that do.
func recovers(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = status.Errorf(codes.Internal, "%v", v)
		}
	}()
	return handler(srv, s)
}

func TestStreamThatAServerRefuses(t *testing.T) {
	inVirtualTime(t, "", func(t *testing.T) {
		p := policyOf(t, "steps: [{bulkhead: 1}]")
		svc := &service{stream: hangs}
		conn := start(t, svc, []grpc.ServerOption{grpc.StreamInterceptor(sluicegrpc.StreamServerInterceptor(p))})
		ctx, cancel := context.WithCancel(t.Context())
		first, err := conn.NewStream(ctx, chatDesc, chat)
		require.NoError(t, err)
		require.NoError(t, first.RecvMsg(&text{}))
		second, err := conn.NewStream(t.Context(), chatDesc, chat)
		require.NoError(t, err)
		err = second.RecvMsg(&text{})
		assert.Equal(t, codes.Unavailable, status.Code(err))
		assert.False(t, strings.Contains(err.Error(), "sluice"), err)
		assert.Equal(t, []string{"full"}, second.Trailer()["x-throttle-reason"])
		assert.Equal(t, []string{"1000"}, second.Trailer()["grpc-retry-pushback-ms"])
		assert.Equal(t, int64(1), svc.calls.Load())
		cancel()
		synctest.Wait()
		assert.Equal(t, 1, free(t, p))
	})
}
