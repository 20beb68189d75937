package filter

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
)

// header is what the proxy returns of a header: names and values in turns.
func header(fields ...string) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(fields)/2))
	for _, text := range fields {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	}
	for _, text := range fields {
		out = append(append(out, text...), 0)
	}
	return out
}

// TestField has lines that are one key to an upstream, and lines that are several.
func TestField(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields []string
		want   string
		plain  bool
	}{
		{"authorization", []string{"authorization", "Bearer t"}, "bearer t", true},
		{"authorization", []string{"authorization", " BEARER \t t "}, "bearer t", true},
		{"authorization", []string{"authorization", "Bearer t", "x", "y", "authorization", "bearer     t"}, "bearer t", true},
		{"authorization", []string{"authorization", "Bearer t", "authorization", "Bearer T"}, "bearer t", false},
		{"proxy-authorization", []string{"proxy-authorization", "Basic  t", "authorization", "Basic u"}, "basic t", true},
		{"proxy-authorization", []string{"proxy-authorization", "Basic t", "proxy_authorization", "Basic t"}, "basic t", false},
		{"x-key", []string{"x-key", "\ta ", "x-key", "a"}, "a", true},
		{"x-key", []string{"x-key", "a", "x-key", "A"}, "a", false},
		{"x-key", []string{"x-key", "a  b", "x-key", "a b"}, "a  b", false},
		{"x-key", []string{"x-key", " \t"}, "", true},
		{"x-key", nil, "", true},
	} {
		a := attributes{pairs: header(c.fields...)}
		value, plain := a.read("header:" + c.name)
		assert.Equal(t, c.want, value, "%q", c.fields)
		assert.Equal(t, c.plain, plain, "%q", c.fields)
	}
}
