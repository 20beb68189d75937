package document

import (
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
)

// Limits of a document beside tree.MaxBytes and pipeline.MaxSteps.
const (
	// MaxPolicies is the most policies of a document.
	MaxPolicies = 1_000
	// MaxMechanisms is the most mechanisms that policies of a document share.
	MaxMechanisms = 1_000
	// MaxRoutes is the most routes of a document.
	MaxRoutes = 10_000
	// MaxPer is the most attributes that a step's per may list.
	MaxPer = 16
	// MaxErrors is the most errors that are reported one by one.
	MaxErrors = 1_000
)

// Document is a policy document: policies by name, and routes for proxies.
type Document struct {
	// Defaults in the order of the document. The policies have taken them.
	Defaults []Default
	// Mechanisms that policies share, in the order of the document.
	Mechanisms []Mechanism
	// Policies in the order of the document.
	Policies []Policy
	// Routes in the order of the document: the first that matches wins.
	Routes []Route
	// HTTP has the settings for HTTP servers, with every default filled in.
	HTTP HTTP
	// Proxy has the settings for the filter of a proxy, with every default filled in.
	Proxy Proxy
}

// Default says where the document has the defaults of a mechanism.
type Default struct {
	// Kind is the mechanism.
	Kind mechanism.Kind
	// Steps is how many steps take them.
	Steps int
	// Line and Column of the mechanism's name in the document, from 1.
	Line, Column int
}

// Mechanism is a mechanism that the policies of a document share. Their steps have its
// settings already, and its name as pipeline.Step.Mechanism.
type Mechanism struct {
	// Step has the settings. Its name is the name of the mechanism.
	pipeline.Step
	// Stateless says that there is nothing but its settings to be shared.
	Stateless bool
	// Description is for people. Empty, the default, for none.
	Description string
	// Line and Column of the name in the document, from 1.
	Line, Column int
}

// HTTP has the time limits of clients, how paths are compared with routes, and the
// answer to a request that no route matches.
type HTTP struct {
	// BodyTimeout is the longest pause between two parts of a request's body.
	// 0 means no bound. The default is 30 s.
	BodyTimeout time.Duration
	// BodyRate is the least average rate of a request's body. The zero value
	// means no bound. The default is 1KiB/s.
	BodyRate ByteRate
	// StreamIdle is the longest time in which no byte passes in either direction
	// of an answer or an upgraded connection. 0 means no bound. The default is
	// 5 min.
	StreamIdle time.Duration
	// Lifetime is the longest life of an answer or an upgraded connection. 0, the
	// default, means no bound.
	Lifetime time.Duration
	// Paths says how a path is compared and forwarded. The default is PathsClean.
	Paths Paths
	// Unmatched says how a request is answered that no route matches. The default is
	// UnmatchedPass.
	Unmatched Unmatched
	// Default is the name of the policy of UnmatchedPolicy, else empty.
	Default string
	// Stated says that the document has Unmatched; otherwise it is the default.
	Stated bool
}

// ByteRate is a number of bytes for each period. The zero value means none.
type ByteRate struct {
	// Bytes for each Period, 1 to MaxBytes.
	Bytes uint64
	// Period is more than 0.
	Period time.Duration
}

// Paths says how the path of a request is compared with routes.
type Paths uint8

const (
	// PathsClean compares the clean form of the path, and forwards that form.
	PathsClean Paths = iota
	// PathsStrict refuses a path that differs from its clean form.
	PathsStrict
	// PathsExactBytes compares the path as it was sent, and forwards it unchanged.
	PathsExactBytes
)

// pathWords are in the order of Paths.
const pathWords = "clean strict exact_bytes"

// String returns the word that the policy document uses.
func (p Paths) String() string { return word(pathWords, int(p)) }

// Unmatched says how a request is answered that no route matches.
type Unmatched uint8

const (
	// UnmatchedPass passes the request on without a policy.
	UnmatchedPass Unmatched = iota
	// UnmatchedDeny refuses the request.
	UnmatchedDeny
	// UnmatchedPolicy applies the default policy of the document.
	UnmatchedPolicy
)

// Proxy has the settings for the filter of a proxy.
type Proxy struct {
	// State says which workers share cells. The default is ProcessState.
	State ProxyState
	// Slots is the number of cells of all keys, 1 to pipeline.MaxKeys. The
	// default is pipeline.DefaultKeys.
	Slots uint32
	// Headers says which answers have the headers of the limits. The default is
	// HeadersRefusals.
	Headers Headers
	// LegacyHeaders adds X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset of
	// the limit with the fewest permits to the answers that Headers names. The default
	// is false.
	LegacyHeaders bool
	// RateLimitedHeader adds x-envoy-ratelimited to refusals by limits, as Envoy's rate
	// limit filter does. The default is true.
	RateLimitedHeader bool
	// TrustedProxies are the hops whose X-Forwarded-For says which address the attribute
	// ip has. The default is none: it is the address that the proxy names.
	TrustedProxies []keyed.Prefix
	// IPv4Prefix and IPv6Prefix are how many bits of an address are the key of per: ip, 1 to
	// 32 and 1 to 128. The defaults are 32 and 64.
	IPv4Prefix, IPv6Prefix uint32
	// Key is where the value of the attribute key is found in a request: header:NAME,
	// or property:PATH for an attribute of the proxy, its names between slashes. Empty,
	// the default, for none.
	Key string
	// Cost is where the cost of a request is found, likewise. The cost is 1 where it is
	// empty, which is the default, and where no whole number of at least 1 is found.
	Cost string
	// Trace says which requests are traced. The default is TraceOff.
	Trace Trace
	// Stated says that the document has the section.
	Stated bool
}

// Trace says which requests a proxy traces: their decision and the states of the cells.
type Trace uint8

const (
	// TraceOff traces none.
	TraceOff Trace = iota
	// TraceSample writes one of a thousand requests of a worker to the log of the proxy.
	TraceSample
	// TraceRequest traces those that have the header x-sluice-trace, too: in the log, and
	// in a header of that name of the answer.
	TraceRequest
	// TraceRecord writes what every request brought, how it was decided and how it ended to
	// the log, in lines that sluice replay reads.
	TraceRecord
)

// ProxyState says which workers of a proxy share cells.
type ProxyState uint8

const (
	// ProcessState shares cells among the workers of a process.
	ProcessState ProxyState = iota
	// WorkerState gives each worker cells of its own.
	WorkerState
)

// Headers says which answers of a proxy have the headers of the limits.
type Headers uint8

const (
	// HeadersRefusals adds them to refusals.
	HeadersRefusals Headers = iota
	// HeadersAll adds them to every answer.
	HeadersAll
)

// Lookup returns the policy of the name, nil when there is none.
func (d *Document) Lookup(name string) *Policy {
	for i := range d.Policies {
		if d.Policies[i].Name == name {
			return &d.Policies[i]
		}
	}
	return nil
}

// Nearest returns the name of the policy that is nearest to an unknown name, empty
// when none is near.
func (d *Document) Nearest(name string) string {
	names := make([]string, len(d.Policies))
	for i := range d.Policies {
		names[i] = d.Policies[i].Name
	}
	list := strings.Join(names, " ")
	return word(list, nearest(name, list))
}

// Policy has the policy that the core compiles, with every default filled in, and
// what the bindings for HTTP need beside it.
type Policy struct {
	// Policy has the steps, all of them named, and the fallback. A limit's
	// Burst stays 0 where the document leaves it out, which means the count.
	pipeline.Policy
	// Extras has one entry for each step, in the same order.
	Extras []Extra
	// Methods that the retry step repeats, sorted as in the document. Without a
	// retry step there are none; the default is DefaultMethods.
	Methods []string
	// HedgeMethods are those for which the hedge step starts further attempts,
	// likewise.
	HedgeMethods []string
	// Outcomes gives an HTTP answer or a network error its outcome.
	Outcomes Outcomes
	// Description is for people. Empty, the default, for none.
	Description string
	// Extends is the name of the policy that the document changes to this one, empty for
	// none. The policy has its steps already.
	Extends string
	// Line and Column of the policy's name in the document, from 1.
	Line, Column int
}

// Extra has the settings of a step that the core does not need.
type Extra struct {
	// Scope is how far the step's cells reach.
	Scope Scope
	// Named says that the document gives the name. Other names follow the
	// step's position, and so do their states when the document changes.
	Named bool
	// Description is for people. Empty, the default, for none.
	Description string
	// Line and Column of the mechanism's name in the document, from 1.
	Line, Column int
}

// Scope is how far the state of a step reaches.
type Scope uint8

// Local keeps the state of a step in its process. It is the default.
const Local Scope = 0

// String returns the name that the policy document uses.
func (Scope) String() string { return "local" }
