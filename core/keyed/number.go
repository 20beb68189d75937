package keyed

// Number reads a whole number of decimal digits. It returns false for another text, and
// for more than 18 digits. The parsers of package strconv would cost a small runtime more
// than all of this package.
func Number(text string) (n int64, ok bool) {
	if text == "" || len(text) > 18 {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, true
}

// Hex returns the value of a hexadecimal digit, -1 for another character.
func Hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
