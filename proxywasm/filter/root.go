package filter

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/proxywasm/config"
)

// root is a plugin configuration.
type root struct {
	id        uint32
	doc       *document.Document
	table     *routes.Table
	policies  []*policy // of the document, in its order
	routed    []*policy // of the routes
	unmatched *policy   // of what no route matches, nil for none
	reads     reads
	metrics   metrics
	unknown   []string // policies that routes of the proxy name
	key, cost source
	crowd     crowd // of the policies that share mechanisms, where each worker has its own cells
	process   shared.Process
	traced    uint64 // requests that trace has seen
	recorder  *recorder
	ticks     uint32
	since     uint32 // milliseconds since the metrics were told
}

// reads says on what the policy of a request depends. fields says that the fields of the
// header are read at once: that costs less than to read two, and only so is seen which of
// them a request has twice.
type reads struct{ metadata, routes, host, method, fields bool }

// metadataPolicy is where a route of the proxy names the policy of its requests:
// sluice: {policy: NAME} in its metadata.
const metadataPolicy = "xds\x00route_metadata\x00filter_metadata\x00sluice\x00policy"

// policy is a policy of the document, ready for requests.
type policy struct {
	*document.Policy
	plan     *pipeline.Plan
	engine   engine // nil before the first request
	limits   []refusals.Limit
	field    string // RateLimit-Policy
	fallback *fallback.Config
	admitted uint64
	refusals []*refusal
	// instant says that a request that passed has nothing to return or to report.
	instant bool
	votes   bool
	// attributes are those that the steps read.
	attributes []string
	// sent are the attributes of the steps that a client can send twice, and fields says
	// that some of them are fields of the header.
	sent   []string
	fields bool
}

// file names the document in errors.
const file = "policy"

// newRoot reads the document. The error has a line for each thing that is wrong.
func newRoot(id uint32, src []byte) (*root, error) {
	tree, syntax := config.Read(src)
	if syntax != nil {
		return nil, document.Unreadable(file, syntax)
	}
	doc, err := document.Read(file, tree, nil)
	if err != nil {
		return nil, err
	}
	if wrong := config.Check(file, doc); len(wrong) > 0 {
		return nil, wrong
	}
	r := &root{id: id, doc: doc, table: routes.New(doc), key: newSource(doc.Proxy.Key), cost: newSource(doc.Proxy.Cost)}
	for i := range doc.Policies {
		p, err := newPolicy(&doc.Policies[i], &r.key, r.epoch)
		if err != nil {
			return nil, err
		}
		r.reads.fields = r.reads.fields || p.fields
		if doc.Proxy.Trace == document.TraceRecord {
			// The trace has the end of every request.
			p.instant, p.votes = false, true
		}
		r.policies = append(r.policies, p)
	}
	// Otherwise the metadata could only name the policy that all requests have anyway.
	r.reads.metadata = len(doc.Policies) > 1 || doc.HTTP.Unmatched != document.UnmatchedPolicy
	r.reads.routes = len(doc.Routes) > 0 || doc.HTTP.Paths == document.PathsStrict
	for i := range doc.Routes {
		one := &doc.Routes[i]
		r.routed = append(r.routed, r.lookup(one.Policy))
		r.reads.host = r.reads.host || one.Host != ""
		r.reads.method = r.reads.method || len(one.Methods) > 0
	}
	r.reads.fields = r.reads.fields || r.reads.host || r.reads.method || r.cost.header != ""
	if doc.HTTP.Unmatched == document.UnmatchedPolicy {
		r.unmatched = r.lookup(doc.HTTP.Default)
	}
	return r, nil
}

// lookup returns the policy of a name that the document has.
func (r *root) lookup(name string) *policy {
	for _, p := range r.policies {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func newPolicy(from *document.Policy, key *source, epoch func() time.Duration) (*policy, error) {
	plan, err := pipeline.Compile(from.Policy.WithEpoch(epoch))
	if err != nil {
		return nil, err
	}
	p := &policy{Policy: from, plan: plan, limits: refusals.Limits(plan), fallback: plan.Fallback(), instant: true}
	p.field = refusals.PolicyField(p.limits)
	for i := plan.Len() - 1; i >= 0; i-- {
		traits := mechanisms.Row(plan.Kind(i)).Traits
		// A step in shadow follows requests that pass it: one that would have waited takes its
		// permits when its turn comes, unless it has ended by then.
		followed := plan.Queues(i) && (plan.Shadow(i) || plan.Settings(i).Enforce.Partial())
		if !traits.Has(mechanism.Refunds) || plan.SettlesAt(i) || followed {
			p.instant = false
		}
		if traits.Has(mechanism.Votes) || traits.Has(mechanism.Observes) || plan.SettlesAt(i) {
			p.votes = true
		}
	}
	p.attributes = plan.Attributes()
	for _, attribute := range p.attributes {
		p.sends(attribute, key)
	}
	return p, nil
}

// sends notes an attribute of a step.
func (p *policy) sends(attribute string, key *source) {
	if attribute == "key" && key.header != "" {
		attribute = key.attribute
	}
	kind, _, named := strings.Cut(attribute, ":")
	if !named || slices.Contains(p.sent, attribute) {
		return
	}
	p.sent = append(p.sent, attribute)
	p.fields = p.fields || kind != "query"
}

// burst returns how many permits of a limit can be free.
func (p *policy) burst(step int) uint32 {
	for i := range p.limits {
		if p.limits[i].Step == step {
			return uint32(p.limits[i].Burst)
		}
	}
	return 1
}

// shares reports whether a step has cells that steps of other policies may have, too.
func (p *policy) shares() bool {
	for i := range p.plan.Len() {
		if p.plan.Shares(i) != "" {
			return true
		}
	}
	return false
}

// ready makes the engine of a policy.
func (r *root) ready(p *policy) {
	if r.recorder == nil {
		r.recorder = newRecorder(r)
	}
	if r.doc.Proxy.State == document.WorkerState {
		with := &crowd{}
		if p.shares() {
			with = &r.crowd
		}
		p.engine = newWorker(p, with, sharedData{}.Now, &r.metrics)
		return
	}
	if r.process.Store == nil {
		id, _ := abi.Property("plugin_root_id")
		prefix := "sluice/" + string(id) + "/" // before the store is read, which loses the property
		seed := processSeed()
		r.process = shared.Process{
			Store: sharedData{}, Prefix: prefix, Seed: seed, Slots: r.doc.Proxy.Slots,
			// Two workers that begin at one nanosecond would be one.
			Member: uint32(seed.Word(uint64(abi.Now()))) ^ r.id,
		}
	}
	p.engine = newProcess(p, &r.process, &r.metrics)
}

// processSeed returns the seed that all workers of the process have: the times of one of
// them.
func processSeed() shared.Seed {
	own := shared.Seed{uint64(abi.Wall()), uint64(abi.Now())}
	return shared.SharedSeed(sharedData{}, []byte("sluice/seed"), own)
}

// epoch returns the wall time of mark 0 since 1970, in all workers the same: another one
// would make another configuration of the cells that they share.
func (r *root) epoch() time.Duration {
	times := processSeed()
	return time.Duration(max(0, int64(times[0]-times[1])))
}

// sharedData is the shared data of the proxy.
type sharedData struct{}

// Get implements shared.Store. The proxy counts changes from 1 on.
func (sharedData) Get(key []byte) (value []byte, version uint64) {
	abi.Reclaim()
	value, change, status := abi.Shared(key)
	if status != abi.OK {
		return nil, shared.Absent
	}
	return value, uint64(change)
}

// Swap implements shared.Store.
func (sharedData) Swap(key, value []byte, version uint64) bool {
	change := uint32(version)
	if version == shared.Absent {
		change-- // 0 would replace whatever is there, and no value has this one
	}
	return abi.SetShared(key, value, change) == abi.OK
}

// Now implements shared.Store.
func (sharedData) Now() clock.Mark { return clock.Mark(abi.Now()) }

// find returns the policy of the request of the effective context, nil for none, or the
// answer to a request that is refused for what it is.
func (r *root) find(q *request) (*policy, *refusals.Problem) {
	q.http = &r.doc.HTTP
	if r.reads.metadata {
		if name, ok := abi.Property(metadataPolicy); ok {
			return r.named(string(name))
		}
	}
	if !r.reads.routes {
		return r.byDefault()
	}
	host, method := "", "GET"
	if r.reads.host {
		host = q.header(":authority")
	}
	if r.reads.method {
		method = q.header(":method")
	}
	path, query, more := strings.Cut(q.pathOf(), "?")
	m, err := r.table.Match(host, method, path)
	if err != nil {
		p := refusals.Problem{Type: refusals.Blank, Title: "Bad Request", Status: 400, Reason: "path"}
		if refused, ok := err.(*routes.PathError); ok {
			p.Detail = refused.Reason
		}
		return nil, &p
	}
	q.http = m.HTTP
	if m.Path != path {
		// The upstream serves the path that was compared.
		if more {
			m.Path += "?" + query
		}
		abi.SetHeader(abi.RequestHeaders, ":path", m.Path)
		q.path.value = m.Path
	}
	if m.Route == nil {
		return r.byDefault()
	}
	q.route = m.Route.Host + m.Route.Path
	return r.routed[m.Index], nil
}

// named is find for a request whose route names its policy.
func (r *root) named(name string) (*policy, *refusals.Problem) {
	if name == document.Pass {
		return nil, nil
	}
	if p := r.lookup(name); p != nil {
		return p, nil
	}
	if !slices.Contains(r.unknown, name) && len(r.unknown) < mostUnknown {
		r.unknown = append(r.unknown, name)
		text := "sluice: a route names the policy " + tree.Quote(name, '"') + ", which is not there"
		if near := r.doc.Nearest(name); near != "" {
			text += "; did you mean " + near + "?"
		}
		abi.Log(abi.Error, text)
	}
	return nil, &refusals.Problem{Type: refusals.Blank, Title: "Internal Server Error", Status: 500, Reason: "policy",
		Detail: "The policy of this service is missing."}
}

// mostUnknown is how many unknown names the log has.
const mostUnknown = 16

// byDefault is find for a request that no route matches.
func (r *root) byDefault() (*policy, *refusals.Problem) {
	if r.doc.HTTP.Unmatched == document.UnmatchedDeny {
		return nil, &refusals.Problem{Type: refusals.Blank, Title: "Forbidden", Status: 403, Reason: "route",
			Detail: "No route of this service matches the request."}
	}
	return r.unmatched, nil
}
