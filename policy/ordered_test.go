package policy_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	name  string
	value any // an object, a []any, or a plain value
}

// get returns the value of a name, nil for none.
func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// with returns the object with the value of a name, in the place of a former one.
func (o object) with(name string, value any) object {
	if i := slices.IndexFunc(o, func(m member) bool { return m.name == name }); i >= 0 {
		o = slices.Clone(o)
		o[i].value = value
		return o
	}
	return append(slices.Clip(o), member{name, value})
}

// parseOrdered reads JSON.
func parseOrdered(t testing.TB, src string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(src))
	d.UseNumber()
	var read func() any
	read = func() any {
		token, err := d.Token()
		require.NoError(t, err, src)
		switch token {
		case json.Delim('{'):
			o := object{}
			for d.More() {
				name, err := d.Token()
				require.NoError(t, err)
				o = append(o, member{name.(string), read()})
			}
			_, err = d.Token()
			require.NoError(t, err)
			return o
		case json.Delim('['):
			list := []any{}
			for d.More() {
				list = append(list, read())
			}
			_, err = d.Token()
			require.NoError(t, err)
			return list
		}
		return token
	}
	return read()
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := plainJSON(m.name)
		if err != nil {
			return nil, err
		}
		value, err := plainJSON(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plainJSON is json.Marshal without the escapes for HTML.
func plainJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// indented writes a value as the schema file has it.
func indented(t testing.TB, value any) string {
	t.Helper()
	src, err := plainJSON(value)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, src, "", "  "))
	return b.String() + "\n"
}
