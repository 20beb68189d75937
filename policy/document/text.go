package document

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
)

// Lists of names are texts with spaces between the names: in a small runtime a
// text takes less room than a table of texts.

// wordEnd returns where the name of a list that begins at start ends.
func wordEnd(list string, start int) int {
	for start < len(list) && list[start] != ' ' {
		start++
	}
	return start
}

// index returns the index of a name in a list, -1 when it is not there.
func index(list, name string) int {
	i := 0
	for start := 0; start < len(list); i++ {
		end := wordEnd(list, start)
		if list[start:end] == name {
			return i
		}
		start = end + 1
	}
	return -1
}

// word returns the name at an index of a list, "" for -1.
func word(list string, i int) string {
	for start := 0; start < len(list) && i >= 0; i-- {
		end := wordEnd(list, start)
		if i == 0 {
			return list[start:end]
		}
		start = end + 1
	}
	return ""
}

// builder is strings.Builder without results: unused results cost space in a small
// runtime, too.
type builder struct{ text []byte }

// add appends a text.
func (b *builder) add(text string) { b.text = append(b.text, text...) }

// addInt is add for a number.
func (b *builder) addInt(n int) { b.add(strconv.Itoa(n)) }

// String returns the whole.
func (b *builder) String() string { return string(b.text) }

// orList returns "a, b or c" for a list.
func orList(list string) string {
	var text builder
	for start := 0; start < len(list); {
		end := wordEnd(list, start)
		if start > 0 {
			between := ", "
			if end == len(list) {
				between = " or "
			}
			text.add(between)
		}
		text.add(list[start:end])
		start = end + 1
	}
	return text.String()
}

// lower returns a text with its ASCII letters in lower case.
func lower(text string) string { return replace(text, "", 0) }

// replace returns a text with its ASCII letters in lower case and one character
// in the place of several others.
func replace(text, others string, by byte) string {
	plain := []byte(text)
	for i, b := range plain {
		if b >= 'A' && b <= 'Z' {
			plain[i] = b | 0x20
		}
		if strings.IndexByte(others, b) >= 0 {
			plain[i] = by
		}
	}
	return string(plain)
}

// upperCase are characters that isMadeOf accepts only when they are among the others.
const upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// isMadeOf reports whether a text is not empty and has nothing but lower-case
// ASCII letters, digits and the others.
func isMadeOf(text, others string) bool {
	for i := range len(text) {
		b := text[i]
		if !(b >= 'a' && b <= 'z' || isDigit(b) || strings.IndexByte(others, b) >= 0) {
			return false
		}
	}
	return text != ""
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// quote returns a text in quotes, shortened.
func quote(text string) string { return tree.Quote(shorten(text), '"') }

// shorten cuts a text that is too long for an error, between two characters.
func shorten(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "..."
}
