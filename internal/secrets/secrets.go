// Package secrets says which attributes of a call carry credentials, by their names.
package secrets

import "strings"

// headers are the fields of HTTP that carry credentials.
var headers = []string{"authorization", "proxy-authorization", "cookie", "set-cookie"}

// words are parts of the names of headers and queries that carry them.
var words = []string{"token", "secret", "password", "passwd", "api-key", "apikey", "api_key", "access-key", "access_key", "session", "signature", "credential", "jwt", "csrf"}

// Attribute reports whether the values of an attribute are secrets, as the values of every
// cookie are.
func Attribute(name string) bool {
	kind, name, _ := strings.Cut(strings.ToLower(name), ":")
	switch kind {
	case "cookie":
		return true
	case "header":
		for _, secret := range headers {
			if name == secret {
				return true
			}
		}
	case "query":
	default:
		return false
	}
	for _, word := range words {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
