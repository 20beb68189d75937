package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// line is a line of input as JSON has it.
type line struct {
	At         json.RawMessage   `json:"at"`
	Op         string            `json:"op"`
	ID         json.RawMessage   `json:"id"`
	Key        string            `json:"key"`
	Cost       json.RawMessage   `json:"cost"`
	Attempt    json.RawMessage   `json:"attempt"`
	Attributes map[string]string `json:"attributes"`
	Deadline   json.RawMessage   `json:"deadline"`
	Outcome    string            `json:"outcome"`
	RetryAfter json.RawMessage   `json:"retry_after"`
	Used       json.RawMessage   `json:"used"`
	Policy     json.RawMessage   `json:"policy"`
}

// Event is a line of a log as `sluice eval` reads it.
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

// Lookup returns the value of an attribute of a call, "key" included. The names of header fields are the
// same in any case (RFC 9110, section 5.1).
func (e *Event) Lookup(attribute string) string {
	if attribute == "key" {
		return e.Key
	}
	if value, ok := e.Attributes[attribute]; ok || !strings.HasPrefix(attribute, "header:") {
		return value
	}
	least, found := "", ""
	for name, value := range e.Attributes {
		if strings.EqualFold(name, attribute) && (least == "" || name < least) {
			least, found = name, value
		}
	}
	return found
}

const ops = "call, done, renew, cancel, tick, configure"

// ReadEvent reads one line of a log. Its error is what `sluice eval` says about the line.
func ReadEvent(src []byte) (e Event, err error) {
	var l line
	if !plain(src, &l) {
		l = line{}
		if err := decode(src, &l); err != nil {
			return Event{}, err
		}
	}
	if err := e.read(&l); err != nil {
		return Event{}, err
	}
	return e, nil
}

func (e *Event) read(l *line) (err error) {
	if e.At, err = mark("at", l.At); err != nil {
		return err
	}
	e.Op = l.Op
	switch l.Op {
	case "call":
		return e.readCall(l)
	case "done":
		return e.readDone(l)
	case "renew":
		if e.ID, err = identity(l.ID); err != nil {
			return err
		}
		return e.readAttempt(l)
	case "cancel":
		e.ID, err = identity(l.ID)
		return err
	case "tick":
		e.readPolicy(l)
		return nil
	case "configure":
		e.readPolicy(l)
		if e.Policy = l.Policy; !present(l.Policy) {
			return errors.New(`policy: missing; allowed: an object with steps`)
		}
		return nil
	case "":
		return errors.New("op: missing; allowed: " + ops)
	}
	return fmt.Errorf("op: found %q; allowed: %s", l.Op, ops)
}

// decode reads any line.
func decode(src []byte, l *line) error {
	if !utf8.Valid(src) {
		return errors.New("found bytes that are not UTF-8; allowed: UTF-8")
	}
	if err := once(src); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(l); err != nil {
		return explain(err, src)
	}
	if decoder.InputOffset() != int64(len(bytes.TrimRight(src, " \t\r\n"))) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// once returns an error for an object in which a name occurs twice, of which
// encoding/json takes the last one. What is no JSON at all is left to decode.
func once(src []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.UseNumber()
	// The names of the objects that are open, nil for an array. A name follows in
	// an object where one is next.
	var open []map[string]bool
	name := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil
		}
		top := len(open) - 1
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open, name = append(open, map[string]bool{}), true
				continue
			case '[':
				open = append(open, nil)
			default:
				open = open[:top]
			}
		case string:
			if name {
				if open[top][t] {
					return fmt.Errorf("%s: found twice; allowed: once", t)
				}
				open[top][t], name = true, false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}

func (e *Event) readCall(l *line) (err error) {
	if e.ID, err = identity(l.ID); err != nil {
		return err
	}
	e.Key, e.Attributes, e.Cost, e.Deadline = l.Key, l.Attributes, 1, -1
	if present(l.Cost) {
		if e.Cost, err = permits("cost", l.Cost); err != nil {
			return err
		}
	}
	if present(l.Deadline) {
		if e.Deadline, err = duration("deadline", l.Deadline); err != nil {
			return err
		}
		if e.Deadline < 0 {
			return fmt.Errorf("deadline: found %s; allowed: 0 or more", e.Deadline)
		}
	}
	return nil
}

func (e *Event) readDone(l *line) (err error) {
	if e.ID, err = identity(l.ID); err != nil {
		return err
	}
	switch l.Outcome {
	case "ok":
		e.Outcome = reducer.OK
	case "fail":
		e.Outcome = reducer.Fail
	case "throttle":
		e.Outcome = reducer.Throttle
	case "ignore":
		e.Outcome = reducer.Ignore
	default:
		return fmt.Errorf("outcome: found %q; allowed: ok, fail, throttle, ignore", l.Outcome)
	}
	if present(l.RetryAfter) {
		e.Told = true
		if e.RetryAfter, err = duration("retry_after", l.RetryAfter); err != nil {
			return err
		}
	}
	if present(l.Used) {
		e.HasUsed = true
		if e.Used, err = permits("used", l.Used); err != nil {
			return err
		}
	}
	return e.readAttempt(l)
}

// readAttempt reads the number of an attempt. Numbers above the greatest uint32 count
// as that: no attempt has such a number.
func (e *Event) readAttempt(l *line) error {
	if !present(l.Attempt) {
		return nil
	}
	n, err := strconv.ParseUint(string(l.Attempt), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n == 0 {
		return fmt.Errorf("attempt: found %s; allowed: a whole number, 1 or more", l.Attempt)
	}
	e.Attempt = uint32(min(n, math.MaxUint32))
	return nil
}

// readPolicy reads the id with which a log of several policies names the policy of the event.
// It has no meaning in a log of one policy, so any id is right there.
func (e *Event) readPolicy(l *line) {
	if id, err := identity(l.ID); err == nil {
		e.ID = id
	}
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// identity returns an id in one canonical form, so that equal ids are equal
// however they are escaped.
func identity(raw json.RawMessage) (string, error) {
	switch {
	case !present(raw):
		return "", errors.New("id: missing; allowed: a number or a string")
	case raw[0] == '"':
		if _, ok := unquoted(raw); ok {
			return string(raw), nil
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", errors.New("id: " + err.Error())
		}
		return quoted(text), nil
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw), nil
	}
	return "", fmt.Errorf("id: found %s; allowed: a number or a string", raw)
}

// quoted returns a string as JSON writes it, with <, > and & as they are.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	// A text encodes, and a strings.Builder accepts all bytes.
	_ = encoder.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// permits reads a number of permits. Those above every capacity need not be
// distinguished.
func permits(field string, raw json.RawMessage) (uint32, error) {
	text := string(raw)
	cost, err := strconv.ParseUint(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s: found %s; allowed: a whole number, 0 or more", field, text)
	}
	return uint32(min(cost, math.MaxUint32)), nil
}

func mark(field string, raw json.RawMessage) (clock.Mark, error) {
	if !present(raw) {
		return 0, errors.New(field + `: missing; allowed: a duration such as "1.5s", or whole nanoseconds`)
	}
	d, err := duration(field, raw)
	return clock.Mark(d), err
}

// duration reads a duration in Go's form with d for days, or whole nanoseconds.
func duration(field string, raw json.RawMessage) (time.Duration, error) {
	wrong := func() error {
		return fmt.Errorf(`%s: found %s; allowed: a duration such as "1.5s", or whole nanoseconds`, field, raw)
	}
	if raw[0] != '"' {
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return 0, wrong()
		}
		return time.Duration(n), nil
	}
	text, ok := "", false
	if plain, is := unquoted(raw); is {
		text, ok = string(plain), true
	}
	if !ok && json.Unmarshal(raw, &text) != nil {
		return 0, wrong()
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		if d, err = days(text); err != nil {
			return 0, wrong()
		}
	}
	return d, nil
}

var errDays = errors.New("not a duration with days")

// days reads what begins with days, as in 1d or 1d12h.
func days(text string) (time.Duration, error) {
	sign := time.Duration(1)
	if strings.HasPrefix(text, "-") {
		sign, text = -1, text[1:]
	}
	whole, rest, ok := strings.Cut(text, "d")
	n, err := strconv.ParseFloat(whole, 64)
	if !ok || err != nil || n < 0 || n*24 > float64(math.MaxInt64)/float64(time.Hour) {
		return 0, errDays
	}
	d := time.Duration(n * float64(24*time.Hour))
	if rest == "" {
		return sign * d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || more > math.MaxInt64-d {
		return 0, errDays
	}
	return sign * (d + more), nil
}

// explain translates an error of encoding/json into the terms of the log.
func explain(err error, src []byte) error {
	var typed *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typed):
		allowed := "a JSON object"
		switch {
		case strings.HasPrefix(typed.Field, "attributes"):
			allowed = "an object of strings"
		case typed.Field != "":
			allowed = "a string"
		}
		found := fmt.Sprintf("found a value of the kind %s; allowed: %s", typed.Value, allowed)
		if typed.Field != "" {
			found = typed.Field + ": " + found
		}
		return errors.New(found)
	case errors.As(err, &syntax) && syntax.Offset > 0 && int(syntax.Offset) <= len(src) && !strings.Contains(err.Error(), "unexpected end"):
		return fmt.Errorf("found %q at byte %d; allowed: a JSON object", src[syntax.Offset-1], syntax.Offset)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax):
		return errors.New("a JSON object that does not end")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
