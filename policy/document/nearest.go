package document

import "strings"

// longestName is the longest unknown name for which a near one is looked for.
const longestName = 48

// nearest returns the known name that an unknown one may have meant: the same
// but for case and underscores, the one with the fewest typing slips, or one
// that it contains, as circuit_breaker does breaker. It returns "" when nothing
// is near.
func nearest(name string, known []string) string {
	if len(name) > longestName {
		return ""
	}
	plain := fold(name)
	best, fewest := "", 0
	for _, candidate := range known {
		most := min(3, (max(len(name), len(candidate))+1)/3)
		if spread := len(candidate) - len(name); max(spread, -spread) > most {
			continue
		}
		slips := distance(plain, fold(candidate))
		if slips <= most && slips < len(candidate) && (best == "" || slips < fewest) {
			best, fewest = candidate, slips
		}
	}
	if best != "" {
		return best
	}
	// Shorter names stand in too many others by chance.
	const least = 4
	for _, candidate := range known {
		if len(candidate) >= max(least, len(best)+1) && strings.Contains(plain, fold(candidate)) {
			best = candidate
		}
	}
	return best
}

// fold returns a name in lower case with underscores for hyphens.
func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// distance counts the characters to insert, delete, change, or swap with a
// neighbour on the way from a to b (optimal string alignment). Bytes will do:
// every known name is ASCII.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
