package sluice

import (
	"context"
	"log/slog"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/core/decision"
)

// Event is a decision about a call, or what happened to a step or a mechanism.
type Event = api.Event

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
