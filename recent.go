package sluice

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// ListenerGroup ends several listeners together. Its zero value is ready:
//
//	var group sluice.ListenerGroup
//	group.Add(set.Observe(&metrics))
//	group.Add(breaker.Listen(recent.Observe, sluice.EventChange))
//	defer group.Stop()
type ListenerGroup struct {
	mu      sync.Mutex
	stops   []func()
	stopped bool
}

// Add adds a listener by the function that stops it, nil for none. After Stop it stops it
// at once.
func (g *ListenerGroup) Add(stop func()) {
	if stop == nil {
		return
	}
	g.mu.Lock()
	stopped := g.stopped
	if !stopped {
		g.stops = append(g.stops, stop)
	}
	g.mu.Unlock()
	if stopped {
		stop()
	}
}

// Stop stops all listeners of the group, and no others.
func (g *ListenerGroup) Stop() {
	g.mu.Lock()
	stops := g.stops
	g.stops, g.stopped = nil, true
	g.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// RecordedEvent is an event that a Recent or a Stream has received. Its event has no
// Context.
type RecordedEvent struct {
	// Number counts the events of a Recent or a Stream from 1 on. A gap in the events of
	// a Stream is where it dropped some.
	Number uint64 `json:"number"`
	// Time is when the event was received.
	Time  time.Time `json:"time"`
	Event Event     `json:"event"`
}

// String returns the event in one line for people, with the time of day.
func (r RecordedEvent) String() string {
	return r.Time.Format("15:04:05.000") + " " + r.Event.String()
}

// DefaultRecent is how many events a Recent keeps where NewRecent is not told.
const DefaultRecent = 256

// Recent keeps the last events. Attach it with set.Listen(recent.Observe, kinds...). It is
// safe for concurrent use. Errors of events are kept with them. Its zero value keeps
// DefaultRecent of them.
type Recent struct {
	mu      sync.Mutex
	ring    []RecordedEvent // the event of number n is at (n - 1) % most
	most    int             // 0 for DefaultRecent
	number  uint64          // of the latest event
	streams []*Stream       // replaced, never changed
}

// NewRecent makes a Recent of the last n events, of DefaultRecent where n is below 1.
func NewRecent(n int) *Recent {
	return &Recent{most: max(0, n)}
}

// size returns how many events it keeps.
func (r *Recent) size() uint64 { return uint64(cmp.Or(r.most, DefaultRecent)) }

// Observe keeps an event.
func (r *Recent) Observe(e Event) {
	e.Context = nil
	x := RecordedEvent{Time: time.Now(), Event: e}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	x.Number = r.number
	if n := r.size(); r.number <= n {
		r.ring = append(r.ring, x)
	} else {
		r.ring[(r.number-1)%n] = x
	}
	for _, s := range r.streams {
		s.send(x)
	}
}

// Events returns the last events, the oldest first.
func (r *Recent) Events() []RecordedEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since(0)
}

// since returns the kept events after a number. The caller holds the lock.
func (r *Recent) since(number uint64) []RecordedEvent {
	kept := uint64(len(r.ring))
	number = max(number, r.number-kept)
	if number >= r.number {
		return nil
	}
	events := make([]RecordedEvent, 0, r.number-number)
	for ; number < r.number; number++ {
		events = append(events, r.ring[number%r.size()])
	}
	return events
}

// Follow returns a stream of the kept events after a number, 0 for all of them, and of
// those to come: none is missing between the two, and none comes twice. A reader that
// comes back continues after the last number that it has seen. The stream has room for
// buffer events beside the kept ones. Stop ends it.
func (r *Recent) Follow(after uint64, buffer int) *Stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.since(after)
	s := newStream(len(kept) + min(max(0, buffer), maxStream))
	s.leave = func() { r.leave(s) }
	for _, x := range kept {
		s.send(x)
	}
	r.streams = append(r.streams, s)
	return s
}

func (r *Recent) leave(s *Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range r.streams {
		if x == s {
			r.streams = append(r.streams[:i:i], r.streams[i+1:]...)
			return
		}
	}
}

// Stream is a bounded queue of events for one reader, which never holds up the calls
// whose events it gets: an event that finds the queue full is dropped and counted. It is
// safe for concurrent use. NewStream makes one; a zero Stream drops every event.
type Stream struct {
	events  chan RecordedEvent
	stopped chan struct{}
	once    sync.Once
	leave   func() // nil for a stream of its own
	dropped atomic.Uint64

	mu     sync.Mutex // an event has its number and its place in the queue together
	number uint64     // of the latest event of Observe
}

// maxStream is the greatest room of a stream beside kept events.
const maxStream = 1_000_000

// NewStream makes a stream with room for buffer events, 1 to 1,000,000: the nearest of them
// where buffer is another number. Attach it with set.Listen(stream.Observe, kinds...).
func NewStream(buffer int) *Stream { return newStream(min(buffer, maxStream)) }

func newStream(buffer int) *Stream {
	return &Stream{events: make(chan RecordedEvent, max(1, buffer)), stopped: make(chan struct{})}
}

// Observe puts an event into the queue, or drops it.
func (s *Stream) Observe(e Event) {
	e.Context = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.send(RecordedEvent{Number: s.number, Time: time.Now(), Event: e})
}

func (s *Stream) send(x RecordedEvent) {
	select {
	case s.events <- x:
	default:
		s.dropped.Add(1)
	}
}

// Events yields the events in their order, and waits for more until the context is over
// or the stream is stopped. Several readers share the events.
func (s *Stream) Events(ctx context.Context) iter.Seq[RecordedEvent] {
	return func(yield func(RecordedEvent) bool) {
		for {
			select {
			case <-s.stopped:
				return
			case <-ctx.Done():
				return
			default:
			}
			select {
			case x := <-s.events:
				if !yield(x) {
					return
				}
			case <-s.stopped:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// Dropped returns how many events found the queue full.
func (s *Stream) Dropped() uint64 { return s.dropped.Load() }

// Stop ends the stream for its readers.
func (s *Stream) Stop() {
	s.once.Do(func() {
		if s.stopped != nil {
			close(s.stopped)
		}
		if s.leave != nil {
			s.leave()
		}
	})
}
