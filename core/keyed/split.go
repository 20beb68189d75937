package keyed

import "strconv"

// Split returns the values of so many attributes that Join joined to a key, nil for what
// Join does not return.
func Split(attributes int, key string) []string {
	if attributes == 1 {
		return []string{key}
	}
	values := make([]string, 0, attributes)
	if key == "" {
		return values[:attributes]
	}
	for range attributes {
		colon := 0
		for colon < len(key) && key[colon] != ':' {
			colon++
		}
		if colon == len(key) {
			return nil
		}
		n, err := strconv.ParseUint(key[:colon], 10, 31)
		if rest := len(key) - colon - 1; err != nil || n > uint64(rest) {
			return nil
		}
		end := colon + 1 + int(n)
		values, key = append(values, key[colon+1:end]), key[end:]
	}
	if key != "" {
		return nil
	}
	return values
}
