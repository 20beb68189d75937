package trace

import (
	"encoding/json"
	"errors"
	"time"
)

// Decision is a line that `sluice eval` prints. Fields that the decision does not have
// are zero; eval/REFERENCE.md says what they mean.
type Decision struct {
	At time.Duration
	// ID is the call, in JSON; empty for none.
	ID         string
	Decision   string
	Outcome    string
	Attempt    uint32
	Step       string
	Reason     string
	Won        uint32
	Until      time.Duration
	RetryAfter time.Duration // negative for none
	Dropped    uint64
	Shadow     bool
	Fallback   bool
	State      string
}

// ReadDecision reads the line of a decision.
func ReadDecision(src []byte) (Decision, error) {
	var l struct {
		At         string          `json:"at"`
		ID         json.RawMessage `json:"id"`
		Decision   string          `json:"decision"`
		Outcome    string          `json:"outcome"`
		Attempt    uint32          `json:"attempt"`
		Step       string          `json:"step"`
		Reason     string          `json:"reason"`
		Won        uint32          `json:"won"`
		Until      string          `json:"until"`
		RetryAfter string          `json:"retry_after"`
		Dropped    uint64          `json:"dropped"`
		Shadow     bool            `json:"shadow"`
		Fallback   bool            `json:"fallback"`
		State      string          `json:"state"`
	}
	if err := json.Unmarshal(src, &l); err != nil {
		return Decision{}, err
	}
	if l.Decision == "" {
		return Decision{}, errors.New("decision: missing")
	}
	d := Decision{
		ID: string(l.ID), Decision: l.Decision, Outcome: l.Outcome, Attempt: l.Attempt, Step: l.Step, Reason: l.Reason, Won: l.Won,
		RetryAfter: -1, Dropped: l.Dropped, Shadow: l.Shadow, Fallback: l.Fallback, State: l.State,
	}
	for _, field := range []struct {
		text string
		to   *time.Duration
	}{{l.At, &d.At}, {l.Until, &d.Until}, {l.RetryAfter, &d.RetryAfter}} {
		if field.text == "" {
			continue
		}
		span, err := time.ParseDuration(field.text)
		if err != nil {
			return Decision{}, err
		}
		*field.to = span
	}
	return d, nil
}
