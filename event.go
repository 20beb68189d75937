package sluice

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
	Kind    EventKind
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
	// Counts of a Change to open by outcomes are those that opened the breaker, whose
	// rate they reached.
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
	// Context is that of the call, nil for an event without a call or of a method
	// without a context. It must not be kept: it may refer to the whole request.
	Context context.Context
	// Action of a Manual is what an operator did through a Handle, one of Actions.
	Action string
	// By and Why of a Manual, and of a Change or Drained that it caused, are those of Handle.By.
	By, Why string
}

// EventKind names what happened.
type EventKind = decision.Kind

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
	EventInject  = decision.Inject  // a chaos step injects latency or a result
	EventStart   = decision.Start   // injected latency is over; the function starts
	EventClamped = decision.Clamped // the end of a call took less permits than the call used
	EventFull    = decision.Full    // a step has its maximum of keys; once for a step until the next Configure

	EventGranted    = decision.Granted    // the wait at a step ended with a permit
	EventSlow       = decision.Slow       // a breaker counted an attempt as slow
	EventDrained    = decision.Drained    // the free permits of a limit were discarded
	EventEvicted    = decision.Evicted    // a key lost its cell to another one
	EventConfigured = decision.Configured // another configuration is active
	EventManual     = decision.Manual     // an operator changed a step or a key, see Handle

	// Of a policy of a Set.
	EventAdded    = decision.Added    // a document has the policy, which the one before did not have
	EventReplaced = decision.Replaced // a document has another policy of the name
	EventRemoved  = decision.Removed  // a document does not have the policy any more
)

// logs returns a listener that writes to the logger.
func logs(logger *slog.Logger) func(Event) {
	return func(e Event) {
		level := slog.LevelDebug
		switch {
		case e.Kind == decision.Change || e.Kind == decision.Full || e.Kind == decision.Manual:
			level = slog.LevelWarn
		case !logger.Enabled(context.Background(), level):
			return
		}
		logger.LogAttrs(context.Background(), level, "sluice", slog.Any("event", e))
	}
}

// loggedKinds are the kinds of events that a logger gets: all but admissions.
func loggedKinds() (kinds []EventKind) {
	for k := EventAdmit; k.String() != EventKind(0).String(); k++ {
		if k != EventAdmit {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// logged is the logger of a pipeline. A call that succeeds on the fast path has no event
// where the logger does not write it.
type logged struct {
	logger *slog.Logger
	*told
}

// Tell implements runner.Teller.
func (l logged) Tell(ctx context.Context, kind EventKind, key string, cost uint32, request string, now clock.Mark, elapsed time.Duration) {
	if l.logger.Enabled(context.Background(), slog.LevelDebug) {
		l.told.Tell(ctx, kind, key, cost, request, now, elapsed)
	}
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
