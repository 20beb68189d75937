package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/trace"
)

// eventLine is an event as `sluice eval` reads it.
type eventLine struct {
	At         string            `json:"at"`
	Op         string            `json:"op"`
	ID         json.RawMessage   `json:"id,omitempty"`
	Attempt    uint32            `json:"attempt,omitempty"`
	Outcome    string            `json:"outcome,omitempty"`
	RetryAfter string            `json:"retry_after,omitempty"`
	Used       *uint32           `json:"used,omitempty"`
	Key        string            `json:"key,omitempty"`
	Cost       *uint32           `json:"cost,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Deadline   string            `json:"deadline,omitempty"`
	Policy     json.RawMessage   `json:"policy,omitempty"`
}

// plainOf is an event with its call, empty for none, and its attempt, or its policy, alone.
func plainOf(e *trace.Event, id string) *eventLine {
	return &eventLine{Op: e.Op, ID: json.RawMessage(id), Attempt: e.Attempt, Policy: e.Policy}
}

func callOf(e *trace.Event, id string) *eventLine {
	t := &eventLine{Op: e.Op, ID: json.RawMessage(id), Key: e.Key, Attributes: e.Attributes}
	if e.Cost != 1 {
		t.Cost = &e.Cost
	}
	if e.Deadline >= 0 {
		t.Deadline = e.Deadline.String()
	}
	return t
}

func doneOf(id string, r *drive.Result) *eventLine {
	t := &eventLine{Op: "done", ID: json.RawMessage(id), Attempt: r.Attempt, Outcome: r.Outcome.String()}
	if r.Told {
		t.RetryAfter = r.RetryAfter.String()
	}
	if r.HasUsed {
		t.Used = &r.Used
	}
	return t
}

// write writes an event at the present mark; nil is none.
func (g *group) write(t *eventLine) error {
	if t == nil || g.run.Events == nil {
		return nil
	}
	t.At = time.Duration(g.loop.Now()).String()
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(t); err != nil {
		return err
	}
	_, err := g.run.Events.Write(line.Bytes())
	return err
}

// SeveralError says that the calls of a recording are decided by several policies, of which
// one log of events has one.
type SeveralError struct{ Policies []string }

// Error implements error.
func (e *SeveralError) Error() string {
	return fmt.Sprintf("a log of events has one policy, and these decide the recording: %s", strings.Join(e.Policies, ", "))
}

func names(machines []*Machine) (list []string) {
	for _, m := range machines {
		list = append(list, m.Name)
	}
	return list
}
