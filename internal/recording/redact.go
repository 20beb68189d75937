package recording

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/sluice-go/sluice/internal/secrets"
)

// Redact says which values are replaced by hashes.
type Redact uint8

// What is replaced.
const (
	// RedactSecrets replaces the values of attributes whose names say that they are
	// secrets. It is the default.
	RedactSecrets Redact = iota
	// RedactAll replaces all keys and values.
	RedactAll
	// RedactNone replaces nothing.
	RedactNone
)

// String returns the word of the header.
func (r Redact) String() string { return [...]string{"secrets", "all", "none"}[r] }

// hashes reports whether the values of an attribute are replaced.
func (r Redact) hashes(name string) bool {
	if r != RedactSecrets {
		return r == RedactAll
	}
	return secrets.Attribute(name)
}

// hashMark begins a value that is a hash.
const hashMark = "hash:"

// appendValue appends a value as JSON, or its hash: the first 8 bytes of an HMAC-SHA256
// (RFC 2104) with a key that only this recorder has, so that equal values have equal
// hashes in one trace, and nothing can be looked up in a table of hashes.
func (r *Recorder) appendValue(dst []byte, value string, hashed bool) []byte {
	if !hashed {
		return appendText(dst, value)
	}
	mac := hmac.New(sha256.New, r.secret[:])
	// A hash accepts all bytes.
	_, _ = mac.Write([]byte(value))
	dst = append(append(dst, '"'), hashMark...)
	return append(hex.AppendEncode(dst, mac.Sum(nil)[:8]), '"')
}

// appendText appends a text as JSON. Bytes that are not UTF-8 become U+FFFD.
func appendText(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEscaped(dst, text)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

func appendEscaped(dst []byte, text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return append(dst, `""`...)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}
