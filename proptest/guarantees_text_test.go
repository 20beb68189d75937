package proptest

// The words of GUARANTEES.md that do not come from the table.

const introduction = `# Guarantees

What holds of Sluice, each with a check that runs in the tests and with a small defect on which that check fires.
This page is made from the table in [proptest](proptest) and held against it by a test: a row that is not checked
cannot be here.

**%d invariants, %d checks**: %d properties, %d differential, %d scripts, %d explorations.

- **property**: on random histories of actions and marks, dense enough that much falls on one nanosecond. What fails
  is shrunk to a short history. A check whose situation the histories hardly ever come to fails as well.
- **differential**: the same, against a second implementation that is written to be read and does everything the slow way.
- **script**: one written history, mostly from a bug report.
- **exploration**: every history of a small configuration up to a depth; for most up to where nothing new can be reached.
- **fails on** is the mutant: the machine with one small defect of a kind that happens. The tests fail when a check
  does not catch its mutant, so that no check is empty.
- **reported in** names public reports of what happens where it does not hold.

All of it runs with ` + "`go test ./proptest`" + ` in less than a minute, with the same histories every time. Others, and more of them:
` + "`SLUICE_SEED=42 SLUICE_TIMES=10 go test ./proptest`" + `. This page: ` + "`go test ./proptest -run TestGuarantees -rewrite`" + `.
`

// group is a section of the page.
type group struct{ letter, title, about string }

var groups = []group{
	{"G", "Every mechanism", "What lets a driver, a store, a simulator or a snapshot trust a mechanism without knowing which one it is."},
	{"L", "Rate limiters", "Token bucket (kept as GCRA), fixed window, sliding counter, sliding log, leaky bucket, each alone and behind a queue."},
	{"B", "Circuit breaker", "With a window of calls, of time, or of failures in a row."},
	{"R", "Retry, backoff, budget", "How often, when, and whether at all."},
	{"K", "Bulkhead and queues", "Places with leases, and who waits for them; the queue before a limiter is the same one."},
	{"A", "Adaptive limits", "A concurrency limit by additive increase and multiplicative decrease."},
	{"M", "Pipelines", "Steps that are put together, with calls under way."},
}

// reports are the public reports that show why an invariant matters.
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

// absent are invariants, and parts of some, that there is nothing to hold
// against yet.
var absent = []struct{ name, why string }{
	{"G9, migration of old snapshots:", "every encoding is in its first version; the golden files that the scripts of `core` decode are what a second one will have to read."},
	{"L9, a sliding log admits at most its count in any trailing window:", "there is no sliding log yet."},
	{"L12, for costs above one and for departures evenly spaced under a greater burst:", "a leaky queue is a limiter with `wait` and a burst of one; shaping has no mechanism of its own."},
	{"M2 and M3, for stages with results of their own:", "a policy guards one function, so what a deadline leaves are attempts, and what degrades is a call that has a fallback; there are no required and optional stages."},
	{"M8, a first-token timer that only content disarms:", "there are no timers about streams yet."},
	{"M9, a fallback never mixes two answers:", "a fallback is a fixed answer and no second source."},
}
