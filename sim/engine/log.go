package engine

import (
	"bufio"
	"io"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/sim/internal/jsontext"
)

// log writes the decisions and the events of a process. Either writer may be nil.
type log struct {
	decisions, events *bufio.Writer
	line              []byte
}

func newLog(decisions, events io.Writer) *log {
	l := &log{}
	if decisions != nil {
		l.decisions = bufio.NewWriterSize(decisions, 1<<16)
	}
	if events != nil {
		l.events = bufio.NewWriterSize(events, 1<<16)
	}
	return l
}

// close writes what is left and returns the first error of a writer.
func (l *log) close() error {
	for _, w := range []*bufio.Writer{l.decisions, l.events} {
		if w == nil {
			continue
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (l *log) decision(id string, d *decision.Decision) {
	if l.decisions != nil {
		l.line = decision.AppendLine(l.line[:0], id, d)
		l.write(l.decisions)
	}
}

// write writes the line. A bufio.Writer keeps its first error.
func (l *log) write(w *bufio.Writer) { _, _ = w.Write(l.line) }

// head begins the line of an event. It returns false where events are not written.
func (l *log) head(at clock.Mark, op, id string) bool {
	if l.events == nil {
		return false
	}
	l.line = append(strconv.AppendInt(append(l.line[:0], `{"at":`...), int64(at), 10), `,"op":"`...)
	l.line = append(append(l.line, op...), '"')
	if id != "" {
		l.line = append(append(l.line, `,"id":`...), id...)
	}
	return true
}

// end ends the line of an event.
func (l *log) end() {
	l.line = append(l.line, '}', '\n')
	l.write(l.events)
}

func (l *log) call(at clock.Mark, c *call, deadline time.Duration) {
	if !l.head(at, "call", c.id) {
		return
	}
	if c.key >= 0 {
		l.line = jsontext.AppendText(append(l.line, `,"key":`...), c.keyText())
	}
	if c.cost != 1 {
		l.line = strconv.AppendUint(append(l.line, `,"cost":`...), uint64(c.cost), 10)
	}
	for i := range c.from.config.Attributes {
		before := `,`
		if i == 0 {
			before = `,"attributes":{`
		}
		one := &c.from.config.Attributes[i]
		l.line = append(jsontext.AppendText(append(l.line, before...), one.Name), ':')
		l.line = jsontext.AppendText(l.line, one.Values.Value(int(c.attributes[i])))
	}
	if len(c.from.config.Attributes) > 0 {
		l.line = append(l.line, '}')
	}
	if deadline >= 0 {
		l.line = strconv.AppendInt(append(l.line, `,"deadline":`...), int64(deadline), 10)
	}
	l.end()
}

func (l *log) done(at clock.Mark, c *call, r *drive.Result) {
	if !l.head(at, "done", c.id) {
		return
	}
	l.line = append(append(append(l.line, `,"outcome":"`...), r.Outcome.String()...), '"')
	if r.Told {
		l.line = strconv.AppendInt(append(l.line, `,"retry_after":`...), int64(r.RetryAfter), 10)
	}
	l.line = strconv.AppendUint(append(l.line, `,"attempt":`...), uint64(r.Attempt), 10)
	l.end()
}

func (l *log) cancel(at clock.Mark, c *call) {
	if l.head(at, "cancel", c.id) {
		l.end()
	}
}

func (l *log) tick(at clock.Mark) {
	if l.head(at, "tick", "") {
		l.end()
	}
}
