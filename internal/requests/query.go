package requests

import (
	"strings"

	"github.com/sluice-go/sluice/core/keyed"
)

// Query returns the first value of a parameter of a raw query, decoded, without parsing
// the others, and whether all are the same to a server that ends parameters at a
// semicolon too. What cannot be decoded is taken as it is.
func Query(raw, name string) (first string, plain bool) {
	some := false
	plain = true
	for pair := range strings.SplitSeq(raw, "&") {
		for i := 0; pair != ""; i++ {
			whole := pair
			var part string
			part, pair, _ = strings.Cut(pair, ";")
			key, _, _ := strings.Cut(part, "=")
			if key != name && unescape(key) != name {
				continue
			}
			if i > 0 || pair != "" {
				plain = false
			}
			if i > 0 {
				continue
			}
			_, value, _ := strings.Cut(whole, "=")
			value = unescape(value)
			if !some {
				first, some = value, true
			}
			plain = plain && value == first
		}
	}
	return first, plain
}

// unescape decodes a part of a query: a plus is a space, and an escape its character. A
// text with another percent sign is taken as it is.
func unescape(text string) string {
	if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '+') < 0 {
		return text
	}
	decoded := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			if i+2 >= len(text) {
				return text
			}
			high, low := keyed.Hex(text[i+1]), keyed.Hex(text[i+2])
			if high < 0 || low < 0 {
				return text
			}
			c = byte(high<<4 | low)
			i += 2
		}
		decoded = append(decoded, c)
	}
	return string(decoded)
}
