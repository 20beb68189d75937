package nethttp

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// DefaultMaxBody is how many bytes of a request's body are kept for a retry.
const DefaultMaxBody = 64 << 10

// DefaultIPv6Prefix is how many bits of an address of IPv6 are the key of
// `per: ip`. A network gets 64 of its own (RFC 4291 section 2.5.4) and may use any
// address in them.
const DefaultIPv6Prefix = 64

// Option changes how a Transport or a Handler treats requests. What it decides
// is the policy's affair.
type Option func(*settings)

type settings struct {
	key             func(*http.Request) string
	cost            func(*http.Request) uint32
	skip            func(*http.Request) bool
	change          func(attempt int, req *http.Request)
	refused         func(w http.ResponseWriter, r *http.Request, err error)
	outcomes        *policy.Outcomes
	methods         []string
	trusted         []netip.Prefix
	ipv6            int // bits of an address of IPv6 that count
	logger          *slog.Logger
	now             func() time.Time
	maxBody         int64
	http            *policy.HTTP
	abandoned       *Abandoned // nil for none
	headers         HeaderLimits
	answerHeaders   HeaderLimits
	answers         bool
	fields          bool
	legacy          bool
	hop             hop
	policyOf        func(*http.Request) *sluice.Pipeline
	responseOutcome func(*http.Response, reducer.Outcome) reducer.Outcome
	whole           bool          // an answer's body is a part of the call
	headerTimeouts  bool          // timeouts end with the headers of an answer
	idle            time.Duration // the longest read of a body, 0 for any
	admits          bool          // the context of a request says what it was admitted by
}

func newSettings(fields bool, options []Option) settings {
	s := settings{maxBody: DefaultMaxBody, ipv6: DefaultIPv6Prefix, now: time.Now, fields: fields}
	for _, option := range options {
		option(&s)
	}
	s.admits = s.admits || len(s.hop.carried) > 0
	return s
}

// WithKey says whose request it is: the attribute "key" of `per`. Default: the
// empty key for all; a step with `per: key` is then told when the handler or transport is made, at level error
// to the logger, else to slog.Default.
func WithKey(key func(*http.Request) string) Option { return func(s *settings) { s.key = key } }

// WithCost says how many permits of a limit a request takes. 0 takes none.
// Default: 1 for all.
func WithCost(cost func(*http.Request) uint32) Option { return func(s *settings) { s.cost = cost } }

// WithSkip lets the requests for which it returns true pass untouched. Default:
// none.
func WithSkip(skip func(*http.Request) bool) Option { return func(s *settings) { s.skip = skip } }

// WithRequest changes the request of every attempt, the first (1) included, for
// example to sign it anew. It gets a copy with headers of its own. Transport
// alone.
func WithRequest(change func(attempt int, req *http.Request)) Option {
	return func(s *settings) { s.change = change }
}

// WithOutcomes says what answers and errors mean, in place of the policy's own
// `outcomes`. Default: the policy's, and for a policy made of Go values those
// that a document has by default.
func WithOutcomes(o policy.Outcomes) Option { return func(s *settings) { s.outcomes = &o } }

// WithResponseOutcome says what an answer means beside its status: f gets the answer
// with what its status means by the policy's `outcomes`, and returns what it means; 0, or
// another value that is no outcome, is what the status means. It must not read the body. It is
// not asked about an upgrade (101), nor about an error. Where it panics, the answer counts
// as its status says and is closed, and the panic goes on. Default: the status alone.
// Transport alone.
func WithResponseOutcome(f func(resp *http.Response, byStatus reducer.Outcome) reducer.Outcome) Option {
	return func(s *settings) { s.responseOutcome = f }
}

// WithPolicyOf chooses the policy of a request, in place of the policy of the Handler or of the
// route; nil leaves it as it is. The pipelines are to be few, since the Handler keeps what
// it works out of them. Default: none. Handler alone; for a Transport see WithPolicy.
func WithPolicyOf(f func(*http.Request) *sluice.Pipeline) Option {
	return func(s *settings) { s.policyOf = f }
}

// WithMethods says which methods are repeated, in place of the policy's own
// `methods`. Default: the policy's, and for a policy made of Go values the
// idempotent ones of RFC 9110 section 9.2.2. Transport alone.
func WithMethods(methods ...string) Option {
	return func(s *settings) { s.methods = slices.Clone(methods) }
}

// WithMaxBody bounds the bytes of a body that are kept for a retry when the
// request has no GetBody. A request whose body is longer is not repeated.
// Default DefaultMaxBody; 0 or less keeps nothing. Transport alone.
func WithMaxBody(bytes int64) Option { return func(s *settings) { s.maxBody = bytes } }

// WithTrustedProxies believes X-Forwarded-For as far as it was written by hops
// of these prefixes: the attribute "ip" is the last address in it, read from
// the right, that is none of theirs. Default: none, and the attribute is the
// address of the peer. Prefixes of IPv4 in IPv6 count as prefixes of IPv4.
func WithTrustedProxies(prefixes ...netip.Prefix) Option {
	return func(s *settings) {
		s.trusted = make([]netip.Prefix, len(prefixes))
		for i, p := range prefixes {
			if p.Addr().Is4In6() && p.Bits() >= 96 {
				p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
			}
			s.trusted[i] = p
		}
	}
}

// WithIPv6Prefix sets how many bits of an address of IPv6 are the key of
// `per: ip`, 1 to 128; others are taken as the nearest of these. 128 is the whole
// address, as conditions compare it in any case. An address of IPv4 is always whole, in IPv6 (::ffff:192.0.2.1) too.
// Default DefaultIPv6Prefix.
func WithIPv6Prefix(bits int) Option {
	return func(s *settings) { s.ipv6 = min(max(bits, 1), 128) }
}

// WithRefusalAnswers turns a refusal, and a timeout by the policy, into the
// answer that a Handler would give, in place of an error: for proxies. Transport
// alone.
func WithRefusalAnswers() Option { return func(s *settings) { s.answers = true } }

// WithRateLimitHeaders sets whether answers carry RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers-10) for the enforced limits of the
// policy. Default: true for a Handler, false for a Transport.
func WithRateLimitHeaders(on bool) Option { return func(s *settings) { s.fields = on } }

// WithAdmission gives the context of an admitted request what FromContext returns.
// Default: it is left out, and a request without a body of a policy without timeouts is
// passed on as it is, which saves a copy. Handler alone.
func WithAdmission() Option { return func(s *settings) { s.admits = true } }

// WithWholeAnswers makes the body of an answer a part of its call: votes and timeouts end
// with the body, and not with the headers. A breaker counts an answer that breaks off as
// a failure and measures its whole time; a timeout cuts it. Retries, fallbacks and the
// status are decided by the headers, as no answer is repeated of which a part was passed
// on. Default: off.
//
// A body ends with its last byte, its Close, or for a Handler the handler's return.
// Time in which the reader of an answer is waited for, as a client that does not read,
// does not count as the dependency's: where it is more than a tenth of the time that a
// timeout cuts, and where without it the answer would not be slow, the attempt ends as
// cancelled. For a Handler that is the time of its writes, for a Transport the time in
// which no read waits.
//
// A handler whose context ended in the middle of an answer panics with
// http.ErrAbortHandler, as httputil.ReverseProxy does, so that its client does not take the
// answer for a whole one.
//
// An answer that is no success ends its call with the headers, as do upgraded connections
// and requests that are hedged. What reads an answer without an end, as a stream of
// events, needs a policy without timeouts, or another Transport.
func WithWholeAnswers() Option { return func(s *settings) { s.whole = true } }

// WithHeaderTimeouts ends the timeouts of the policy with the headers of an answer, as for
// answers without an end. Places of bulkheads are held until the body is closed all the same.
// Default: they cut the body of an answer as well. Transport alone; with Transport.Proxy
// timeouts end with the headers anyway.
func WithHeaderTimeouts() Option { return func(s *settings) { s.headerTimeouts = true } }

// WithIdleTimeout bounds how long a Read of the body of an answer waits for its next part:
// then the read fails with a *sluice.TimeoutError of the step "idle", and the attempt's
// places are free. Time in which no Read waits does not count. Default, and 0 or less: none.
// Transport alone.
func WithIdleTimeout(d time.Duration) Option { return func(s *settings) { s.idle = d } }

// WithLegacyHeaders adds X-RateLimit-Limit, X-RateLimit-Remaining and
// X-RateLimit-Reset (seconds) of the tightest limit, for clients that know
// nothing newer. Default: they are left out.
func WithLegacyHeaders() Option { return func(s *settings) { s.legacy = true } }

// WithRefusal writes the answer to a refused request in place of the problem
// document. The headers that tell why and when are set already, Content-Type
// and status are not. The error is a *sluice.RejectedError or a
// *sluice.TimeoutError. Handler alone.
func WithRefusal(f func(w http.ResponseWriter, r *http.Request, err error)) Option {
	return func(s *settings) { s.refused = f }
}

// WithHTTP says how long a client may take over the body of its request and over an
// answer, in place of the section http of the document. Default: the document's, and
// its defaults for a policy made of Go values. Handler and Transport.Proxy alone.
func WithHTTP(bounds policy.HTTP) Option { return func(s *settings) { s.http = &bounds } }

// WithLogger logs, at level warn, what of a policy cannot take effect here. Default:
// nothing is logged.
func WithLogger(logger *slog.Logger) Option { return func(s *settings) { s.logger = logger } }

// warnKeyless logs the steps per key where no option returns a key.
func (s *settings) warnKeyless(from *source) {
	if s.key != nil {
		return
	}
	for _, g := range from.All() {
		if g.pipeline.Err() == nil {
			guards.WarnKeyless(s.logger, g.view().Plan)
		}
	}
}
