package sluicegrpc

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy"
)

// UnaryClientInterceptor guards every unary call with p.
//
// Besides the statuses of the service its calls return a *sluice.RejectedError,
// *sluice.TimeoutError, *sluice.InjectedError, *sluice.UnknownPolicyError or *RequestError,
// for errors.As; all of them have a status. A call whose caller cancelled has the status
// CANCELLED. The status of the last attempt is returned as it is.
func UnaryClientInterceptor(p *sluice.Pipeline, options ...ClientOption) grpc.UnaryClientInterceptor {
	return newClient(always(p), "", options).unary
}

// RoutedUnaryClientInterceptor is UnaryClientInterceptor with the policies that the routes
// of the set's document name: the first that matches, by the host of the call without its
// port (Call.Host), POST, and the method as the path. What a call gets that no route
// matches is `http.default`.
func RoutedUnaryClientInterceptor(set *sluice.Set, options ...ClientOption) grpc.UnaryClientInterceptor {
	return newClient(routed(set), "", options).unary
}

// client is what the interceptors of a client share.
type client struct {
	settings
	source *source
}

func newClient(from *source, where string, options []ClientOption) *client {
	c := &client{source: from}
	for _, o := range options {
		o.client(&c.settings)
	}
	c.warn(from, aClient, where)
	return c
}

// find returns the guard of a call, nil for one that passes untouched. The error has a
// status.
func (c *client) find(call *Call) (*guard, error) {
	if c.skip != nil && c.skip(call) {
		return nil, nil
	}
	if g, ok := call.ctx.Value(policyKey{}).(*guard); ok {
		return g, nil
	}
	to, err := c.source.find(call)
	call.target = to
	return to.guard, err
}

// mostCarried is how many bytes of a priority are carried.
const mostCarried = 1 << 10

// carry adds the priority of the call that came in.
func (c *client) carry(ctx context.Context) context.Context {
	if c.priority == "" {
		return ctx
	}
	values := metadata.ValueFromIncomingContext(ctx, c.priority)
	bytes := 0
	for _, value := range values {
		bytes += len(value)
	}
	if bytes == 0 || bytes > mostCarried {
		return ctx
	}
	if out, _ := metadata.FromOutgoingContext(ctx); len(out.Get(c.priority)) > 0 {
		return ctx
	}
	for _, value := range values {
		ctx = metadata.AppendToOutgoingContext(ctx, c.priority, value)
	}
	return ctx
}

// unary is a grpc.UnaryClientInterceptor.
func (c *client) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
	ctx = c.carry(ctx)
	u := &unaryCall{
		client: c, invoker: invoker, reply: reply,
		Call: Call{ctx: ctx, method: method, message: req, conn: cc, options: options, settings: &c.settings},
	}
	g, err := c.find(&u.Call)
	switch {
	case err != nil:
		finished(options, err)
		return err
	case g == nil:
		return invoker(ctx, method, req, reply, cc, options...)
	}
	u.prepare(g)
	x, err := sluice.DoWith(ctx, g.pipeline, u.asked, u.attempt)
	err = u.result(x, err)
	u.details.Attempts = int(u.attempts.Load())
	u.details.tell(options)
	finished(u.finish, err)
	return err
}

// finished tells the options that wait for the end of a call of which gRPC does not know.
func finished(options []grpc.CallOption, err error) {
	for _, o := range options {
		if o, ok := o.(grpc.OnFinishCallOption); ok {
			o.OnFinish(err)
		}
	}
}

// unaryCall is one call on its way through the policy.
type unaryCall struct {
	Call
	client   *client
	guard    *guard
	invoker  grpc.UnaryInvoker
	reply    any
	asked    sluice.Request
	details  Details
	attempts atomic.Int32

	// Of a call whose attempts run beside each other. The caller may change the request
	// when the first of them has won.
	hedged    bool
	request   proto.Message // a copy
	prototype proto.Message // the reply

	// What the options of the caller ask for, which belongs to the attempt that won.
	rest     []grpc.CallOption // all others
	finish   []grpc.CallOption
	headers  []*metadata.MD
	trailers []*metadata.MD
	peers    []*peer.Peer
	pushback bool // trailers are read in any case
	network  bool // what tells failures of the network from answers is read in any case
}

// exchange is what one attempt gets.
type exchange struct {
	reply           any
	header, trailer metadata.MD
	peer            peer.Peer
	err             error
	failure         policy.Failure
}

func (u *unaryCall) prepare(g *guard) {
	u.guard = g
	v := g.view()
	u.asked = u.Call.request(g, v)
	own := overrideOf(u.ctx)
	own.Apply(&u.asked)
	u.details.Policy = g.pipeline.Name()
	repeated, hedged := methodsOf(g.pipeline)
	if u.asked.NoRetry = u.once(&own, v.Retry, repeated, "the policy had no retry when the call began"); v.Retry {
		u.details.NoRetry = u.asked.NoRetry
	}
	u.asked.NoHedge = u.once(&own, v.Hedge, hedged, "the policy had no hedge when the call began")
	if u.asked.NoHedge == "" {
		message, ok := u.message.(proto.Message)
		if u.prototype, u.hedged = u.reply.(proto.Message); ok && u.hedged {
			u.request = proto.Clone(message)
		} else {
			u.hedged = false
			u.asked.NoHedge = "the messages are not those of protobuf, so they cannot be copied"
		}
	}
	if v.Hedge {
		u.details.NoHedge = u.asked.NoHedge
	}
	u.pushback = u.asked.NoRetry == "" || v.Obeys
	u.network = u.client.parts(g)
	u.split()
}

// once returns why the call is made once, empty when it may be repeated. methods are the HTTP
// methods that the step repeats.
func (u *unaryCall) once(own *guards.Override, has bool, methods []string, hasNot string) string {
	names := u.client.methods
	switch {
	case !has:
		return hasNot
	case own.NoRetry != "":
		return own.NoRetry
	case names == nil && (slices.Contains(methods, post) || slices.Contains(methods, declared(u.method))),
		slices.ContainsFunc(names, u.named),
		len(u.Metadata("idempotency-key")) > 0:
		return ""
	case names != nil:
		return u.method + " is not among the methods that are repeated"
	}
	return u.method + " is not declared idempotent, and there is no idempotency-key"
}

// named reports whether a name of WithMethods names the call's method.
func (u *unaryCall) named(name string) bool {
	service, ok := strings.CutSuffix(name, "*")
	return name == u.method || ok && strings.HasPrefix(u.method, service)
}

// declared returns the method of HTTP that is as idempotent as the descriptor of a method
// declares, empty where it does not.
func declared(method string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return ""
	}
	options, _ := found.Options().(*descriptorpb.MethodOptions)
	switch options.GetIdempotencyLevel() {
	case descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		return "GET"
	case descriptorpb.MethodOptions_IDEMPOTENT:
		return "PUT"
	}
	return ""
}

// split takes the options that write to the caller out of the options of an attempt.
func (u *unaryCall) split() {
	u.rest = u.options
	for i, o := range u.options {
		mine := true
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			u.headers = append(u.headers, o.HeaderAddr)
		case grpc.TrailerCallOption:
			u.trailers = append(u.trailers, o.TrailerAddr)
		case grpc.PeerCallOption:
			u.peers = append(u.peers, o.PeerAddr)
		case grpc.OnFinishCallOption:
			u.finish = append(u.finish, o)
		default:
			mine = false
		}
		switch taken := len(u.headers) + len(u.trailers) + len(u.peers) + len(u.finish); {
		case mine && taken == 1:
			u.rest = append([]grpc.CallOption(nil), u.options[:i]...)
		case !mine && taken > 0:
			u.rest = append(u.rest, o)
		}
	}
}

// collect returns the options of an attempt.
func (u *unaryCall) collect(x *exchange) []grpc.CallOption {
	options := slices.Clip(u.rest)
	if len(u.headers) > 0 || u.network {
		options = append(options, grpc.Header(&x.header))
	}
	if len(u.trailers) > 0 || u.pushback || u.network {
		options = append(options, grpc.Trailer(&x.trailer))
	}
	if len(u.peers) > 0 || u.network {
		options = append(options, grpc.Peer(&x.peer))
	}
	return options
}

// attempt is the function that the policy guards.
func (u *unaryCall) attempt(ctx context.Context) (*exchange, error) {
	number := u.attempts.Add(1)
	x, req := &exchange{reply: u.reply}, u.message
	switch {
	case u.hedged:
		x.reply, req = u.prototype.ProtoReflect().New().Interface(), u.request
	case number > 1:
		reset(u.reply)
	}
	x.err = u.invoker(ctx, u.method, req, x.reply, u.conn, u.collect(x)...)
	if x.err != nil && ctx.Err() != nil {
		// The runner knows whose end of the context it was.
		return x, x.err
	}
	if u.network && x.err != nil {
		x.failure = failureOf(x.err, len(x.header) > 0 || len(x.trailer) > 0, x.peer.Addr != nil)
	}
	return x, u.client.judge(u.guard, &u.Call, x)
}

// reset removes what an earlier attempt wrote into a reply, because a codec may add to it.
func reset(reply any) {
	if m, ok := reply.(proto.Message); ok {
		proto.Reset(m)
	} else if v := reflect.ValueOf(reply); v.Kind() == reflect.Pointer && !v.IsNil() {
		v.Elem().SetZero()
	}
}

// result returns the error of the call, and writes what the attempt got that counts.
func (u *unaryCall) result(x *exchange, err error) error {
	if gaveUp, ok := err.(*sluice.RetryError); ok {
		u.details.GaveUp, err = gaveUp.Reason, gaveUp.Err
	}
	if x == nil || isPolicys(err) {
		r := u.guard.refuse(err)
		return r.err
	}
	for _, to := range u.headers {
		*to = x.header
	}
	for _, to := range u.trailers {
		*to = x.trailer
	}
	for _, to := range u.peers {
		*to = x.peer
	}
	if u.hedged && x.err == nil {
		proto.Reset(u.prototype)
		proto.Merge(u.prototype, x.reply.(proto.Message))
	}
	return x.err
}
