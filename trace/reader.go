package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line in bytes that a Reader and `sluice eval` read.
const MaxLine = 4 << 20

// Line is one line of a trace. One of its pointers is set.
type Line struct {
	// Number counts the lines of the source from 1 on.
	Number   int
	Header   *Header
	End      *End
	Event    *Event
	Decision *Decision
}

// LineError says which line could not be read and why. The Reader goes on with the next
// one.
type LineError struct {
	Line int
	Err  error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads the lines of a trace, or of a log of events for `sluice eval`, perhaps with
// its decisions.
type Reader struct {
	lines *bufio.Scanner
	n     int
}

// NewReader returns a reader of a source.
func NewReader(src io.Reader) *Reader {
	lines := bufio.NewScanner(src)
	lines.Buffer(make([]byte, 0, 1<<16), MaxLine)
	return &Reader{lines: lines}
}

// Next returns the next line that is not blank. The error is io.EOF at the end, a LineError for
// a line that cannot be read, or the error of the source.
func (r *Reader) Next() (Line, error) {
	for r.lines.Scan() {
		r.n++
		src := bytes.TrimSpace(r.lines.Bytes())
		if r.n == 1 {
			src = bytes.TrimPrefix(src, []byte("\ufeff"))
		}
		if len(src) == 0 {
			continue
		}
		line, err := read(src)
		if err != nil {
			return Line{}, &LineError{Line: r.n, Err: err}
		}
		line.Number = r.n
		return line, nil
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Line{}, fmt.Errorf("line %d: longer than %d bytes", r.n+1, MaxLine)
	case err != nil:
		return Line{}, err
	}
	return Line{}, io.EOF
}

// read reads one line by the field that only its kind has.
func read(src []byte) (line Line, err error) {
	var kind struct {
		Trace    *int    `json:"trace"`
		End      *string `json:"end"`
		Decision *string `json:"decision"`
	}
	if bytes.HasPrefix(src, []byte(`{"trace"`)) || bytes.Contains(src, []byte(`"decision"`)) {
		// A line that is no JSON is read as an event, whose error says so.
		_ = json.Unmarshal(src, &kind)
	}
	switch {
	case kind.Trace != nil && *kind.Trace != Version:
		return line, fmt.Errorf("trace: found version %d; allowed: %d", *kind.Trace, Version)
	case kind.Trace != nil && kind.End != nil:
		line.End = &End{}
		err = json.Unmarshal(src, line.End)
	case kind.Trace != nil:
		line.Header = &Header{}
		err = json.Unmarshal(src, line.Header)
	case kind.Decision != nil:
		var d Decision
		d, err = ReadDecision(src)
		line.Decision = &d
	default:
		var e Event
		e, err = ReadEvent(src)
		line.Event = &e
	}
	return line, err
}
