package eval

import (
	"encoding/json"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Event is a line of a log as Run reads it, for programs that decide logs in another way.
// Fields that the Op does not have are zero.
type Event struct {
	At clock.Mark
	// Op is call, done, renew, cancel, tick or configure.
	Op string
	// ID is the call, in canonical JSON: a number as it was read, or a text in quotes. In a
	// trace of several policies a tick and a configure have the name of their policy.
	ID         string
	Key        string
	Cost       uint32
	Attributes map[string]string
	// Deadline of a call; negative for none.
	Deadline time.Duration
	// Attempt of a done or renew, 0 for the lowest one that runs.
	Attempt uint32
	Outcome reducer.Outcome
	// Told says that a done has a RetryAfter.
	Told       bool
	RetryAfter time.Duration
	// HasUsed says that a done has a Used.
	HasUsed bool
	Used    uint32
	// Policy is the body of a configure, which has not been read.
	Policy json.RawMessage
}

// Read reads one line of a log. Its error is what Run says about the line.
func Read(src []byte) (Event, error) {
	var b bodies
	e, err := read(src, &b)
	if err != nil {
		return Event{}, err
	}
	return Event{
		At: e.at, Op: e.op, ID: e.id, Key: e.key, Cost: e.cost, Attributes: e.attributes, Deadline: e.deadline,
		Attempt: e.attempt, Outcome: e.outcome, Told: e.told, RetryAfter: e.retryAfter,
		HasUsed: e.hasUsed, Used: e.used, Policy: b.last,
	}, nil
}

// Lookup returns the value of an attribute of a call, "key" included.
func (e *Event) Lookup(attribute string) string {
	inner := event{key: e.Key, attributes: e.Attributes}
	return inner.lookup(attribute)
}

// bodies keeps the bodies of policies unread.
type bodies struct {
	decider
	last json.RawMessage
}

func (b *bodies) compile(_ string, body []byte) (func() error, error) {
	b.last = body
	return nil, nil
}
