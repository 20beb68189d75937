package lint

// Rule is the name of a rule.
type Rule string

// The rules; Rules has the text of each one.
const (
	Order            Rule = "order"
	HoldsPermit      Rule = "backoff-holds-permit"
	Unguarded        Rule = "retry-unguarded"
	RetryNoEffect    Rule = "retry-no-effect"
	RetryMany        Rule = "retry-many"
	LateRefusals     Rule = "refusals-no-effect"
	UnsafeMethods    Rule = "retry-unsafe-methods"
	NoBackoff        Rule = "retry-no-backoff"
	ShortBackoff     Rule = "backoff-short"
	NoJitter         Rule = "backoff-no-jitter"
	BudgetNeverBinds Rule = "budget-never-binds"
	BudgetFloor      Rule = "budget-floor"
	BudgetOneCall    Rule = "budget-one-call"
	BudgetWait       Rule = "budget-wait-late"
	Unreachable      Rule = "attempt-unreachable"
	MayNotFit        Rule = "attempts-may-not-fit"
	LateElapsed      Rule = "max-elapsed-no-effect"
	LateTimeout      Rule = "timeout-no-effect"
	LateWait         Rule = "wait-beyond-timeout"
	LateWaits        Rule = "waits-beyond-timeout"
	LongQueue        Rule = "queue-too-long"
	LateSlow         Rule = "slow-beyond-timeout"
	NeverOpens       Rule = "breaker-never-opens"
	HastyBreaker     Rule = "breaker-hasty"
	BriefBreaker     Rule = "breaker-brief"
	ForcedBreaker    Rule = "breaker-forced"
	LateSlowRow      Rule = "slow-consecutive-late"
	LongObey         Rule = "retry-after-long"
	BriefRamp        Rule = "ramp-brief"
	BriefForget      Rule = "forget-brief"
	NoTimeout        Rule = "no-timeout"
	Burst            Rule = "burst-default"
	Rounded          Rule = "interval-rounded"
	LimitNeverBinds  Rule = "limit-never-binds"
	ChosenKey        Rule = "key-chosen-by-client"
	SkippedKey       Rule = "key-skipped"
	ChosenCost       Rule = "cost-chosen-by-client"
	LateCharge       Rule = "charge-unbounded"
	BriefBlock       Rule = "block-brief"
	SharedBlock      Rule = "block-of-all"
	UndoneWarmUp     Rule = "warm-up-undone"
	NeverHolds       Rule = "when-never-holds"
	AlwaysHolds      Rule = "condition-always-holds"
	DeniedAllow      Rule = "allow-denied"
	ChosenAllow      Rule = "allow-chosen-by-client"
	WholeShare       Rule = "enforce-all"
	AddressKey       Rule = "key-is-address"
	HugeBulkhead     Rule = "bulkhead-huge"
	ShortLease       Rule = "lease-runs-out"
	UnknownShare     Rule = "over-share-unknown"
	Outcomes         Rule = "outcomes-inverted"
	FallbackSuccess  Rule = "fallback-success"
	Unnamed          Rule = "unnamed"
	Chaos            Rule = "chaos"
	Shadow           Rule = "shadow"
	Unused           Rule = "unused"
	UnusedDefaults   Rule = "unused-defaults"
	UnusedMechanism  Rule = "unused-mechanism"
	CrossedPlaces    Rule = "places-crossed"
	DeadRoute        Rule = "route-unreachable"
	NoDefault        Rule = "no-default-route"
	GRPCAttribute    Rule = "grpc-attribute"
	ProxyWait        Rule = "proxy-wait"
)

// RuleInfo describes what a rule finds.
type RuleInfo struct {
	Rule Rule `json:"rule"`
	// Severities that its findings have, the worst first.
	Severities []Severity `json:"severities"`
	Finds      string     `json:"finds"`
	// Reason says why that matters.
	Reason string `json:"reason"`
}

// Rules returns all rules in the order in which they are checked.
func Rules() []RuleInfo {
	warning, note, both := []Severity{Warning}, []Severity{Note}, []Severity{Warning, Note}
	return []RuleInfo{
		{HoldsPermit, warning, "a bulkhead above a retry, whose place is held while backoffs are slept",
			"calls that only sleep hold places that other calls need"},
		{Order, both, "other steps that are not in the order timeout, retry, breaker, limit, bulkhead, timeout; a note where the order costs nothing",
			"each step sees the calls that the steps above it let pass"},
		{LateTimeout, warning, "a timeout that never cuts first, because one above it is not longer",
			"the step has no effect"},
		{LateWait, warning, "a wait that never ends by itself, because a timeout above it cuts no later",
			"a call that waits is cut, where a refusal would have had a retry-after for the client"},
		{LateWaits, warning, "waits below a timeout that can together last as long as the timeout",
			"a call can use all its time in queues, and the timeout cuts it before its answer"},
		{LongQueue, warning, "a queue with more places than calls that can be served within its wait",
			"places that no call can use hide how long the queue is"},
		{NoTimeout, both, "a call that can last for ever, or for as long as an answer asks; a note where the policy itself neither waits, retries nor holds anything",
			"calls that do not end accumulate until memory or connections run out"},
		{Unguarded, warning, "a retry with neither a breaker below it nor a budget",
			"retries prevent the recovery of a dependency"},
		{RetryNoEffect, warning, "a retry of 1 attempt",
			"the step has no effect"},
		{LateRefusals, warning, "refusals: wait of a retry without a limit or a breaker below it",
			"the setting has no effect: no other step names a time"},
		{RetryMany, warning, "a retry of more than 10 attempts",
			"a call that fails ten times in a row rarely succeeds at the eleventh attempt; the dependency gets the load"},
		{UnsafeMethods, warning, "a retry or a hedge of methods that are not idempotent",
			"an attempt whose answer was lost may have been carried out: the next one carries it out again (RFC 9110, 9.2.2)"},
		{NoBackoff, note, "retries without a delay",
			"a fault that lasts longer than an attempt uses up all attempts"},
		{ShortBackoff, warning, "delays between attempts of less than 10ms",
			"a fault that lasts longer than a moment uses up all attempts, in a burst"},
		{NoJitter, both, "delays without jitter; a note where they grow",
			"callers that failed at the same time retry at the same time"},
		{BudgetNeverBinds, warning, "a budget that grants every retry that the policy can make",
			"the budget does not limit the retries"},
		{BudgetFloor, note, "the load below which a budget grants every retry, or a ratio that covers all of them",
			"a budget refuses nothing while its minimum or its ratio covers all retries"},
		{BudgetOneCall, warning, "a token-bucket budget that one call whose attempts fail uses up",
			"a single bad request takes the retries of all other calls"},
		{BudgetWait, note, "a wait of an adaptive budget that no attempt exceeds at the steps below",
			"the setting has no effect"},
		{Unreachable, warning, "an attempt that cannot start, because the backoffs before it reach a timeout or max_elapsed",
			"the policy makes fewer attempts than configured"},
		{MayNotFit, note, "attempts that do not all fit into a timeout when each takes its longest time",
			"only fast failures get all attempts"},
		{LateElapsed, warning, "a max_elapsed that ends no retry, because a timeout above it cuts no later",
			"the setting has no effect"},
		{LateSlow, warning, "a slow rule that no attempt can meet, because a timeout cuts no later",
			"the rule has no effect"},
		{NeverOpens, warning, "a breaker that never has the minimum of outcomes in its window, because a limit lets too few calls pass",
			"the step has no effect"},
		{HastyBreaker, warning, "a breaker that one failure, or one slow attempt, opens for a second or longer",
			"one random failure refuses every call of that time"},
		{BriefBreaker, warning, "a breaker that stays open for less than 100ms",
			"probes follow each other so closely that the dependency has no time to recover"},
		{ForcedBreaker, both, "a breaker that starts in a mode which it does not leave by itself; a note where that refuses no call",
			"the step decides nothing until its state is changed by hand"},
		{LateSlowRow, note, "slow attempts in a row that reach the slow rate before they are as many as consecutive says",
			"the number decides about probes alone"},
		{LongObey, warning, "an obey_retry_after of more than an hour",
			"one answer refuses every call of that time, also where its retry-after is a mistake"},
		{BriefRamp, note, "a ramp that is over before an attempt that hangs has ended",
			"the load is back before the first outcome of the ramp is known"},
		{BriefForget, note, "a breaker that forgets a failure in a row no later than an attempt that hangs ends",
			"attempts that hang, one after another, never open it"},
		{Burst, note, "a rate without a burst, whose burst is then the count of the rate",
			"twice the count can pass in the worst period"},
		{Rounded, warning, "an interval between permits that, rounded up to a whole nanosecond, lowers the rate by more than 0.1 %",
			"the limit is lower than configured"},
		{LimitNeverBinds, warning, "a limit that never refuses, because another one lets too few calls pass",
			"the step has no effect"},
		{ChosenKey, both, "a limit for each value that clients choose themselves (a header, a cookie, a parameter, a path); a note where another step bounds all of them together",
			"a client that invents values gets a new limit for each"},
		{SkippedKey, both, "a limit with missing: skip for a value that clients may leave out; a note where another step bounds these calls",
			"a client that leaves the value out has no limit at all"},
		{ChosenCost, both, "a limit whose cost is in a header, a cookie or a parameter; a note where another step bounds these calls, and for the places of a bulkhead or an adaptive limit",
			"a client that sends the value itself says that its calls cost nothing"},
		{LateCharge, warning, "a limit with charge: end, and no other step that bounds calls as they start",
			"calls that start together all pass while the cost is free"},
		{BriefBlock, warning, "blocks that are shorter than the time between two permits",
			"a block prolongs a refusal by less than a caller waits without it"},
		{SharedBlock, note, "blocks of a limit without per",
			"one caller that exceeds the limit blocks all callers"},
		{UndoneWarmUp, warning, "a burst that is as large as what the warm-up keeps back",
			"as many calls pass after an idle time as at the whole rate"},
		{NeverHolds, warning, "a when, an allow or a deny that no call matches, as one of two classes, a case of one, or a host with capitals; a when whose calls are all denied or allowed",
			"the step has no effect"},
		{AlwaysHolds, warning, "a when, an allow or a deny that every call matches",
			"the condition has no effect, and an allow or a deny of all calls leaves no call to the steps"},
		{DeniedAllow, warning, "an allow whose calls are all denied",
			"deny is asked first: no call passes by it"},
		{ChosenAllow, warning, "an allow that asks for nothing but what clients choose themselves (a header, a cookie, a parameter, a path)",
			"a client that sends the value has no limit at all"},
		{WholeShare, note, "an enforce of 100%",
			"the setting has no effect"},
		{AddressKey, note, "a step for each address of a peer",
			"behind a load balancer all clients have its address, and share one limit"},
		{HugeBulkhead, warning, "a bulkhead of more than 10,000 places",
			"memory, connections or descriptors run out before the places do"},
		{UnknownShare, warning, "an over that is a share other than the default, of an adaptive limit whose attempts no timeout bounds",
			"without a deadline of the caller it has nothing to be a share of, and counts as 5s"},
		{ShortLease, note, "a lease that may end before the attempt",
			"more attempts run than there are places"},
		{Outcomes, warning, "outcomes that count successes as failures, or do not count failures of the dependency",
			"retries repeat successful requests, and breakers count the wrong answers"},
		{FallbackSuccess, warning, "a fallback with the status of a success",
			"clients, caches and monitors treat a refusal as a success"},
		{Unnamed, both, "several unnamed steps of one mechanism; a note for timeouts, which keep no state",
			"the state of an unnamed step follows its position in the document"},
		{Chaos, warning, "a chaos step that injects: not in shadow, and with a share above 0%",
			"real requests fail or are slow"},
		{Shadow, note, "a step that enforces nothing",
			"no guarantee counts on it"},
		{Unused, note, "a policy that no route leads to and none extends, in a document with routes",
			"its limits apply to no request"},
		{UnusedDefaults, note, "defaults of a mechanism that no step takes",
			"a setting that nothing has is read as one that applies"},
		{UnusedMechanism, note, "a mechanism of the document that no policy uses",
			"a mechanism that nothing uses is read as one that applies"},
		{CrossedPlaces, warning, "shared bulkheads or adaptive limits that policies take in opposite orders, where a call waits for the second with a place of the first",
			"each of the calls has the place that another one waits for: none of them goes on until a wait or a timeout ends"},
		{DeadRoute, warning, "a route that is the first match of no request",
			"the requests that it names pass another policy"},
		{NoDefault, warning, "routes that do not match all requests, in a document without http.default",
			"a request that no route matches passes without a policy"},
		{GRPCAttribute, warning, "a cookie or a parameter that a policy asks for, and a route to it that is a service or a method of gRPC",
			"calls of gRPC have neither, so the attribute is missing in all of them"},
		{ProxyWait, note, "a wait in a document with a proxy section, whose workers share cells",
			"the waiters of a worker end with it, so a wait is no place in a shared queue"},
	}
}

// reasonOf returns why a rule matters.
func reasonOf(rule Rule) string {
	for _, info := range Rules() {
		if info.Rule == rule {
			return info.Reason
		}
	}
	return ""
}
