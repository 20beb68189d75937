package tree

import "strings"

// Quote returns a text between two marks with its escapes, as strconv.Quote and
// strconv.QuoteRune do but without their tables: of the characters beyond ASCII
// it escapes those that isHidden has, and leaves all others as they are.
func Quote(text string, mark byte) string {
	quoted := []byte{mark}
	for i, r := range text {
		piece := string(r)
		switch short := strings.IndexByte("\a\b\t\n\v\f\r", text[i]); {
		case short >= 0:
			piece = `\` + "abtnvfr"[short:short+1]
		case r == rune(mark) || r == '\\':
			piece = `\` + piece
		case r < ' ' || r == 0x7F || isTorn(r, text[i:]):
			piece = `\x` + hex(rune(text[i]), 2, lowerDigits)
		case isHidden(r):
			piece = `\u` + hex(r, 4, lowerDigits)
		}
		quoted = append(quoted, piece...)
	}
	return string(append(quoted, mark))
}

// hidden are the first and the last of each range of characters that are invisible,
// or change the direction of the text around them.
var hidden = [...][2]uint16{
	{0x7F, 0xA0}, {0xAD, 0xAD}, {0x61C, 0x61C}, {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F},
	{0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000}, {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB},
}

// isHidden reports whether a text is easier to read with the character escaped.
func isHidden(r rune) bool {
	for _, span := range hidden {
		if r >= rune(span[0]) && r <= rune(span[1]) {
			return true
		}
	}
	return false
}
