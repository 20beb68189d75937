package tree

import (
	"strconv"
	"strings"
)

// str reads a string, its quotes included, and returns what it means.
func (r *jsonReader) str() string {
	r.next()
	var text strings.Builder
	for r.err == nil {
		switch b := r.peek(); {
		case r.done():
			r.fail("the end of the document", `'"' at the end of the string`)
		case b == '"':
			r.next()
			return text.String()
		case b == '\\':
			r.escape(&text)
		case b < 0x20:
			r.fail("the character U+"+hex(uint64(b), 4)+" in a string", `an escape such as \n or \t`)
		default:
			text.WriteByte(b)
			r.next()
		}
	}
	return ""
}

// escape reads one escape, a surrogate pair as one.
func (r *jsonReader) escape(text *strings.Builder) {
	at := *r
	r.next()
	b := r.peek()
	if i := strings.IndexByte(`"\/bfnrt`, b); b != 0 && i >= 0 {
		text.WriteByte("\"\\/\b\f\n\r\t"[i])
		r.next()
		return
	}
	if b != 'u' {
		r.fail(r.here(), `an escape: \" \\ \/ \b \f \n \r \t or \u with four hexadecimal digits`)
		return
	}
	r.next()
	char := r.fourDigits()
	if highHalf(char) && strings.HasPrefix(r.text[r.offset:], `\u`) {
		r.next()
		r.next()
		if low := r.fourDigits(); lowHalf(low) {
			char = 0x10000 + (char-0xD800)<<10 + (low - 0xDC00)
		}
	}
	switch {
	case r.err != nil:
	case char == 0:
		at.fail("the character U+0000", "text without it")
		r.err = at.err
	case highHalf(char) || lowHalf(char):
		at.fail("half of a surrogate pair", "a whole pair, a high half first")
		r.err = at.err
	default:
		text.WriteRune(char)
	}
}

// fourDigits reads the hexadecimal digits of an escape.
func (r *jsonReader) fourDigits() rune {
	end := r.offset + 4
	if end > len(r.text) {
		end = len(r.text)
	}
	char, err := strconv.ParseUint(r.text[r.offset:end], 16, 16)
	if err != nil || end-r.offset < 4 {
		r.fail("the escape \\u"+strconv.Quote(r.text[r.offset:end]), `four hexadecimal digits behind \u`)
		return 0
	}
	for r.offset < end {
		r.next()
	}
	return rune(char)
}

// highHalf and lowHalf are the two halves of a surrogate pair of UTF-16.
func highHalf(r rune) bool { return r >= 0xD800 && r < 0xDC00 }
func lowHalf(r rune) bool  { return r >= 0xDC00 && r < 0xE000 }
