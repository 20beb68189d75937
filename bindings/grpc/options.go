package sluicegrpc

import (
	"log/slog"
	"net/netip"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// ClientOption changes how the interceptors of a client treat calls. Options never change
// decisions.
type ClientOption interface{ client(*settings) }

// ServerOption changes how the interceptors of a server treat calls.
type ServerOption interface{ server(*settings) }

// Option is both a ClientOption and a ServerOption.
type Option interface {
	ClientOption
	ServerOption
}

type settings struct {
	key      func(*Call) string
	cost     func(*Call) uint32
	skip     func(*Call) bool
	policyOf func(*Call) *sluice.Pipeline
	outcome  func(c *Call, reply any, err error, byStatus reducer.Outcome) reducer.Outcome
	outcomes *policy.Outcomes
	methods  []string
	priority string
	trusted  []keyed.Prefix
	ipv6     int // bits of an address of IPv6 that count
	fields   bool
	admits   bool
	logger   *slog.Logger
}

type (
	option       func(*settings)
	clientOption func(*settings)
	serverOption func(*settings)
)

func (o option) client(s *settings)       { o(s) }
func (o option) server(s *settings)       { o(s) }
func (o clientOption) client(s *settings) { o(s) }
func (o serverOption) server(s *settings) { o(s) }

// WithKey says whose call it is: the attribute "key" of `per`. Default: the empty key
// for all; a step with `per: key` is then told when the interceptor is made, at level error to
// the logger, else to slog.Default.
func WithKey(key func(*Call) string) Option { return option(func(s *settings) { s.key = key }) }

// WithCost says how many permits of a limit a call takes; each attempt takes them again.
// 0 takes none. Default: 1 for all.
func WithCost(cost func(*Call) uint32) Option { return option(func(s *settings) { s.cost = cost }) }

// WithSkip lets the calls for which it returns true pass untouched, for example health
// checks. Default: none.
func WithSkip(skip func(*Call) bool) Option { return option(func(s *settings) { s.skip = skip }) }

// WithOutcomes says what statuses mean, in place of the policy's own `outcomes`. Its
// entries are HTTP statuses, and for a client failures of the network; docs/grpc.md says
// for which codes they stand. Default: the policy's, and for a policy made of Go values those that a document has by default.
func WithOutcomes(o policy.Outcomes) Option { return option(func(s *settings) { s.outcomes = &o }) }

// WithOutcome says what the end of an attempt means beside its status. f gets the reply,
// nil for a stream and for a failed call, and the error, nil for none, with what the status
// means by the policy's `outcomes`; it returns what they mean, and 0, or another value that is
// no outcome, for what the status means. It is called on several
// goroutines at once where a call is hedged, and not for what ended with its context.
// Default: the status alone.
func WithOutcome(f func(c *Call, reply any, err error, byStatus reducer.Outcome) reducer.Outcome) Option {
	return option(func(s *settings) { s.outcome = f })
}

// WithMethods says which unary methods are repeated and hedged, in place of the policy's
// own `methods` and of what descriptors declare: names as "/package.Service/Method",
// "/package.Service/*" for all methods of a service, "*" for all; none repeats nothing.
// Default: where `methods` of the step has POST all of them; else those whose descriptor
// says idempotency_level = NO_SIDE_EFFECTS where it has GET, and IDEMPOTENT where it has
// PUT, which both are in the default of `methods`. A policy made of Go values has that
// default.
func WithMethods(methods ...string) ClientOption {
	return clientOption(func(s *settings) { s.methods = append([]string{}, methods...) })
}

// WithPolicyOf chooses the policy of a call, in place of the policy of the interceptor or of the
// route; nil leaves it as it is. The pipelines are to be few, since the interceptor keeps
// what it works out of them. Default: none. For clients see WithPolicy.
func WithPolicyOf(f func(*Call) *sluice.Pipeline) ServerOption {
	return serverOption(func(s *settings) { s.policyOf = f })
}

// DefaultIPv6Prefix is how many bits of an address of IPv6 are the key of per: ip. A network
// gets 64 of its own (RFC 4291 section 2.5.4) and may use any address in them.
const DefaultIPv6Prefix = 64

// WithTrustedProxies believes the metadata x-forwarded-for as far as it was written by hops
// of these prefixes: the attribute "ip" is the last address in it, read from the right, that
// is none of theirs. Default: none, and the attribute is the address of the peer. Prefixes of
// IPv4 in IPv6 count as prefixes of IPv4.
func WithTrustedProxies(prefixes ...netip.Prefix) ServerOption {
	return serverOption(func(s *settings) {
		s.trusted = nil
		for _, p := range prefixes {
			// A netip.Prefix that is not valid contains no address.
			if prefix, ok := keyed.ParsePrefix(p.String()); ok {
				s.trusted = append(s.trusted, prefix)
			}
		}
	})
}

// WithIPv6Prefix sets how many bits of an address of IPv6 are the key of per: ip, 1 to 128;
// others are taken as the nearest of these. Conditions compare the whole address. An address of IPv4 is always whole. Default
// DefaultIPv6Prefix.
func WithIPv6Prefix(bits int) ServerOption {
	return serverOption(func(s *settings) { s.ipv6 = min(max(bits, 1), 128) })
}

// WithPriority carries the priority of a call over hops: the metadata key of the call that
// came in, as "priority", is added to the calls that go out with its context and do not
// have the key themselves. Values of more than 1 KiB are left out. Default: off.
func WithPriority(key string) ClientOption {
	return clientOption(func(s *settings) { s.priority = key })
}

// WithRateLimitHeaders sets whether answers carry the metadata ratelimit and
// ratelimit-policy (draft-ietf-httpapi-ratelimit-headers-10) for the enforced limits of the
// policy: in the headers of an admitted call, in the trailers of a refused one. Default:
// true.
func WithRateLimitHeaders(on bool) ServerOption {
	return serverOption(func(s *settings) { s.fields = on })
}

// WithAdmission gives the context of an admitted call what FromContext returns. Default: it
// is left out.
func WithAdmission() ServerOption { return serverOption(func(s *settings) { s.admits = true }) }

// WithLogger logs, when an interceptor is made, what of a policy cannot take effect in it:
// at level warn, and at level error a policy that does not exist. Default: nothing is logged.
func WithLogger(logger *slog.Logger) Option {
	return option(func(s *settings) { s.logger = logger })
}

// warn logs what cannot take effect: on the side that calls, or is called, and where calls
// are not repeated.
func (s *settings) warn(from *source, side, once string) {
	if s.key == nil {
		for _, g := range from.All() {
			if g.pipeline.Err() == nil {
				guards.WarnKeyless(s.logger, g.view().Plan)
			}
		}
	}
	if s.logger == nil {
		return
	}
	for _, g := range from.All() {
		name := g.pipeline.Name()
		if err := g.pipeline.Err(); err != nil {
			s.logger.Error("every call is refused", "error", err)
			continue
		}
		for _, attribute := range g.view().Plan.Attributes() {
			if kind, _, _ := strings.Cut(attribute, ":"); kind == "cookie" || kind == "query" || kind == "ip" && side == aClient {
				s.logger.Warn("an attribute is missing in every call of "+side+" of gRPC", "policy", name, "attribute", attribute)
			}
		}
		if side == aServer {
			for _, f := range failuresOf(guards.Outcomes(s.outcomes, g.pipeline)) {
				s.logger.Warn("an entry of outcomes has no effect in a server, which sees the statuses of its handlers", "policy", name, "entry", f)
			}
		}
		if once == "" {
			continue
		}
		g.view().Idle(func(mechanism, step string) {
			s.logger.Warn("a "+mechanism+" step has no effect in "+once+", which runs once a call", "policy", name, "step", step)
		})
	}
}

// The sides of a call.
const (
	aClient = "a client"
	aServer = "a server"
)
