package scenario

import (
	"time"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/random"
)

// Limits of a scenario.
const (
	// MaxClients is the most clients, MaxServices the most services.
	MaxClients, MaxServices = 100, 100
	// MaxUsers is the most users of a closed client.
	MaxUsers = 1_000_000
	// MaxValues is the most values of a key or an attribute.
	MaxValues = 1_000_000
	// MaxAttributes is the most attributes of a client beside its key.
	MaxAttributes = 14
	// MaxServers is the most servers of a service, and the most places of its queue.
	MaxServers = 1_000_000
	// MaxDuration is the longest scenario.
	MaxDuration = 366 * 24 * time.Hour
)

// Scenario is a document: who calls what, for how long.
type Scenario struct {
	// Description says what the scenario shows, for people.
	Description string
	// Seed of all random numbers. The default is 1.
	Seed uint64
	// Duration of the whole in virtual time, and of its part in front that is
	// simulated and not counted.
	Duration, Warmup time.Duration
	// PolicyFile is a policy document whose policies are added to Policies; the caller
	// of Read has read it. Empty for none.
	PolicyFile string
	Policies   []document.Policy
	Clients    []Client
	Services   []Service
}

// Client is one process that makes calls.
type Client struct {
	Name string
	// To is the index of a service.
	To int
	// Policy is the policy of its calls, nil where they go straight to the service.
	Policy   *document.Policy
	Arrivals Arrivals
	// Key draws the key of a call. Without values, calls have none.
	Key Values
	// Attributes of a call beside its key.
	Attributes []Attribute
	// Cost in permits. The default is 1.
	Cost Dist
	// Deadline of a call, from its arrival, with a policy or without one; negative for
	// none. What is left of it is the deadline of the calls that services make for it.
	Deadline time.Duration
	// Patience after which the client cancels a call that is not over. Its Kind is
	// None for a client that always waits.
	Patience Dist
	// Repeats is how many times the client calls again after a call that was not ok,
	// whatever its policy says, each time after Pause.
	Repeats uint32
	Pause   Dist
	// Jumps are leaps of the client's clock.
	Jumps []Jump
}

// Arrivals says when a client's calls arrive.
type Arrivals struct {
	// Users is how many users a closed client has, each of which makes its next call
	// after the last one is over and Think has passed. 0 for an open client.
	Users uint32
	Think Dist
	// Phases of an open client, one after another. The last one may be without end.
	Phases []Phase
}

// Phase is a part of an open client's arrivals.
type Phase struct {
	// For is how long it lasts, math.MaxInt64 for one without end.
	For  time.Duration
	Kind PhaseKind
	// Count arrivals a Period, that is the rate; at the end of a Ramp it is ToCount a
	// ToPeriod.
	Count, ToCount   uint32
	Period, ToPeriod time.Duration
	// Gap between the arrivals of Gaps, and between the bursts of Bursts.
	Gap Dist
	// Size is how many calls arrive at once in Bursts.
	Size uint32
}

// PhaseKind says how calls arrive.
type PhaseKind uint8

const (
	// Poisson arrivals are independent of each other, at a rate.
	Poisson PhaseKind = iota
	// Constant arrivals have equal gaps.
	Constant
	// Ramp is Poisson with a rate that grows or falls linearly.
	Ramp
	// Gaps are drawn, the first one before the first arrival.
	Gaps
	// Bursts are calls that arrive at once, the first ones with the phase.
	Bursts
)

// Values draws a text. The zero value draws none.
type Values struct {
	// Names of the values. nil for k1, k2 and so on.
	Names []string
	// Count of the values, 0 for none.
	Count int
	// Table draws the index of a value, nil where all are equally probable.
	Table *random.Table
}

// Attribute is an attribute of calls.
type Attribute struct {
	Name   string
	Values Values
}

// Jump is a leap of a clock: from the mark At on it shows By more.
type Jump struct {
	At, By time.Duration
}

// Service answers calls.
type Service struct {
	Name    string
	Servers uint32
	// Queue is how many requests may wait, negative without bound.
	Queue int
	Time  Dist
	// Fail is the share of answers that are failures.
	Fail reducer.Share
	// Abandon says that the service stops work whose caller has given up.
	Abandon bool
	// Policy admits requests in front of the queue, nil for none.
	Policy *document.Policy
	// Calls to other services that a request makes after its service time, while it
	// holds its server: one after another, or all at once where Parallel is set.
	Calls    []Edge
	Parallel bool
	// Cache answers requests for keys that it has within its own time.
	Cache *Cache
	// WarmUp follows the beginning and each fault of the kind restart.
	WarmUp *WarmUp
	// Drift makes service times that are near in time alike.
	Drift  *Drift
	Faults []Fault
}

// Edge is a call of a service to another one.
type Edge struct {
	To     int
	Policy *document.Policy
	// Optional says that a request can be ok without an ok answer of this call.
	Optional bool
}

// Cache is a cache in front of the work of a service.
type Cache struct {
	// Hit is the service time of a request whose key is in the cache.
	Hit Dist
	// For is how long a key stays, 0 for ever.
	For time.Duration
}

// WarmUp is the slow start of a service: times are multiplied by Slow at its
// beginning, by 1 at its end, and by what lies linearly between them.
type WarmUp struct {
	For  time.Duration
	Slow float64
}

// Drift multiplies service times by e^(Sigma x), with x a normal number that is drawn
// anew each Every and has the correlation with the one before.
type Drift struct {
	Every              time.Duration
	Sigma, Correlation float64
}

// Fault is something that happens to a service for a while.
type Fault struct {
	// At is the mark of the first one, negative where the first comes after Every.
	At  time.Duration
	For Dist
	// Every is the time from the end of one to the next. Its Kind is None for a fault
	// that comes once.
	Every Dist
	// Slow multiplies service times that are drawn meanwhile, 1 for no change.
	Slow float64
	// Fail is the share of answers that are failures at least.
	Fail reducer.Share
	// Throttle is the share of answers that are throttled, with RetryAfter, negative
	// for none.
	Throttle   reducer.Share
	RetryAfter time.Duration
	// Servers is how many there are at most, negative for no change.
	Servers int
	// Pause stops all work, which goes on afterwards, as a garbage collection does.
	Pause bool
	// Flush empties the cache at its beginning. Restart does that too, and the service
	// warms up after its end.
	Flush, Restart bool
}
