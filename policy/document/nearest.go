package document

// longestName is the longest unknown name for which nearest looks for a near one.
const longestName = 48

// nearest returns the index of the name in a list that an unknown one may have
// meant: the same but for case and underscores, the one with the fewest typing
// slips, or one that it contains, as circuit_breaker does breaker. It returns -1
// when nothing is near.
func nearest(name, list string) int {
	best := -1
	if len(name) > longestName {
		return best
	}
	// A contained name is worse than any number of slips. Too many names contain a
	// shorter one by chance.
	fewest, longest := longestName, 3
	i := 0
	for start := 0; start < len(list); i++ {
		end := wordEnd(list, start)
		candidate := list[start:end]
		start = end + 1
		most := min(3, (max(len(name), len(candidate))+1)/3)
		slips := distance(name, candidate, most)
		switch {
		case slips <= most && slips < len(candidate) && slips < fewest:
			best, fewest = i, slips
		case fewest == longestName && len(candidate) > longest && contains(name, candidate):
			best, longest = i, len(candidate)
		}
	}
	return best
}

// fold returns a character in lower case, an underscore for a hyphen.
func fold(b byte) byte {
	switch {
	case b >= 'A' && b <= 'Z':
		return b | 0x20
	case b == '-':
		return '_'
	}
	return b
}

// cutCommon returns two names without what they have in common in front.
func cutCommon(a, b string) (string, string) {
	for a != "" && b != "" && fold(a[0]) == fold(b[0]) {
		a, b = a[1:], b[1:]
	}
	return a, b
}

// contains reports whether a name contains a part that is not empty.
func contains(name, part string) bool {
	for ; name != ""; name = name[1:] {
		if _, left := cutCommon(name, part); left == "" {
			return true
		}
	}
	return false
}

// distance counts the characters to insert, delete, change, or swap with a neighbour
// on the way from a to b (optimal string alignment), or returns more than most when
// they are more. Bytes suffice: every known name is ASCII.
func distance(a, b string, most int) int {
	a, b = cutCommon(a, b)
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	if most == 0 {
		return 1
	}
	fewest := min(distance(a[1:], b[1:], most-1), distance(a[1:], b, most-1), distance(a, b[1:], most-1))
	if len(a) > 1 && len(b) > 1 && fold(a[0]) == fold(b[1]) && fold(a[1]) == fold(b[0]) {
		fewest = min(fewest, distance(a[2:], b[2:], most-1))
	}
	return fewest + 1
}
