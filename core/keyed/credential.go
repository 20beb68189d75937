package keyed

import "strings"

// IsCredential reports whether the value of an attribute is a credential.
func IsCredential(attribute string) bool {
	name, header := strings.CutPrefix(attribute, "header:")
	return header && IsCredentialField(name)
}

// IsCredentialField reports whether a header field, in lower case, has a credential.
func IsCredentialField(name string) bool {
	return name == "authorization" || name == "proxy-authorization"
}

// Credential returns a credential in the one form for all its spellings: without white space
// around it, the scheme in lower case, and one space behind the scheme (RFC 9110 section
// 11.4).
func Credential(text string) string {
	text = strings.Trim(text, " \t")
	scheme := 0
	for scheme < len(text) && text[scheme] != ' ' && text[scheme] != '\t' {
		scheme++
	}
	if scheme == len(text) {
		return text // a scheme alone, or a credential without one
	}
	var one strings.Builder
	one.Grow(len(text))
	for i := range scheme {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A' // a scheme is of ASCII
		}
		one.WriteByte(c)
	}
	one.WriteByte(' ')
	one.WriteString(strings.Trim(text[scheme:], " \t"))
	return one.String()
}
