package trace

import "encoding/json"

// plain reads a line of the usual form: an object whose fields are known and
// occur once, and whose values are whole numbers and strings of printable ASCII
// without an escape. It accepts nothing that encoding/json would read differently,
// and returns false for everything that it leaves to encoding/json, errors included.
//
// The fields of l are parts of src.
func plain(src []byte, l *line) bool {
	s := scanner{src: src}
	seen := uint16(0)
	more := s.byte('{') && !s.byte('}')
	if !more {
		return false
	}
	for more {
		key, ok := s.text()
		if !ok || !s.byte(':') {
			return false
		}
		bit := s.field(key, l)
		if bit == 0 || seen&bit != 0 {
			return false
		}
		seen |= bit
		more = s.byte(',')
	}
	return s.byte('}') && s.over()
}

// field reads the value of a field and returns the field's bit, 0 for a field
// that is not known or not plain.
func (s *scanner) field(key []byte, l *line) uint16 {
	bit, ok := uint16(0), false
	switch string(key) {
	case "at":
		l.At, ok = s.scalar()
		bit = 1 << 0
	case "op":
		l.Op, ok = s.word()
		bit = 1 << 1
	case "id":
		l.ID, ok = s.scalar()
		bit = 1 << 2
	case "key":
		var text []byte
		text, ok = s.text()
		l.Key = string(text)
		bit = 1 << 3
	case "cost":
		l.Cost, ok = s.number()
		bit = 1 << 4
	case "attributes":
		l.Attributes, ok = s.attributes()
		bit = 1 << 5
	case "deadline":
		l.Deadline, ok = s.scalar()
		bit = 1 << 6
	case "outcome":
		l.Outcome, ok = s.word()
		bit = 1 << 7
	case "retry_after":
		l.RetryAfter, ok = s.scalar()
		bit = 1 << 8
	case "attempt":
		l.Attempt, ok = s.number()
		bit = 1 << 9
	case "used":
		l.Used, ok = s.number()
		bit = 1 << 10
	}
	if !ok {
		return 0
	}
	return bit
}

// scanner takes the tokens of a line from its front.
type scanner struct {
	src []byte
	at  int
}

func (s *scanner) space() {
	for s.at < len(s.src) && (s.src[s.at] == ' ' || s.src[s.at] == '\t' || s.src[s.at] == '\r' || s.src[s.at] == '\n') {
		s.at++
	}
}

// over reports that nothing but space is left.
func (s *scanner) over() bool {
	s.space()
	return s.at == len(s.src)
}

// byte takes c, if it is next.
func (s *scanner) byte(c byte) bool {
	s.space()
	if s.at < len(s.src) && s.src[s.at] == c {
		s.at++
		return true
	}
	return false
}

// text takes a string and returns the text between its quotes.
func (s *scanner) text() ([]byte, bool) {
	if !s.byte('"') {
		return nil, false
	}
	begin := s.at
	for s.at < len(s.src) {
		switch c := s.src[s.at]; {
		case c == '"':
			s.at++
			return s.src[begin : s.at-1], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
		s.at++
	}
	return nil, false
}

// number takes a whole number as JSON writes it.
func (s *scanner) number() (json.RawMessage, bool) {
	s.space()
	begin := s.at
	if s.at < len(s.src) && s.src[s.at] == '-' {
		s.at++
	}
	first := s.at
	for s.at < len(s.src) && s.src[s.at] >= '0' && s.src[s.at] <= '9' {
		s.at++
	}
	digits := s.at - first
	if digits == 0 || digits > 1 && s.src[first] == '0' {
		return nil, false
	}
	return s.src[begin:s.at], true
}

// scalar takes a number or a string, with its quotes.
func (s *scanner) scalar() (json.RawMessage, bool) {
	s.space()
	begin := s.at
	if begin < len(s.src) && s.src[begin] == '"' {
		_, ok := s.text()
		return s.src[begin:s.at], ok
	}
	return s.number()
}

// word takes a string of few that are known.
func (s *scanner) word() (string, bool) {
	text, ok := s.text()
	if !ok {
		return "", false
	}
	switch string(text) {
	case "call":
		return "call", true
	case "done":
		return "done", true
	case "ok":
		return "ok", true
	case "fail":
		return "fail", true
	}
	return string(text), true
}

// attributes takes an object of strings.
func (s *scanner) attributes() (map[string]string, bool) {
	if !s.byte('{') {
		return nil, false
	}
	all := map[string]string{}
	if s.byte('}') {
		return all, true
	}
	for {
		key, ok := s.text()
		if !ok || !s.byte(':') {
			return nil, false
		}
		name := string(key)
		value, ok := s.text()
		if _, twice := all[name]; !ok || twice {
			return nil, false
		}
		all[name] = string(value)
		if !s.byte(',') {
			return all, s.byte('}')
		}
	}
}

// unquoted returns the text between the quotes of a string without escapes,
// as plain accepts it.
func unquoted(raw json.RawMessage) ([]byte, bool) {
	s := scanner{src: raw}
	text, ok := s.text()
	return text, ok && s.at == len(raw)
}
