package sluicegrpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// StreamClientInterceptor guards every stream with p. It takes permits and places, or
// refuses, when the stream begins; the vote follows from the status at its end. Timeouts bound
// the whole stream: one without an end needs a policy without them. A stream is not
// repeated. Errors are as in UnaryClientInterceptor.
func StreamClientInterceptor(p *sluice.Pipeline, options ...ClientOption) grpc.StreamClientInterceptor {
	return newClient(always(p), aStream, options).stream
}

// RoutedStreamClientInterceptor is StreamClientInterceptor with the policies of routes, as
// RoutedUnaryClientInterceptor has them.
func RoutedStreamClientInterceptor(set *sluice.Set, options ...ClientOption) grpc.StreamClientInterceptor {
	return newClient(routed(set), aStream, options).stream
}

// aStream is where retries and hedges have no effect.
const aStream = "a stream"

// stream is a grpc.StreamClientInterceptor.
func (c *client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx = c.carry(ctx)
	s := &clientStream{client: c, desc: desc, asked: Call{ctx: ctx, method: method, stream: true, conn: cc, options: options, settings: &c.settings}}
	g, err := c.find(&s.asked)
	switch {
	case err != nil:
		finished(options, err)
		return nil, err
	case g == nil:
		return streamer(ctx, desc, cc, method, options...)
	}
	s.guard, s.network = g, c.parts(g)
	v := g.view()
	q := s.asked.request(g, v)
	own := overrideOf(ctx)
	own.Apply(&q)
	details := Details{Policy: g.pipeline.Name()}
	if v.Retry {
		details.NoRetry = "a stream is not repeated"
	}
	if v.Hedge {
		details.NoHedge = "a stream is not repeated"
	}
	if s.call, err = g.pipeline.Begin(ctx, q); err != nil {
		r := g.refuse(err)
		details.tell(options)
		finished(options, r.err)
		return nil, r.err
	}
	details.Attempts = 1
	details.tell(options)
	return s.begin(streamer)
}

// clientStream is a stream on its way through the policy.
type clientStream struct {
	grpc.ClientStream
	client *client
	guard  *guard
	asked  Call
	desc   *grpc.StreamDesc
	call   *sluice.Call
	stop   func() bool // has the end of the context do nothing
	// network says that what tells failures of the network from answers is read.
	network bool

	once sync.Once
	cut  error // of the policy, which ended the stream; nil for none
}

// begin begins an admitted stream.
func (s *clientStream) begin(streamer grpc.Streamer) (_ grpc.ClientStream, err error) {
	returned := false
	defer func() {
		if !returned {
			s.stop()
			s.settle(reducer.Fail, 0)
		}
	}()
	// A caller may forget to read a stream to its end, but not to end its context or to
	// close its connection.
	cc := s.asked.conn
	s.stop = context.AfterFunc(s.call.Context(), func() { s.settle(s.outcome(s.call.Context().Err())) })
	options := append(append([]grpc.CallOption(nil), s.asked.options...), grpc.OnFinish(func(error) {
		if cc.GetState() == connectivity.Shutdown {
			s.stop()
			s.settle(reducer.Cancelled, 0)
		}
	}))
	s.ClientStream, err = streamer(s.call.Context(), s.desc, cc, s.asked.method, options...)
	returned = true
	if err != nil {
		return nil, s.end(err)
	}
	return s, nil
}

// end ends the stream with the error of RecvMsg, io.EOF or nil for a success, and returns
// what the caller gets in place of the error.
func (s *clientStream) end(err error) error {
	s.stop()
	s.settle(s.outcome(err))
	if s.cut != nil && err != nil && err != io.EOF {
		return s.cut
	}
	return err
}

// outcome returns what the end of the stream means, and the delay that it asks for.
func (s *clientStream) outcome(err error) (reducer.Outcome, time.Duration) {
	switch {
	case err == io.EOF:
		err = nil
	case err != nil && errors.Is(s.asked.ctx.Err(), context.Canceled):
		return reducer.Cancelled, 0
	case err != nil && s.call.Context().Err() != nil:
		return reducer.Fail, 0
	}
	var trailer metadata.MD
	if err != nil && s.ClientStream != nil && (s.network || s.guard.view().Obeys) {
		trailer = s.Trailer()
	}
	outcome := s.client.outcomeOf(s.guard, &s.asked, nil, err, s.failure(err, trailer))
	return outcome, s.guard.obeyed(outcome, err, trailer)
}

// failure names the failure of the network that ended the stream.
func (s *clientStream) failure(err error, trailer metadata.MD) policy.Failure {
	switch {
	case err == nil || !s.network:
		return noFailure
	case s.ClientStream == nil:
		return failureOf(err, false, false)
	}
	// The stream is over, so nothing is waited for.
	header, _ := s.ClientStream.Header()
	_, connected := peer.FromContext(s.ClientStream.Context())
	return failureOf(err, len(header) > 0 || len(trailer) > 0, connected)
}

// settle gives the vote of the stream, with the delay that its end asks for, and everything
// back. Only the first call counts.
func (s *clientStream) settle(outcome reducer.Outcome, after time.Duration) {
	s.once.Do(func() {
		var timeout *sluice.TimeoutError
		ctx := s.call.Context()
		if ctx.Err() != nil && errors.As(context.Cause(ctx), &timeout) {
			s.cut = s.guard.refuse(timeout).err
		}
		defer s.call.Release()
		s.call.DoneRetryAfter(outcome, after)
	})
}

// Header implements grpc.ClientStream.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil {
		err = s.end(err)
	}
	return md, err
}

// SendMsg implements grpc.ClientStream. After io.EOF the status is the affair of RecvMsg.
func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	if err != nil && err != io.EOF {
		err = s.end(err)
	}
	return err
}

// RecvMsg implements grpc.ClientStream.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil || !s.desc.ServerStreams {
		err = s.end(err)
	}
	return err
}
