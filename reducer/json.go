package reducer

import (
	"strconv"
	"strings"
)

// appendJSON appends the text as a JSON string.
func appendJSON(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}

// scanner reads the few forms of JSON that a trace has, and remembers whether
// something was wrong.
type scanner struct {
	rest  string
	wrong bool
}

func (s *scanner) blanks() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

// accept takes a byte if it is the next one.
func (s *scanner) accept(b byte) bool {
	s.blanks()
	if s.rest == "" || s.rest[0] != b {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) expect(b byte) {
	if !s.accept(b) {
		s.wrong = true
	}
}

// number takes an integer without a sign.
func (s *scanner) number() (uint64, bool) {
	s.blanks()
	end := 0
	for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
		end++
	}
	digits := s.rest[:end]
	s.rest = s.rest[end:]
	v, err := strconv.ParseUint(digits, 10, 64)
	return v, err == nil && (digits == "0" || digits[0] != '0')
}

// text takes a string.
func (s *scanner) text() string {
	s.expect('"')
	var out []byte
	for s.rest != "" && !s.wrong {
		b := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case b == '"':
			return string(out)
		case b < ' ':
			s.wrong = true
		case b == '\\':
			out = append(out, s.escape()...)
		default:
			out = append(out, b)
		}
	}
	s.wrong = true
	return ""
}

// escape takes what follows a backslash.
func (s *scanner) escape() string {
	if s.rest == "" {
		return ""
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	if b == 'u' {
		return s.unicode()
	}
	const names, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := strings.IndexByte(names, b)
	if i < 0 {
		s.wrong = true
		return ""
	}
	return means[i : i+1]
}

// unicode takes the digits of an escape, and a second one after the first half
// of a pair. A half by itself is U+FFFD.
func (s *scanner) unicode() string {
	r, ok := s.hex4()
	if !ok {
		s.wrong = true
		return ""
	}
	if r>>10 == 0xd800>>10 && strings.HasPrefix(s.rest, `\u`) {
		before := s.rest
		s.rest = s.rest[2:]
		if low, ok := s.hex4(); ok && low>>10 == 0xdc00>>10 {
			r = 0x10000 + (r&0x3ff)<<10 + low&0x3ff
		} else {
			s.rest = before
		}
	}
	return string(rune(r))
}

func (s *scanner) hex4() (uint64, bool) {
	if len(s.rest) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(s.rest[:4], 16, 16)
	s.rest = s.rest[4:]
	return v, err == nil
}
