package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// Event is a decision about a call, with the names of the decision log, or what happened
// to a step or a mechanism. docs/events.md lists the fields of each kind; the others are
// zero.
type Event struct {
	At     clock.Mark
	Policy string // empty for a mechanism alone
	Step   string // empty for Admit, Retry, End, Configured, Added, Replaced and Removed of a policy
	Key    string // of the step's cell, or the call's own
	// Request is the identifier of the request: Request.ID, or what WithRequestID
	// returns.
	Request string
	Kind    decision.Kind
	Outcome reducer.Outcome // of an End; of an Inject without Wait
	Reason  reducer.Reason
	// Mode of a Change is the new state of the breaker.
	Mode breaker.Mode
	// Shadow says that the step is in shadow: it enforces nothing.
	Shadow bool
	// Soft says that a Timeout is the soft limit of a step, which cuts nothing.
	Soft bool
	// Slow of a Change to open says that the slow calls reached their rate, and the
	// failures did not.
	Slow bool
	// Manual of a Change says that an operator moved the breaker, or reset it.
	Manual bool
	// Fallback says that the policy has a fallback and that it replaces the
	// answer of this call, which an End, Reject or Expire ends.
	Fallback bool
	Attempt  uint32
	// Won of an End with outcome ok or ignore is the attempt whose result the call
	// returns; 0 under a policy without a hedge.
	Won uint32
	// Cost is how many permits the call asks for.
	Cost uint32
	// Dropped of a Clamped is how many permits were used and not taken.
	Dropped uint64
	// Counts of a Change to open by outcomes are the outcomes that opened the breaker.
	Counts breaker.Counts
	// Elapsed is how long the call has taken so far, of an End of a Bulkhead how long
	// the place was held. It is 0 where a Breaker or a Bulkhead had no listener when the
	// call began and did not need the time.
	Elapsed time.Duration
	// Wait is the longest wait of a Wait, 0 without a bound, how long the wait of a Granted or an Expire
	// was, the delay of a Retry, the latency of an Inject without an Outcome, and how
	// long the attempt of a Slow took.
	Wait time.Duration
	// RetryAfter of a Reject or an Inject; negative where there is none.
	RetryAfter time.Duration
	// Note of an End is the caller's own reason not to retry, of an Admit the one
	// not to hedge: see Request.NoRetry and Request.NoHedge.
	Note string
	// Err is the error of the attempt that a Retry or a Failed ends, of the last attempt
	// of a call that an End, Reject or Expire ends, and the TimeoutError of a Timeout.
	// nil where there is none, and for a Call, whose caller names an outcome alone.
	Err error
	// Context is the context of the call, nil for an event without a call or of a method
	// without a context. It must not be kept: it may refer to the whole request.
	Context context.Context
	// Action of a Manual is what an operator did through a Handle, one of Actions.
	Action string
	// By and Why of a Manual, and of a Change or Drained that it caused, are what Handle.By named.
	By, Why string
}

// The actions of an EventManual, for Event.Action.
const (
	ActionTransition = "transition"
	ActionReset      = "reset"
	ActionDrain      = "drain"
	ActionConfigure  = "configure"
	ActionForget     = "forget"
	ActionBlock      = "block"
	ActionUnblock    = "unblock"
	ActionForgive    = "forgive"
)

// Observer gets the events of pipelines. It gets the events of most calls as the few fields that
// metrics need: to make an Event of them costs more than to count them. Each event comes
// to one method.
type Observer interface {
	// Observe gets an event that comes to no other method.
	Observe(Event)
	// Admitted gets the EventAdmit of the first attempt of a call that was admitted at
	// once. A pipeline may give such an event to Observe.
	Admitted(policy string)
	// Succeeded gets the EventEnd with outcome ok of such an attempt, with the Context and
	// the Elapsed of the event. A pipeline may give such an event to Observe.
	Succeeded(policy string, ctx context.Context, elapsed time.Duration)
}

// LogValue implements slog.LogValuer: the fields that the event has.
func (e Event) LogValue() slog.Value { return slog.GroupValue(e.fields()...) }

// MarshalJSON implements json.Marshaler: an object of the fields that LogValue has, with
// durations as in the decision log, for example "1.5s".
func (e Event) MarshalJSON() ([]byte, error) {
	dst := []byte{'{'}
	for i, a := range e.fields() {
		if i > 0 {
			dst = append(dst, ',')
		}
		value := a.Value.Any()
		if d, ok := value.(time.Duration); ok {
			value = d.String()
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		dst = append(append(strconv.AppendQuote(dst, a.Key), ':'), text...)
	}
	return append(dst, '}'), nil
}

// fields returns the fields that the event has, in order.
func (e *Event) fields() []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	count := func(name string, n uint32) {
		if n > 0 {
			attrs = append(attrs, slog.Uint64(name, uint64(n)))
		}
	}
	flag := func(name string, set bool) {
		if set {
			attrs = append(attrs, slog.Bool(name, true))
		}
	}
	text("policy", e.Policy)
	text("decision", e.Kind.String())
	text("step", e.Step)
	text("key", e.Key)
	text("request", e.Request)
	if e.Kind == decision.Change || e.Action == ActionTransition {
		text("state", e.Mode.String())
		count("calls", e.Counts.Calls)
		count("failed", e.Counts.Failed)
		count("slow_calls", e.Counts.Slow)
		if e.Counts.Calls > 0 {
			text("failure_rate", e.Counts.FailureRate.String())
			text("slow_rate", e.Counts.SlowRate.String())
		}
	}
	text("outcome", e.Outcome.String())
	text("reason", e.Reason.String())
	text("note", e.Note)
	count("attempt", e.Attempt)
	count("won", e.Won)
	if e.Cost != 1 {
		count("cost", e.Cost)
	}
	if e.Dropped > 0 {
		attrs = append(attrs, slog.Uint64("dropped", e.Dropped))
	}
	text("action", e.Action)
	text("by", e.By)
	text("why", e.Why)
	if e.Wait > 0 {
		attrs = append(attrs, slog.Duration("wait", e.Wait))
	}
	if (e.Kind == decision.Reject || e.Kind == decision.Inject) && e.RetryAfter >= 0 {
		attrs = append(attrs, slog.Duration("retry_after", e.RetryAfter))
	}
	if e.Elapsed > 0 {
		attrs = append(attrs, slog.Duration("elapsed", e.Elapsed))
	}
	if e.Err != nil {
		text("error", e.Err.Error())
	}
	flag("slow", e.Slow)
	flag("manual", e.Manual)
	flag("shadow", e.Shadow)
	flag("soft", e.Soft)
	flag("fallback", e.Fallback)
	return attrs
}
