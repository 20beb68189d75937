package tree

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// byteOrderMark may begin a document and is skipped.
const byteOrderMark = "\ufeff"

// cursor reads a text and knows its position.
type cursor struct {
	text         string
	offset       int
	line, column int
}

// newCursor returns a cursor at the first character, behind a byte order mark.
func newCursor(text string) cursor {
	c := cursor{text: text, line: 1, column: 1}
	if len(text) >= len(byteOrderMark) && text[:len(byteOrderMark)] == byteOrderMark {
		c.offset = len(byteOrderMark)
	}
	return c
}

// done reports whether the cursor is at the end of the text.
func (c *cursor) done() bool { return c.offset >= len(c.text) }

// peek returns the byte under the cursor, 0 at the end.
func (c *cursor) peek() byte {
	if c.done() {
		return 0
	}
	return c.text[c.offset]
}

// next moves over one byte. A line ends with LF, CR LF or CR; the second and later
// bytes of a character do not change the column.
func (c *cursor) next() {
	b := c.text[c.offset]
	c.offset++
	switch {
	case b == '\n', b == '\r' && c.peek() != '\n':
		c.line++
		c.column = 1
	case b == '\r', b >= 0x80 && b < 0xC0:
	default:
		c.column++
	}
}

// CheckSource finds what makes a source unreadable in any format: more than MaxBytes,
// bytes that are not UTF-8, control characters. It returns nil for a source that may
// be read.
func CheckSource(src []byte) *SyntaxError {
	if len(src) > MaxBytes {
		return &SyntaxError{
			Found:   strconv.Itoa(len(src)) + " bytes",
			Allowed: "at most " + strconv.Itoa(MaxBytes) + " bytes (1 MiB)",
		}
	}
	c := newCursor(string(src))
	for i, r := range c.text {
		for c.offset < i {
			c.next()
		}
		torn := isTorn(r, c.text[i:])
		if !torn && printable(r) {
			continue
		}
		err := &SyntaxError{
			Line: c.line, Column: c.column,
			Found:   "the character U+" + hex(r, 4, upperDigits),
			Allowed: "text without control characters but tab, line feed and carriage return",
		}
		if torn {
			err.Found, err.Allowed = "the byte 0x"+hex(rune(c.peek()), 2, upperDigits), "text in UTF-8"
		}
		return err
	}
	return nil
}

// isTorn reports whether a character from a loop over a text replaces a byte that is
// not UTF-8.
func isTorn(r rune, text string) bool {
	const replacement = "\uFFFD"
	return r == utf8.RuneError && !strings.HasPrefix(text, replacement)
}

// printable is YAML's c-printable, which limits JSON documents as well.
func printable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	case r < 0x20, r >= 0x7F && r < 0xA0, r == 0xFFFE, r == 0xFFFF:
		return false
	}
	return true
}

// The digits of hexadecimal numbers.
const (
	upperDigits = "0123456789ABCDEF"
	lowerDigits = "0123456789abcdef"
)

// hex returns n in the digits, with zeros in front up to the width.
func hex(n rune, width int, digits string) string {
	text := ""
	for ; n > 0 || len(text) < width; n >>= 4 {
		text = digits[n&15:][:1] + text
	}
	return text
}
