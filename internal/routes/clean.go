package routes

import (
	"strings"
	"unicode/utf8"
)

// PathError refuses a path. The answer to such a request has status 400.
type PathError struct {
	// Reason is a sentence for the client.
	Reason string
}

// Error implements error.
func (e *PathError) Error() string { return "sluice: path refused: " + e.Reason }

// The reasons of a PathError.
var (
	errEscape    = &PathError{"The path has a percent sign that is not followed by two hexadecimal digits."}
	errControl   = &PathError{"The path has a control character."}
	errBackslash = &PathError{"The path has a backslash, which some servers read as a slash."}
	errUTF8      = &PathError{"The path has bytes that are not UTF-8."}
	errDots      = &PathError{"The path has a dot segment with parameters, which some servers resolve."}
	errParams    = &PathError{"The path has parameters behind a semicolon, and another route without them."}
	errUnclean   = &PathError{"The path is not in its clean form."}
)

// Clean returns the clean form of a path, both escaped as they are in a request:
// escapes of letters, digits, -, ., _, ~ and / are decoded, all others are in upper
// case; dot segments are resolved and several slashes are one. An empty path is /. A
// path that does not begin with a slash, as the * of OPTIONS, has no other form. The
// error is a *PathError.
func Clean(path string) (string, error) {
	switch {
	case path == "":
		return "/", nil
	case path[0] != '/' || isClean(path):
		return path, nil
	}
	plain, err := respell(path)
	if err != nil {
		return "", err
	}
	return resolve(plain)
}

// isClean reports whether a path needs no change. It returns false for every path
// with an escape.
func isClean(path string) bool {
	for i := range len(path) {
		c := path[i]
		if !isPlain(c) && c != '/' || c == '/' && isSpecial(path[i+1:]) {
			return false
		}
	}
	return true
}

// isSpecial reports whether the first segment after a slash may need to be resolved:
// an empty one in front of others, or dots.
func isSpecial(rest string) bool {
	switch {
	case rest == "":
		return false
	case rest[0] == '/':
		return true
	case rest[0] != '.':
		return false
	}
	rest = strings.TrimPrefix(rest[1:], ".")
	return rest == "" || rest[0] == '/' || rest[0] == ';'
}

// isPlain reports whether a character of a segment needs no escape (RFC 3986
// section 3.3, pchar).
func isPlain(c byte) bool {
	return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@", c) >= 0
}

// isUnreserved reports whether a character means the same with and without an
// escape (RFC 3986 section 2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// respell gives each character its one spelling.
func respell(path string) (string, error) {
	const digits = "0123456789ABCDEF"
	text := make([]byte, 0, len(path)+8)
	all := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' {
			var ok bool
			if c, ok = unhex(path[i:]); !ok {
				return "", errEscape
			}
			escaped = true
			i += 2
		}
		all = append(all, c)
		switch {
		case c < ' ' || c == 0x7F:
			return "", errControl
		case c == '\\':
			return "", errBackslash
		case isUnreserved(c) || c == '/' || !escaped && isPlain(c):
			text = append(text, c)
		default:
			text = append(text, '%', digits[c>>4], digits[c&15])
		}
	}
	// An overlong form of an ASCII character is not UTF-8 either.
	if !utf8.Valid(all) {
		return "", errUTF8
	}
	return string(text), nil
}

// unhex returns the character of the escape that a text begins with.
func unhex(text string) (byte, bool) {
	if len(text) < 3 {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigits, text[1]), strings.IndexByte(hexDigits, text[2])
	if high < 0 || low < 0 {
		return 0, false
	}
	return hexValue(high)<<4 | hexValue(low), true
}

// hexDigits are the digits in lower case, then the letters in upper case.
const hexDigits = "0123456789abcdefABCDEF"

// hexValue is the value of the digit at an index of hexDigits.
func hexValue(i int) byte {
	if i > 15 {
		i -= 6
	}
	return byte(i)
}

// resolve removes empty and dot segments (RFC 3986 section 5.2.4).
func resolve(path string) (string, error) {
	kept := make([]string, 0, strings.Count(path, "/"))
	last := ""
	for rest := path; rest != ""; {
		last, rest = cutSegment(rest)
		switch {
		case last == "" || last == ".":
		case last == "..":
			kept = kept[:max(len(kept)-1, 0)]
		case hasDotParams(last):
			return "", errDots
		default:
			kept = append(kept, last)
		}
	}
	clean := "/" + strings.Join(kept, "/")
	if len(kept) > 0 && (last == "" || last == "." || last == "..") {
		clean += "/"
	}
	return clean, nil
}

// hasDotParams reports whether a segment is dots with parameters behind, for
// servers that remove parameters before they resolve dots.
func hasDotParams(segment string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(segment, "."), ".")
	return len(rest) < len(segment) && (strings.HasPrefix(rest, ";") || strings.HasPrefix(rest, "%3B"))
}

// cutSegment splits a path that begins with a slash behind its first segment.
func cutSegment(path string) (segment, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// withoutParams removes what follows a semicolon in each segment.
func withoutParams(path string) string {
	text := make([]byte, 0, len(path))
	skip := false
	for i := range len(path) {
		if path[i] == '/' || path[i] == ';' {
			skip = path[i] == ';'
		}
		if !skip {
			text = append(text, path[i])
		}
	}
	return string(text)
}

// decode returns a segment of a clean path without its escapes.
func decode(segment string) string {
	if strings.IndexByte(segment, '%') < 0 {
		return segment
	}
	text := make([]byte, 0, len(segment))
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c == '%' {
			c, _ = unhex(segment[i:])
			i += 2
		}
		text = append(text, c)
	}
	return string(text)
}

// Key returns the value of the attribute path of a clean path: the same for all
// spellings of a path that are compared as equal.
func Key(clean string) string {
	if strings.IndexByte(clean, '%') < 0 {
		return clean
	}
	text := make([]byte, 0, len(clean))
	for i := 0; i < len(clean); i++ {
		if clean[i] == '%' {
			// A literal percent sign keeps its escape, otherwise two paths had one
			// key.
			if c, _ := unhex(clean[i:]); isPlain(c) {
				text = append(text, c)
				i += 2
				continue
			}
		}
		text = append(text, clean[i])
	}
	return string(text)
}
