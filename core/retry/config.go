package retry

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/mechanism"
)

// MaxAttempts is the most attempts of a call.
const MaxAttempts = 1_000

// Refusals says what follows when a step below the retry refuses an attempt.
type Refusals uint8

const (
	// EndRefused ends the call with the refusal.
	EndRefused Refusals = iota
	// WaitRefused waits where the refusal has a retry-after: it uses up one of the
	// attempts, and the next one starts not before that time. The call ends with the
	// refusal where none follows.
	WaitRefused
)

// Config is the configuration of a retry.
type Config struct {
	// Attempts in all, the first included. 1 to MaxAttempts.
	Attempts uint32
	// Backoff between attempts.
	Backoff backoff.Config
	// MaxElapsed: no attempt starts that long or longer after the call reached the
	// retry. One that runs goes on. 0 for no bound.
	MaxElapsed time.Duration
	// Refusals says what follows a refusal by a step below the retry.
	Refusals Refusals
	// Budgeted says that Budget holds.
	Budgeted bool
	// Budget for retries, shared by all calls of the step.
	Budget budget.Config
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	return []mechanism.Doc{
		{
			Name: "attempts", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxAttempts}, Field: "Attempts", Needed: true,
			Effect: mechanism.Looser, Value: `3`, Example: "attempts: 5",
			Meaning: "attempts in all, the first included: 3 attempts are 2 retries. In a policy with a hedge: rounds. [Only the start](#retries) of an attempt must be before the deadline",
			Larger:  "survives longer faults; multiplies the load on a dependency that fails",
			Smaller: "less load, more errors for the caller",
		},
		{
			Name: "backoff", Is: mechanism.Setting{Type: mechanism.Backoff}, Field: "Backoff",
			Effect: mechanism.Tighter, Value: `{"exponential":"500ms","factor":2,"max":"1m"}`, Example: "backoff: {constant: 1s}",
			Meaning: "the delay between the end of an attempt and the start of the next",
			Larger:  "the dependency has time to recover; calls take longer",
			Smaller: "shorter calls; more load while the dependency fails",
		},
		{
			Name: "jitter", Is: mechanism.Setting{Type: mechanism.Jitter}, Field: "Backoff",
			Value: `"full"`, Default: "`full`; `none` beside `backoff: none` and `decorrelated`, which take no other", Example: "jitter: 20%",
			Meaning: "the random part of the delay d: `full` draws from 0 to d, `equal` from d/2 to d, `20%` from d - 20% to d + 20%",
			Larger:  "retries of many callers spread further",
			Smaller: "the delay is predictable; retries of many callers coincide",
		},
		{
			Name: "max_elapsed", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "MaxElapsed",
			Effect: mechanism.Looser, Example: "max_elapsed: 10s",
			Meaning: "no attempt starts that long or longer [after the call reached the retry](#retries). An attempt that runs goes on; a `timeout` above cuts it",
			Larger:  "survives longer faults",
			Smaller: "the caller learns of a failure sooner",
		},
		{
			Name: "refusals", Is: mechanism.Setting{Type: mechanism.Word, Words: "end wait"}, Field: "Refusals",
			Value: `"end"`, Example: "refusals: wait",
			Meaning: "what a refusal by a step below the retry does to the call: `end` ends it; `wait` [waits](#refusals-that-are-waited-for) for the refusal's `retry_after`, uses up one of the `attempts`, and repeats no request",
		},
		{
			Name: "budget", Is: mechanism.Setting{Type: mechanism.Budget}, Field: "Budget,Budgeted",
			Effect: mechanism.Looser, Value: `"none"`, Example: "budget: 20%",
			Meaning: "how many retries all calls of the step may have together",
		},
		{
			Name: "methods", Is: mechanism.Setting{Type: mechanism.Methods},
			Effect: mechanism.Looser, Value: `["GET","HEAD","PUT","DELETE","OPTIONS","TRACE"]`, Example: "methods: [GET]",
			Meaning: "the methods that HTTP runtimes repeat",
		},
	}
}
