package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/trace"
)

// The formats of a recording.
const (
	Auto     = "auto"
	Trace    = "trace"
	Events   = "events"
	Common   = "common"
	Combined = "combined"
	JSON     = "json"
)

// Formats are the words for a format.
var Formats = []string{Auto, Trace, Events, Common, Combined, JSON}

// Call is a recorded call.
type Call struct {
	// ID is the id of the recording in JSON, or the number of the line of an access log,
	// with the name of the file in front where there are several.
	ID string
	// Policy is the name of the policy under which the call was recorded, empty where the
	// recording does not say it.
	Policy string
	// Route is the route that it was recorded with, or the method and the path.
	Route string
	// Event has what the call brought with it.
	Event trace.Event
	// Was is what became of it.
	Was Verdict

	prefix   string    // of the id in a log of events of several policies
	attempts []attempt // by number less 1
	seq      int
}

// attempt is how an attempt ended.
type attempt struct {
	known      bool
	held       bool // in injected latency: it has not called the dependency
	injected   bool // a chaos step ended it, or a timeout in injected latency: the dependency was not called
	began      clock.Mark
	took       time.Duration
	status     int // of HTTP, 0 where outcome says it
	outcome    reducer.Outcome
	told       bool
	retryAfter time.Duration
	hasUsed    bool
	used       uint32
	seq        int // the order of its end among events at one mark
	renewals   []renewal
}

// renewal is when an attempt extended its leases.
type renewal struct {
	after time.Duration // from its beginning
	seq   int
}

// Verdict is what becomes of a call.
type Verdict struct {
	Known bool
	// Refused by a step, at once or after a wait.
	Refused bool
	At      time.Duration
	Step    string
	Reason  string
	// RetryAfter of a refusal; negative for none.
	RetryAfter time.Duration
	// Outcome of a call that was not refused; empty while it is not over.
	Outcome string
}

// BadLine is a line that was left out.
type BadLine struct {
	File string
	Line int
	Err  error
}

// mostBad is how many lines are kept with their errors.
const mostBad = 10

// Recording has the calls of some files.
type Recording struct {
	Format  string
	Headers []trace.Header // of a trace, one for each of its policies
	// Began is the wall time of mark 0, which windows of the calendar need; zero for a
	// log of eval.
	Began time.Time
	Calls []Call
	// Bad lines were left out; their number, and the first of them.
	BadCount int
	Bad      []BadLine
	// Orphans are lines of calls whose beginning the recording does not have.
	Orphans int
	// Ends are the last lines of traces.
	Ends []trace.End
	// Decided says that the recording has decisions.
	Decided bool

	script []item
	end    clock.Mark
}

// Options say how to read a recording.
type Options struct {
	Format string
	// Strict ends at the first bad line.
	Strict bool
	// Start says that the time of an access log is the beginning of a request;
	// End its end. Neither: what is usual for the format.
	Start, End bool
	// Together leaves the requests of an access log whose times are whole seconds at the
	// beginning of their second. Without it they are spread over the second evenly.
	Together bool
}

// StrictError is a bad line with Options.Strict.
type StrictError struct{ BadLine }

// Error implements error.
func (e *StrictError) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }

// Unwrap returns the cause.
func (e *StrictError) Unwrap() error { return e.Err }

// File is a part of a recording.
type File struct {
	Name string
	From io.Reader
}

// Read reads a recording of one or several files, in the order of time. Files that are
// compressed with gzip are expanded.
func Read(files []File, o Options) (*Recording, error) {
	r := &Recording{Format: o.Format}
	l := loader{Recording: r, options: o, several: len(files) > 1, live: map[string]int{}, prefixes: map[string]bool{}}
	for _, file := range files {
		l.file = file.Name
		src, err := expanded(file.From)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		if r.Format == Auto || r.Format == "" {
			if r.Format, err = detect(src); err != nil {
				return nil, fmt.Errorf("%s: %w", file.Name, err)
			}
		}
		switch r.Format {
		case Trace, Events:
			err = l.lines(src)
		default:
			err = l.accesses(src)
		}
		if err != nil {
			return nil, err
		}
	}
	l.finish()
	return r, nil
}

// expanded returns the text of a file that may be compressed.
func expanded(from io.Reader) (*bufio.Reader, error) {
	src := bufio.NewReaderSize(from, 1<<16)
	if head, _ := src.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return src, nil
	}
	z, err := gzip.NewReader(src)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(z, 1<<16), nil
}

var errFormat = errors.New("the format is not known; choose one with --format: " + strings.Join(Formats[1:], ", "))

// detect returns the format by the first line that is not blank.
func detect(src *bufio.Reader) (string, error) {
	head, _ := src.Peek(1 << 16)
	for line := range bytes.Lines(bytes.TrimPrefix(head, []byte("\ufeff"))) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			continue
		case bytes.HasPrefix(line, []byte(`{"trace":`)):
			return Trace, nil
		case line[0] == '{' && (bytes.Contains(line, []byte(`"op":`)) || bytes.Contains(line, []byte(`"decision":`)) && bytes.Contains(line, []byte(`"at":`))):
			return Events, nil
		case line[0] == '{':
			return JSON, nil
		}
		if _, err := parseCombined(string(line)); err == nil {
			return Combined, nil
		}
		if _, err := parseCommon(string(line)); err == nil {
			return Common, nil
		}
		return "", errFormat
	}
	return Events, nil // nothing at all
}

// loader reads a recording.
type loader struct {
	*Recording
	options  Options
	file     string
	several  bool            // there are several files
	live     map[string]int  // the calls that are not over, by id
	prefixes map[string]bool // policies whose name begins the ids
	seq      int
	last     clock.Mark
	requests []request // of access logs
}

// bad notes a bad line. It returns an error where that ends the reading.
func (l *loader) bad(line int, err error) error {
	b := BadLine{l.file, line, err}
	if l.options.Strict {
		return &StrictError{b}
	}
	l.BadCount++
	if len(l.Bad) < mostBad {
		l.Bad = append(l.Bad, b)
	}
	return nil
}

// lines reads a trace or a log of events.
func (l *loader) lines(src io.Reader) error {
	lines := trace.NewReader(src)
	for {
		line, err := lines.Next()
		var bad *trace.LineError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &bad):
			if err := l.bad(bad.Line, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", l.file, err)
		}
		l.seq++
		switch {
		case line.Header != nil:
			l.header(*line.Header)
		case line.End != nil:
			l.Ends = append(l.Ends, *line.End)
			// An end without a mark ends where the last line does.
			span, _ := time.ParseDuration(line.End.End)
			l.end = max(l.end, clock.Mark(span))
		case line.Decision != nil:
			l.Decided = true
			l.decision(line.Decision)
		default:
			l.event(line.Event)
		}
	}
}

// header notes a policy. The file that continues another one repeats its headers.
func (l *loader) header(h trace.Header) {
	l.prefixes[h.Policy] = h.Prefixed
	for _, known := range l.Headers {
		if known.Policy == h.Policy {
			return
		}
	}
	l.Headers = append(l.Headers, h)
	if l.Began.IsZero() {
		l.Began = h.Began
	}
}

// epoch returns the wall time of mark 0 since 1970.
func (r *Recording) epoch() time.Duration {
	if r.Began.IsZero() {
		return 0
	}
	return time.Duration(max(0, r.Began.UnixNano()))
}

// nameOf returns the name with which the id of a call or of a configure begins.
func nameOf(id string) string {
	name, _, _ := strings.Cut(strings.Trim(id, `"`), "/")
	return name
}

// policyOf returns the policy that an id names: the one of the prefix, or the only one.
func (l *loader) policyOf(id string) string {
	if name := nameOf(id); l.prefixes[name] {
		return name
	}
	if len(l.Headers) > 0 && !l.Headers[0].Prefixed {
		return l.Headers[0].Policy
	}
	return ""
}

// event takes in an event.
func (l *loader) event(e *trace.Event) {
	l.last = max(l.last, e.At)
	e.At = l.last
	i, live := l.live[e.ID]
	it := item{at: e.At, seq: l.seq, event: e, call: -1, policy: l.policyOf(e.ID)}
	switch e.Op {
	case "call":
		// A log without decisions does not say when a call is over, so an id that is used
		// again belongs to another call.
		it.call = len(l.Calls)
		l.live[e.ID] = it.call
		c := Call{ID: e.ID, Policy: it.policy, Route: routeOf(e), Event: *e, seq: l.seq}
		if l.Format == Events {
			c.prefix = nameOf(e.ID)
		}
		l.Calls = append(l.Calls, c)
	case "done", "cancel", "renew":
		if !live {
			l.Orphans++
			return
		}
		it.call = i
		a := l.Calls[i].running(e.Attempt)
		switch {
		case a == nil:
		case e.Op == "done":
			*a = attempt{
				known: true, began: a.began, took: e.At.Sub(a.began), outcome: e.Outcome, told: e.Told, retryAfter: e.RetryAfter, hasUsed: e.HasUsed, used: e.Used,
				seq: l.seq, renewals: a.renewals,
			}
		case e.Op == "renew":
			a.renewals = append(a.renewals, renewal{e.At.Sub(a.began), l.seq})
		}
	}
	l.script = append(l.script, it)
}

// routeOf returns the attribute route, or the method and the path.
func routeOf(e *trace.Event) string {
	if route := e.Lookup("route"); route != "" {
		return route
	}
	return strings.TrimSpace(e.Lookup("method") + " " + e.Lookup("path"))
}

// running returns the attempt of a number that runs, the lowest one that runs for 0, nil
// for none.
func (c *Call) running(number uint32) *attempt {
	for n := range c.attempts {
		a := &c.attempts[n]
		if a.seq != 0 && !a.known && !a.held && !a.injected && (number == 0 || int(number) == n+1) {
			return a
		}
	}
	return nil
}

// admitted returns the attempt of a number that was admitted, nil for none.
func (c *Call) admitted(number uint32) *attempt {
	if number == 0 || int(number) > len(c.attempts) {
		return nil
	}
	return &c.attempts[number-1]
}

// decision takes in what was decided.
func (l *loader) decision(d *trace.Decision) {
	l.end = max(l.end, clock.Mark(d.At))
	i, live := l.live[d.ID]
	if !live || d.Shadow {
		if !live && d.ID != "" && d.Decision != "stale" && d.Decision != "configured" {
			l.Orphans++
		}
		return
	}
	c := &l.Calls[i]
	switch d.Decision {
	case "admit":
		for len(c.attempts) < int(d.Attempt) {
			c.attempts = append(c.attempts, attempt{})
		}
		if !c.Was.Known {
			c.Was = Verdict{Known: true, At: d.At, RetryAfter: -1}
		}
		if d.Attempt > 0 {
			c.attempts[d.Attempt-1] = attempt{began: clock.Mark(d.At), seq: l.seq}
		}
	case "inject":
		if a := c.admitted(d.Attempt); a != nil {
			a.held, a.injected = d.Outcome == "", d.Outcome != ""
		}
	case "start":
		if a := c.admitted(d.Attempt); a != nil {
			a.held, a.began = false, clock.Mark(d.At)
		}
	case "timeout":
		if a := c.admitted(d.Attempt); a != nil && a.held {
			a.held, a.injected = false, true
		} else if a := c.running(d.Attempt); a != nil {
			l.cut(a, d.At)
		}
	case "retry":
		// A timeout above a hedge names one attempt and cuts all attempts of the round.
		for a := c.running(0); a != nil; a = c.running(0) {
			l.cut(a, d.At)
		}
	case "reject", "expire":
		c.Was = Verdict{Known: true, Refused: true, At: d.At, Step: d.Step, Reason: d.Reason, RetryAfter: d.RetryAfter}
		delete(l.live, d.ID)
	case "end":
		c.Was = Verdict{Known: true, At: d.At, Reason: d.Reason, Outcome: d.Outcome, RetryAfter: -1}
		delete(l.live, d.ID)
	}
}

// cut notes that a running attempt was cut at a mark.
func (l *loader) cut(a *attempt, at time.Duration) {
	a.known, a.took, a.outcome, a.seq = true, clock.Mark(at).Sub(a.began), reducer.Fail, l.seq
}

// finish completes a recording.
func (l *loader) finish() {
	l.order()
	for i := range l.script {
		l.end = max(l.end, l.script[i].at)
	}
}

// Span is the time from the first mark to the last one.
func (r *Recording) Span() time.Duration { return time.Duration(r.end) }

// Verbatim reports whether the ends of attempts have to stay at their marks, because the
// recording does not say when the attempts began: it is a log of events alone.
func (r *Recording) Verbatim() bool {
	return (r.Format == Trace || r.Format == Events) && !r.Decided
}
