package serve

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/operate"
	"github.com/sluice-go/sluice/core/breaker"
)

const (
	// keptEvents is how many events are kept for those who ask later.
	keptEvents = 500
	// streamEvents is how many events wait for a slow reader of a stream.
	streamEvents = 256
	// mostStreams is how many readers there may be at a time.
	mostStreams = 32
	// mostBreakers is how many breakers of keys the list of breakers has.
	mostBreakers = 1000
)

// notable are the kinds that concern more than one request. Their events are kept. Events of
// requests are not: there may be a hundred thousand a second.
var notable = []sluice.EventKind{
	sluice.EventChange, sluice.EventManual, sluice.EventFull, sluice.EventAdded, sluice.EventReplaced, sluice.EventRemoved,
}

// isNotable reports whether an event concerns more than one request.
func isNotable(k sluice.EventKind) bool { return slices.Contains(notable, k) }

// tail is a reader of events: of the kept ones and those to come.
type tail struct {
	stream *sluice.Stream
	stops  sluice.ListenerGroup
	// Numbers of the latest event of Recent, and of the latest one of a request, which the
	// stream numbers.
	latest, latestOfRequests uint64
}

// follow returns a tail that begins after the event that an identifier of the stream
// names, or with all kept ones.
func (o *operator) follow(id string, detailed bool) *tail {
	after := o.after(id)
	t := &tail{stream: o.recent.Follow(after, streamEvents), latest: after}
	if detailed {
		t.stops.Add(o.set.Listen(func(e sluice.Event) {
			if !isNotable(e.Kind) {
				t.stream.Observe(e)
			}
		}))
	}
	return t
}

// stop ends the tail.
func (t *tail) stop() {
	t.stops.Stop()
	t.stream.Stop()
}

// event returns an event of the stream with how many were dropped before it.
func (t *tail) event(x *sluice.RecordedEvent) operate.Event {
	latest := &t.latestOfRequests
	if isNotable(x.Event.Kind) {
		latest = &t.latest
	}
	out := eventOf(x)
	out.Lost = x.Number - *latest - 1
	*latest = x.Number
	return out
}

// id returns the identifier of a kept event in a stream. It names the process, because
// the next one counts from 1 again.
func (o *operator) id(number uint64) string { return o.process + "-" + strconv.FormatUint(number, 10) }

// after returns the number that an identifier has, and for any other text the one before
// the oldest kept event.
func (o *operator) after(id string) (before uint64) {
	latest := uint64(0)
	if kept := o.recent.Events(); len(kept) > 0 {
		before, latest = kept[0].Number-1, kept[len(kept)-1].Number
	}
	process, number, _ := strings.Cut(id, "-")
	if n, err := strconv.ParseUint(number, 10, 64); err == nil && process == o.process && n <= latest {
		return n
	}
	return before
}

// last returns at most n of the kept events, the oldest first.
func (o *operator) last(n int) []operate.Event {
	kept := o.recent.Events()
	kept = kept[max(0, len(kept)-n):]
	list := make([]operate.Event, len(kept))
	for i := range kept {
		list[i] = eventOf(&kept[i])
	}
	return list
}

func eventOf(x *sluice.RecordedEvent) operate.Event {
	e := &x.Event
	out := operate.Event{
		N: x.Number, At: x.Time, Kind: e.Kind.String(), Policy: e.Policy, Step: e.Step, Key: e.Key, Reason: e.Reason.String(),
		Outcome: e.Outcome.String(), Action: e.Action, By: e.By, Why: e.Why, Attempt: e.Attempt, Shadow: e.Shadow,
	}
	if e.Kind == sluice.EventChange || e.Action == sluice.ActionTransition {
		out.Mode = e.Mode.String()
	}
	if e.Wait > 0 {
		out.Wait = e.Wait.String()
	}
	if e.RetryAfter >= 0 && e.Kind == sluice.EventReject {
		out.RetryAfter = e.RetryAfter.String()
	}
	return out
}

// keyBreakers has when breakers of keys changed that are not closed. Clients may choose
// keys, so their number is bounded.
type keyBreakers struct {
	mu      sync.Mutex
	changes map[keyBreaker]time.Time
}

type keyBreaker struct{ policy, step, key string }

// observe is a listener for changes.
func (b *keyBreakers) observe(e sluice.Event) {
	if e.Key == "" {
		return
	}
	name := keyBreaker{e.Policy, e.Step, e.Key}
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Mode == breaker.Closed {
		delete(b.changes, name)
		return
	}
	if _, known := b.changes[name]; known || len(b.changes) < mostBreakers {
		b.changes[name] = time.Now()
	}
}

// all returns the breakers with the times of their changes.
func (b *keyBreakers) all() map[keyBreaker]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.changes)
}

// forget makes room where a breaker has not changed again since a time: its key has lost
// its state.
func (b *keyBreakers) forget(name keyBreaker, changed time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changes[name].Equal(changed) {
		delete(b.changes, name)
	}
}
