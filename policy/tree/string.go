package tree

import "strings"

// str reads a string, its quotes included, and returns its value.
func (r *jsonReader) str() string {
	r.next()
	var text []byte
	for r.err == nil {
		start := r.offset
		for b := r.peek(); b >= 0x20 && b != '"' && b != '\\'; b = r.peek() {
			r.next()
		}
		text = append(text, r.text[start:r.offset]...)
		switch {
		case r.done():
			r.fail("the end of the document", `'"' at the end of the string`)
		case r.skip(`"`):
			return string(text)
		case r.peek() == '\\':
			text = append(text, r.escape()...)
		default:
			r.fail("the character U+"+hex(rune(r.peek()), 4, upperDigits)+" in a string", `an escape such as \n or \t`)
		}
	}
	return ""
}

// escape reads one escape, a surrogate pair as one, and returns its character.
func (r *jsonReader) escape() string {
	line, column := r.line, r.column
	r.next()
	if i := strings.IndexByte(`"\/bfnrt`, r.peek()); i >= 0 {
		r.next()
		return "\"\\/\b\f\n\r\t"[i : i+1]
	}
	if !r.skip("u") {
		r.fail(r.here(), `an escape: \" \\ \/ \b \f \n \r \t or \u with four hexadecimal digits`)
		return ""
	}
	char := r.fourDigits()
	if highHalf(char) && r.skip(`\u`) {
		if low := r.fourDigits(); lowHalf(low) {
			char = 0x10000 + (char-0xD800)<<10 + (low - 0xDC00)
		}
	}
	if char == 0 || highHalf(char) || lowHalf(char) {
		// The error is at the beginning of the escape.
		r.line, r.column = line, column
		if char == 0 {
			r.fail("the character U+0000", "text without it")
		}
		r.fail("half of a surrogate pair", "a whole pair, a high half first")
	}
	return string(char)
}

// fourDigits reads the hexadecimal digits of an escape.
func (r *jsonReader) fourDigits() rune {
	end := min(r.offset+4, len(r.text))
	digits := r.text[r.offset:end]
	char, valid := rune(0), len(digits) == 4
	for i := range len(digits) {
		digit := strings.IndexByte(lowerDigits, digits[i]|0x20)
		char = char<<4 | rune(digit)
		valid = valid && digit >= 0
	}
	if !valid {
		r.fail("the escape \\u"+Quote(digits, '"'), `four hexadecimal digits behind \u`)
		return 0
	}
	r.skip(digits)
	return char
}

// highHalf and lowHalf are the two halves of a surrogate pair of UTF-16.
func highHalf(r rune) bool { return r >= 0xD800 && r < 0xDC00 }
func lowHalf(r rune) bool  { return r >= 0xDC00 && r < 0xE000 }
