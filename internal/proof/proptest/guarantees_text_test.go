package proptest

// The text of GUARANTEES.md that does not come from the table.

const introduction = `# Guarantees

Sluice's invariants. Each row names the check that the tests run and a mutant that proves that the check can fail.
This page is generated from the table in [proptest](internal/proof/proptest), and a test compares them: an invariant without a check
cannot be listed.

**%d invariants, %d checks**: %d properties, %d differential, %d scripts, %d explorations.

- **property**: on random histories of actions and marks, with many events at the same nanosecond. A failing history
  is shrunk to a short one. A check that hardly ever applies to the histories fails as well.
- **differential**: on random histories, against a second implementation that is simple and slow.
- **script**: one written history, mostly from a bug report.
- **exploration**: every history of a small configuration up to a depth; for most of them this is every reachable state.
- **fails on** is the mutant: the machine with one small, realistic defect. The tests fail when a check
  does not find its mutant, so that no check is empty.
- **reported in** names public reports of defects in other projects that the invariant excludes.

All of it runs with ` + "`go test ./internal/proof/proptest`" + ` in less than a minute, with the same histories every time. Other and more histories:
` + "`SLUICE_SEED=42 SLUICE_TIMES=10 go test ./internal/proof/proptest`" + `. To write this page: ` + "`go test ./internal/proof/proptest -run TestGuarantees -rewrite`" + `.
`

// group is a section of the page.
type group struct{ letter, title, about string }

var groups = []group{
	{"G", "Every mechanism", "The properties by which a driver, a store, a simulator or a snapshot can use any mechanism."},
	{"L", "Rate limiters", "Token bucket (kept as GCRA), fixed window, sliding counter, sliding log, leaky bucket, each alone and behind a queue."},
	{"B", "Circuit breaker", "With a window of calls, of time, or of consecutive failures."},
	{"R", "Retry, backoff, budget", "How many attempts, when, and whether a retry starts at all."},
	{"K", "Bulkhead and queues", "Places with leases, and a queue of waiters; a limiter uses the same queue."},
	{"A", "Adaptive limits", "A concurrency limit by the outcomes of rounds of calls."},
	{"D", "Injections", "What a chaos step injects into attempts, and what that does to the steps above it."},
	{"M", "Pipelines", "Several steps in one policy, with active calls."},
	{"W", "Conditions", "Which calls a step applies to and enforces for, and which ones a policy allows and denies."},
}

// reports are the public reports of defects that an invariant excludes.
var reports = map[string]string{
	"G1":  "turmoil#19",
	"G3":  "tikv/pd#10744, juju/ratelimit#26, ProfessionalWiki/MediaWiki-MCP-Server#557, apache/pulsar#23930",
	"G4":  "str0m#1017",
	"G11": "smallrye-fault-tolerance#1099",
	"G16": "tikv/pd#10744 (Reconfigure)",
	"L3":  "Kong/docs.konghq.com#6586: a sliding window that counts its 429s",
	"L7":  "vutran1710/PyrateLimiter#312",
	"L8":  "IronTraffic#212, plausible/analytics#6497",
	"L10": "tempesta-tech/xFW#79: truncation at low rates",
	"L11": "mokies/ratelimitj#24, ofelia#751",
	"L13": "golang/go#69419, #56924, #52584; thrasher-corp/gocryptotrader#2371: one rounding at 60/s rejects; hugalafutro/model-hotel#976: a late cancel restores nothing",
	"L15": "hugalafutro/model-hotel#976",
	"L16": "status-im/nim-chronos#500",
	"B4":  "resilience4j#903, #935; opossum#276, #59; OmniRoute#13836: open for six days, 49 607 rejected; getnora-io/nora#585; rezilience#521; cc-switch#7206",
	"R1":  "adorsys/didcomm-mediator-rs#336",
	"R2":  "scylladb/latte#208, onos-lib-go#127, optimism#7690, thomhurst/Dekaf#3068, aws-sdk-java-v2#1673, zenml#5265, retry4j#36",
	"R6":  "stacklok/mecatl#89, 1jehuang/jcode#1183, openclaw#104888",
	"R9":  "failsafe-go#141",
	"R10": "gateway-api#3607",
	"K3":  "failsafe-lib/failsafe#393, #365, #395, #400: it reaches zero capacity and never recovers",
	"K9":  "smallrye-fault-tolerance#1099",
	"K10": "getsentry/objectstore#563",
	"A1":  "envoy#9947",
	"A3":  "Netflix/concurrency-limits#155: a success at the maximum halves the limit",
	"M2":  "MikkoParkkola/trvl#517: a caller with 1 ms waited a minute; bookingcom/carbonapi#306: a part passed off as the whole",
	"M5":  "failsafe#96, #377; cockatiel#107, #115; Polly#1139",
}

// absent are invariants, and parts of invariants, that do not apply yet.
var absent = []struct{ name, why string }{
	{"G9, migration of old snapshots:", "every encoding has its first version; a second version will have to read the golden files that the scripts of `core` decode."},
	{"L12, for departures evenly spaced under a greater burst:", "a leaky queue is a limiter with `wait` and a burst of one, and a leaky bucket has no burst."},
	{"M2 and M3, for stages with results of their own:", "a policy guards one function: a deadline cuts attempts, and a fallback replaces the outcome of a call; there are no required and optional stages."},
	{"M8, a first-token timer that only content disarms:", "there are no timers about streams yet."},
	{"M9, a fallback never mixes two answers:", "a fallback is a fixed answer, not a second source."},
}
