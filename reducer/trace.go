package reducer

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/clock"
)

// Entry is one step of a cell in a trace.
type Entry struct {
	// N numbers the steps of a trace.
	N  uint64
	At clock.Mark
	// Cell names the machine and its configuration for the reader of the trace,
	// Key one of several states.
	Cell, Key string
	Action    Action
	Effects   Effects
	// Digest of the state after the step, see Digest.
	Digest uint64
}

// AppendTrace appends the entry as a line of a trace: a JSON object with the
// fields n, at, cell, key, action, effects, digest in this order, and a newline.
// Bytes of names that are not UTF-8 become U+FFFD.
func AppendTrace(dst []byte, e Entry) []byte {
	dst = strconv.AppendUint(append(dst, `{"n":`...), e.N, 10)
	dst = appendJSON(append(dst, `,"at":`...), e.At.String())
	dst = appendJSON(append(dst, `,"cell":`...), e.Cell)
	dst = appendJSON(append(dst, `,"key":`...), e.Key)
	dst = append(appendAction(append(dst, `,"action":"`...), e.Action), '"')
	dst = append(appendEffects(append(dst, `,"effects":"`...), e.Effects), '"')
	dst = appendJSON(append(dst, `,"digest":`...), hex64(e.Digest))
	return append(dst, "}\n"...)
}

// ParseTrace reads a line of a trace. Its fields may come in any order, with
// blanks between them; all must be there, once, and no others.
func ParseTrace(line string) (Entry, error) {
	var e Entry
	var seen, all uint
	s := scanner{rest: line}
	s.expect('{')
	for more := true; more; more = s.accept(',') {
		name := s.text()
		s.expect(':')
		bit, err := s.field(&e, name)
		if err != nil {
			return Entry{}, err
		}
		if s.wrong || bit == 0 || seen&bit != 0 {
			return Entry{}, textError("cannot read the field " + strconv.Quote(name))
		}
		seen |= bit
	}
	s.expect('}')
	s.blanks()
	if s.wrong || s.rest != "" {
		return Entry{}, textError("the line is not one object")
	}
	for i := range traceFields {
		all |= 1 << i
	}
	if seen != all {
		return Entry{}, textError("a field is missing: " + strings.Join(traceFields[:], ", "))
	}
	return e, nil
}

var traceFields = [...]string{"n", "at", "cell", "key", "action", "effects", "digest"}

// field reads the value of a field and returns its bit, 0 for an unknown one.
func (s *scanner) field(e *Entry, name string) (bit uint, err error) {
	ok := true
	switch name {
	case "n":
		e.N, ok = s.number()
		bit = 1 << 0
	case "at":
		e.At, ok = parseMark(s.text())
		bit = 1 << 1
	case "cell":
		e.Cell = s.text()
		bit = 1 << 2
	case "key":
		e.Key = s.text()
		bit = 1 << 3
	case "action":
		e.Action, err = ParseAction(s.text())
		bit = 1 << 4
	case "effects":
		e.Effects, err = ParseEffects(s.text())
		bit = 1 << 5
	case "digest":
		text := s.text()
		v, wrong := strconv.ParseUint(text, 16, 64)
		e.Digest, ok = v, wrong == nil && hex64(v) == text
		bit = 1 << 6
	}
	s.wrong = s.wrong || !ok
	return bit, err
}

func hex64(v uint64) string {
	return strconv.FormatUint(v>>32|1<<32, 16)[1:] + strconv.FormatUint(v&(1<<32-1)|1<<32, 16)[1:]
}
