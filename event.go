package sluice

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// Event is a decision about a call, with the names of the decision log, a change of a
// breaker's state, or a step that has reached its maximum of keys.
type Event struct {
	At      clock.Mark
	Policy  string
	Step    string // empty for Admit, Retry and End
	Key     string // of the step's cell, or the call's own
	Kind    decision.Kind
	Outcome reducer.Outcome // of an End
	Reason  reducer.Reason
	// Mode of a Change is the new state of the breaker. A Change has besides only
	// At, Policy, Step, Key and Reason.
	Mode breaker.Mode
	// Shadow says that the step is in shadow: it enforces nothing.
	Shadow bool
	// Soft says that a Timeout is the soft limit of a step, which cuts nothing.
	Soft bool
	// Fallback says that the policy has a fallback and that it replaces the
	// answer of this call, which an End, Reject or Expire ends.
	Fallback bool
	Attempt  uint32
	// Won of an End with outcome ok or ignore is the attempt whose result the call
	// returns; 0 under a policy without a hedge.
	Won uint32
	// Elapsed is how long the call has taken so far.
	Elapsed time.Duration
	// Wait is the longest wait of a Wait, the delay of a Retry.
	Wait time.Duration
	// RetryAfter of a Reject; negative where there is none.
	RetryAfter time.Duration
	// Note of an End is the caller's own reason not to retry, of an Admit the one
	// not to hedge: see Request.NoRetry and Request.NoHedge.
	Note string
}

// The kinds of events.
const (
	EventAdmit   = decision.Admit   // an attempt starts
	EventWait    = decision.Wait    // the attempt is in the queue of a step
	EventReject  = decision.Reject  // a step refuses; the call is over
	EventExpire  = decision.Expire  // the wait at a step ended without a permit; the call is over
	EventTimeout = decision.Timeout // a timeout step cut the call, or its soft limit passed
	EventLapse   = decision.Lapse   // the lease of a place ran out
	EventRetry   = decision.Retry   // the attempt is over, another one follows
	EventEnd     = decision.End     // the call is over
	EventHedge   = decision.Hedge   // another attempt of a round starts beside one that runs
	EventFailed  = decision.Failed  // an attempt of a round failed while another one is active
	EventCancel  = decision.Cancel  // an attempt of a round lost to another one
	EventDrop    = decision.Drop    // an attempt of a round was refused, or its wait ended, while another one is active
	EventChange  = decision.Change  // a breaker is in another state
	EventFull    = decision.Full    // a step has its maximum of keys; once for a step until the next Configure
)

// logs returns a listener that writes to the logger.
func logs(logger *slog.Logger) func(Event) {
	return func(e Event) {
		level := slog.LevelDebug
		switch {
		case e.Kind == decision.Change || e.Kind == decision.Full:
			level = slog.LevelWarn
		case e.Kind == decision.Admit || !logger.Enabled(context.Background(), level):
			return
		}
		logger.LogAttrs(context.Background(), level, "sluice", slog.Any("event", e))
	}
}

// LogValue implements slog.LogValuer: the fields that the event has.
func (e Event) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("policy", e.Policy)}
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("decision", e.Kind.String())
	text("step", e.Step)
	text("key", e.Key)
	if e.Kind == decision.Change {
		text("state", e.Mode.String())
	}
	text("outcome", e.Outcome.String())
	text("reason", e.Reason.String())
	text("note", e.Note)
	if e.Attempt > 0 {
		attrs = append(attrs, slog.Uint64("attempt", uint64(e.Attempt)))
	}
	if e.Wait > 0 {
		attrs = append(attrs, slog.Duration("wait", e.Wait))
	}
	if e.Kind == decision.Reject && e.RetryAfter >= 0 {
		attrs = append(attrs, slog.Duration("retry_after", e.RetryAfter))
	}
	if e.Elapsed > 0 {
		attrs = append(attrs, slog.Duration("elapsed", e.Elapsed))
	}
	if e.Shadow {
		attrs = append(attrs, slog.Bool("shadow", true))
	}
	if e.Soft {
		attrs = append(attrs, slog.Bool("soft", true))
	}
	if e.Fallback {
		attrs = append(attrs, slog.Bool("fallback", true))
	}
	return slog.GroupValue(attrs...)
}
