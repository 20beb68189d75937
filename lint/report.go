package lint

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Report is the analysis of a document.
type Report struct {
	// Policies in the order of the document.
	Policies []Policy `json:"policies"`
	// Findings about the document as a whole: its routes and its defaults.
	Findings []Finding `json:"findings"`
}

// Policy is the analysis of one policy.
type Policy struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Line        int       `json:"line"`
	Column      int       `json:"column"`
	Steps       []Step    `json:"steps"`
	Fallback    *Fallback `json:"fallback"`
	// Allow and Deny say for which calls no guarantee holds, since they pass without any
	// step, and which are refused, for people.
	Allow      string     `json:"allow,omitempty"`
	Deny       string     `json:"deny,omitempty"`
	Guarantees Guarantees `json:"guarantees"`
	Findings   []Finding  `json:"findings"`
}

// Step is a step with every default filled in.
type Step struct {
	Name      string   `json:"name"`
	Mechanism string   `json:"mechanism"`
	Settings  string   `json:"settings"` // for people
	Per       []string `json:"per"`
	Shadow    bool     `json:"shadow"`
	// EachAttempt says that the step is below a retry or a hedge, so that every
	// attempt passes it.
	EachAttempt bool `json:"each_attempt"`
	// Shared is the mechanism of the document that the step uses, empty for none, and
	// SharedWith the other policies that use it.
	Shared      string   `json:"shared,omitempty"`
	SharedWith  []string `json:"shared_with,omitempty"`
	Description string   `json:"description,omitempty"`
	Line        int      `json:"line"`
	Column      int      `json:"column"`
}

// Fallback is what a caller gets in place of a refusal or a failure.
type Fallback struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Guarantees hold whatever callers and the dependency do.
type Guarantees struct {
	Requests   Requests     `json:"requests"`
	Concurrent []Concurrent `json:"concurrent"`
	Attempts   Attempts     `json:"attempts"`
	// WaitBeforeAttempt is the longest that one attempt waits in queues before it
	// starts, WaitInAll that a call waits in all its attempts. Neither includes
	// backoffs.
	WaitBeforeAttempt Time `json:"wait_before_attempt"`
	WaitInAll         Time `json:"wait_in_all"`
	// Held is the longest from a call's beginning to its end.
	Held     Time      `json:"held"`
	Breakers []Breaker `json:"breakers"`
}

// Requests are the most requests in any window.
type Requests struct {
	// Limits are the most requests that pass each enforced limit, for each of its
	// keys.
	Limits []Passed `json:"limits"`
	// Started is what reaches the dependency: the total first, then for each set of
	// attributes that a limit has cells for.
	Started []Passed `json:"started"`
}

// Passed is the most requests that pass a step. Without a step they start.
type Passed struct {
	Step string   `json:"step,omitempty"`
	Per  []string `json:"per"`
	Most Windows  `json:"most"`
}

// Windows are the most in any window of a length; nil for no bound.
type Windows struct {
	Second *uint64 `json:"1s"`
	Minute *uint64 `json:"1m"`
	Hour   *uint64 `json:"1h"`
}

// Concurrent is the most attempts that run at once for each key of a bulkhead;
// nil for no bound, because of a lease that may run out.
type Concurrent struct {
	Step string   `json:"step"`
	Per  []string `json:"per"`
	Most *uint64  `json:"most"`
}

// Attempts are the most attempts of a call, which is also the worst
// amplification of the load.
type Attempts struct {
	Most   uint32  `json:"most"`
	Budget *Budget `json:"budget"`
}

// Budget bounds the retries of all calls of a key together: one is granted while the retries of
// the Window that ends with it are no more than Always and the Ratio of its first attempts. One
// of Tokens grants no more than UntilSpent while no attempt succeeds, and an adaptive one
// follows the share of failures; the other fields are empty then.
type Budget struct {
	Per        []string `json:"per"`
	Ratio      string   `json:"ratio"`
	Always     uint64   `json:"always"`
	Window     Duration `json:"window"`
	Tokens     uint32   `json:"tokens,omitempty"`
	UntilSpent uint64   `json:"until_spent,omitempty"`
	// OneAbove and TwoAbove are the shares of failures of the Window above which an adaptive
	// one grants a call 1 retry, and 2.
	OneAbove string `json:"one_above,omitempty"`
	TwoAbove string `json:"two_above,omitempty"`
}

// Time is a longest time.
type Time struct {
	// Longest is nil when there is no bound.
	Longest *Duration `json:"longest"`
	// Timeout is the name of the step that cuts it, empty for a sum of others.
	Timeout string `json:"timeout"`
	// RetryAfter says that the retry_after of answers adds to it.
	RetryAfter bool `json:"retry_after"`
}

// Breaker is how fast a breaker opens and how long it stays open.
type Breaker struct {
	Step string   `json:"step"`
	Per  []string `json:"per"`
	// Failures are how many consecutive failures open a new breaker,
	// FailuresAfterGood one whose window is full of successes; nil where that depends
	// on time.
	Failures          uint32  `json:"failures"`
	FailuresAfterGood *uint32 `json:"failures_after_good"`
	// SlowAfterGood is the same for slow outcomes, nil without such a rule.
	SlowAfterGood *uint32 `json:"slow_after_good"`
	// Open is how long it stays open the first time at most, OpenLongest at any
	// time when probes fail again and again.
	Open        *Duration `json:"open"`
	OpenLongest *Duration `json:"open_longest"`
	Probes      uint32    `json:"probes"`
}

// Severity of a finding.
type Severity string

// The severities.
const (
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is a warning or a note about a policy.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     Rule     `json:"rule"`
	// Step is the name of the step that it concerns, empty for the policy.
	Step string `json:"step"`
	// Message describes the finding, with its arithmetic, and Reason why it matters.
	Message string `json:"message"`
	Reason  string `json:"reason"`
	// Mended is a part of a document without the finding: a step with the settings to
	// change, a step to add ("- timeout: 30s"), the order of the steps by their
	// names, or an entry of the policy or the document. Empty where the intention is
	// unknown.
	Mended string `json:"mended"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// All calls visit with each finding, and the policy that it is about, nil for one
// about the document.
func (r *Report) All(visit func(*Policy, *Finding)) {
	for i := range r.Policies {
		for j := range r.Policies[i].Findings {
			visit(&r.Policies[i], &r.Policies[i].Findings[j])
		}
	}
	for i := range r.Findings {
		visit(nil, &r.Findings[i])
	}
}

// Count returns how many findings of the severity there are.
func (r *Report) Count(s Severity) int {
	n := 0
	r.All(func(_ *Policy, f *Finding) {
		if f.Severity == s {
			n++
		}
	})
	return n
}

// Allow changes warnings of the rules to notes: the document is intentionally so.
func (r *Report) Allow(rules ...Rule) {
	r.All(func(_ *Policy, f *Finding) {
		if slices.Contains(rules, f.Rule) {
			f.Severity = Note
		}
	})
}

// Duration is a time.Duration in a text without idle zeros.
type Duration time.Duration

// String returns the duration in Go's form, as in "1m" and "1h30m".
func (d Duration) String() string {
	return mechanism.Span(time.Duration(d))
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// forever is a time without a bound.
const forever = mechanism.Forever

// bounded returns nil for forever.
func bounded(d time.Duration) *Duration {
	if d == forever {
		return nil
	}
	short := Duration(d)
	return &short
}
