package requests

import (
	"strings"

	"github.com/sluice-go/sluice/core/keyed"
)

// Field returns the value of a line of a header field as a key: the same for all spellings
// that mean the same to the server behind. White space around it is not of it (RFC 9110
// section 5.5). Of a credential the scheme is in lower case, and one space stands behind
// it (section 11.4). name is in lower case.
func Field(name, line string) string {
	if keyed.IsCredentialField(name) {
		return keyed.Credential(line)
	}
	return strings.Trim(line, " \t")
}

// Removable reports whether a field, in lower case, is removed from a request whose
// Connection names it, before a policy is asked: a proxy removes it, so that no server behind
// sees it (RFC 9110 section 7.6.1). Fields that say how a connection is used, and those by
// which hops tell of the hops before them, are not keys or not the client's.
func Removable(name string) bool {
	switch name {
	case "", "close", "connection", "keep-alive", "upgrade", "te", "trailer", "transfer-encoding", "http2-settings", "forwarded":
		return false
	}
	return !strings.HasPrefix(name, "x-forwarded-")
}
