package lint

// Rule names what a finding is about.
type Rule string

// The rules, see Rules for what each one says.
const (
	Order         Rule = "order"
	HoldsPermit   Rule = "backoff-holds-permit"
	Unguarded     Rule = "retry-unguarded"
	RetryNoEffect Rule = "retry-no-effect"
	RetryAttempts Rule = "retry-attempts"
	NoBackoff     Rule = "retry-no-backoff"
	Unreachable   Rule = "attempt-unreachable"
	MayNotFit     Rule = "attempts-may-not-fit"
	LateTimeout   Rule = "timeout-no-effect"
	LateWait      Rule = "wait-beyond-timeout"
	LateSlow      Rule = "slow-beyond-timeout"
	NeverOpens    Rule = "breaker-never-opens"
	NoTimeout     Rule = "no-timeout"
	Burst         Rule = "burst-default"
	Rounded       Rule = "interval-rounded"
	ShortLease    Rule = "lease-runs-out"
	Unnamed       Rule = "unnamed"
	Shadow        Rule = "shadow"
	Unused        Rule = "unused"
)

// RuleInfo says what a rule finds.
type RuleInfo struct {
	Rule Rule `json:"rule"`
	// Severities that its findings have, the worst first.
	Severities []Severity `json:"severities"`
	Finds      string     `json:"finds"`
}

// Rules returns all rules in the order in which they are checked.
func Rules() []RuleInfo {
	warning, note, both := []Severity{Warning}, []Severity{Note}, []Severity{Warning, Note}
	return []RuleInfo{
		{HoldsPermit, warning, "a bulkhead above a retry, whose place is held while backoffs are slept"},
		{Order, both, "other steps that are not in the order timeout, retry, breaker, limit, bulkhead, timeout; a note where the order costs nothing"},
		{LateTimeout, warning, "a timeout that cannot cut first, for one above it is no longer"},
		{LateWait, warning, "a wait that cannot run out, for a timeout above it cuts no later"},
		{NoTimeout, both, "a call that can be held for ever; a note where the policy itself neither waits nor holds anything"},
		{Unguarded, warning, "a retry with neither a breaker below it nor a budget"},
		{RetryNoEffect, warning, "a retry of 1 attempt"},
		{RetryAttempts, note, "how many retries the attempts are"},
		{NoBackoff, note, "retries that follow at once"},
		{Unreachable, warning, "an attempt that cannot start, for the backoffs before it reach a timeout"},
		{MayNotFit, note, "attempts that do not all fit below a timeout when each takes its longest"},
		{LateSlow, warning, "a slow rule that no attempt can meet, for a timeout cuts no later"},
		{NeverOpens, warning, "a breaker that never has the minimum of outcomes in its window, for a limit lets too few pass"},
		{Burst, note, "a rate without a burst, which is the rate's count then"},
		{Rounded, warning, "an interval between permits that costs more than 0.1 % of the rate, being a whole number of nanoseconds"},
		{ShortLease, note, "a lease that runs out before the attempt must end"},
		{Unnamed, both, "several unnamed steps of one mechanism; a note for timeouts, which keep no state"},
		{Shadow, note, "a step that enforces nothing"},
		{Unused, note, "a policy that no route leads to, in a document with routes"},
	}
}
