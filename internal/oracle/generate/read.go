package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
)

// rawEvent is a line of a log.
type rawEvent struct {
	At, Op, Key, Outcome string
	ID                   json.RawMessage
	Cost                 *uint32
	Attempt              int
	Attributes           map[string]string
	Deadline             *string
	RetryAfter           *string `json:"retry_after"`
	Used                 *int64
	Policy               json.RawMessage
}

// ReadEvents reads a log of the form that EventsJSON prints: marks and durations
// are texts without days. The policies of its configures are read by the given
// function.
func ReadEvents(src []byte, policy func([]byte) (pipeline.Policy, error)) ([]oracle.Event, error) {
	var log []oracle.Event
	for line := range bytes.Lines(src) {
		e, err := readEvent(line, policy)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		log = append(log, e)
	}
	return log, nil
}

func readEvent(line []byte, policy func([]byte) (pipeline.Policy, error)) (oracle.Event, error) {
	var raw rawEvent
	if err := json.Unmarshal(line, &raw); err != nil {
		return oracle.Event{}, err
	}
	e := oracle.Event{
		Op: raw.Op, ID: string(raw.ID), Key: raw.Key, Cost: 1, Attributes: raw.Attributes,
		Attempt: raw.Attempt, Outcome: raw.Outcome, Used: raw.Used,
	}
	if raw.Cost != nil {
		e.Cost = *raw.Cost
	}
	at, err := readSpan(&raw.At)
	if err != nil {
		return e, err
	}
	e.At = *at
	if e.Deadline, err = readSpan(raw.Deadline); err != nil {
		return e, err
	}
	if e.RetryAfter, err = readSpan(raw.RetryAfter); err != nil {
		return e, err
	}
	if raw.Policy != nil {
		p, err := policy(raw.Policy)
		if err != nil {
			return e, err
		}
		e.Policy = &p
	}
	return e, nil
}

func readSpan(text *string) (*int64, error) {
	if text == nil {
		return nil, nil
	}
	d, err := time.ParseDuration(*text)
	return pointer(int64(d)), err
}
