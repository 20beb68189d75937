package tree

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plain returns a node as encoding/json decodes it.
func plain(n *Node) any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case Text:
		return n.Text
	case List:
		list := []any{}
		for _, item := range n.Items {
			list = append(list, plain(item))
		}
		return list
	case Map:
		entries := map[string]any{}
		for _, e := range n.Items {
			entries[e.Key] = plain(e)
		}
		return entries
	}
	return nil
}

// decode is encoding/json, numbers kept.
func decode(src string) (any, bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(src)))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil, false
	}
	_, err := d.Token()
	return value, err == io.EOF
}

// check compares the two readers. Ours accepts nothing more, and refuses more only
// for NUL, halves of surrogate pairs, control characters, depth.
func check(t *testing.T, src string) bool {
	t.Helper()
	node, err := ReadJSON([]byte(src))
	if err != nil {
		assert.Nil(t, node, src)
		assert.NotEmpty(t, err.Found, src)
		assert.NotEmpty(t, err.Allowed, src)
		if strings.Contains(err.Found, "surrogate") || strings.Contains(err.Found, "U+") || strings.Contains(err.Found, "inside") || strings.Contains(err.Found, "0x") {
			return false
		}
	}
	want, ok := decode(src)
	require.Equal(t, ok, err == nil, src)
	if ok {
		require.Equal(t, want, plain(node), src)
	}
	return ok
}

func TestReadJSONIsEncodingJSON(t *testing.T) {
	for _, src := range []string{
		`null`, `true`, `false`, `0`, `-0`, `-1.5e+10`, `1E5`, `0.5`, `""`, `"a"`, `[]`, `{}`, `[1,2]`, `{"a":{"b":[null]}}`,
		" \t\r\n[ 1 , 2 ] ", `"\"\\\/\b\f\n\r\t"`, `"\u0041\u00e9\u20AC\ud83d\ude00"`, `"é😀"`, `{"a":1,"a":2}`, `{"":0}`,
		`"` + "\u2028" + `"`, `"\ufffd"`,
	} {
		assert.True(t, check(t, src), src)
	}
	for _, src := range []string{
		``, ` `, `nul`, `nulll`, `True`, `01`, `-`, `+1`, `.5`, `1.`, `1e`, `1e+`, `0x1`, `"`, `"\`, `"\u`, `"\u12`, `"\u12g4"`, `"\x"`,
		`'a'`, `[`, `]`, `[1`, `[1,`, `[1,]`, `[,]`, `[1 2]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{"a" 1}`, `{1:1}`,
		`1 2`, `{}[]`, `// c`, `[1] // c`, `/* c */ 1`, "\"\n\"", "\"\t\"", `NaN`, `Infinity`, "\v1", "\u00a01",
	} {
		assert.False(t, check(t, src), src)
	}
}

func TestReadJSONIsStricter(t *testing.T) {
	for src, want := range map[string]string{
		`"\u0000"`: "the character U+0000", `"\ud800"`: "half of a surrogate pair", `"\udc00\ud800"`: "half of a surrogate pair",
		`"\ud800\u0041"`: "half of a surrogate pair", `"\ud800x"`: "half of a surrogate pair", "\"\x7f\"": "the character U+007F",
		"\"\xc3\"": "the byte 0xC3", "\"\xed\xa0\x80\"": "the byte 0xED",
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1): "a value inside 32 others",
	} {
		_, err := ReadJSON([]byte(src))
		require.NotNil(t, err, src)
		assert.Equal(t, want, err.Found, src)
	}
	_, err := ReadJSON([]byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)))
	assert.Nil(t, err)
	node, err := ReadJSON([]byte("\ufeff1"))
	assert.Nil(t, err)
	assert.Equal(t, 1, node.Column)
}

// TestReadJSONOnRandomTexts builds texts that are nearly JSON.
func TestReadJSONOnRandomTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"{", "}", "[", "]", ",", ":", `"a"`, `"`, "1", "-", ".", "e", "0", "true", "null", " ", "\n", `\`, `"\u0041"`, `"é"`, "x"}
	read := 0
	for range 50_000 {
		text := ""
		for range 1 + random.IntN(8) {
			text += pieces[random.IntN(len(pieces))]
		}
		if check(t, text) {
			read++
		}
	}
	assert.Greater(t, read, 500)
}

func TestPlaces(t *testing.T) {
	node, err := ReadJSON([]byte("{\n\t\"é\": [1,\r\n  {\"b\": null}],\r\"c\": \"x\"}"))
	require.Nil(t, err)
	place := func(n *Node) [2]int { return [2]int{n.Line, n.Column} }
	assert.Equal(t, [2]int{1, 1}, place(node))
	key := func(n *Node) [2]int { return [2]int{n.KeyLine, n.KeyColumn} }
	first := node.Items[0]
	assert.Equal(t, [2]int{2, 2}, key(first))
	assert.Equal(t, [2]int{2, 7}, place(first))
	assert.Equal(t, [2]int{2, 8}, place(first.Items[0]))
	assert.Equal(t, [2]int{3, 3}, place(first.Items[1]))
	assert.Equal(t, [2]int{3, 9}, place(first.Items[1].Items[0]))
	assert.Equal(t, [2]int{4, 1}, key(node.Items[1]))
	assert.Nil(t, node.Up)
	assert.Same(t, node, first.Up)
	assert.Equal(t, 1, first.Items[1].Index)

	_, err = ReadJSON([]byte("[1,\n é]"))
	assert.Equal(t, &SyntaxError{Line: 2, Column: 2, Found: "'é'", Allowed: "a JSON value"}, err)
	assert.Equal(t, "found 'é'; allowed a JSON value", err.Error())
}

// FuzzReadJSON compares with encoding/json.
func FuzzReadJSON(f *testing.F) {
	f.Add(`{"a":[1,-2.5e3,"\u00e9\ud83d\ude00",true,null],"b":{}}`)
	f.Add(`{"a":1,}`)
	f.Fuzz(func(t *testing.T, src string) {
		if utf8.ValidString(src) {
			check(t, src)
		}
	})
}

// TestQuoteIsStrconvs compares the escapes: all of ASCII, bytes that are no UTF-8,
// and other characters that have no width or change the direction of a line.
func TestQuoteIsStrconvs(t *testing.T) {
	for r := rune(0); r < 0x250; r++ {
		assert.Equal(t, strconv.QuoteRune(r), Quote(string(r), '\''))
		assert.Equal(t, strconv.Quote(string(r)), Quote(string(r), '"'))
	}
	for _, text := range []string{
		"", "é€😀", "\u2028\u200b\u202e\u2066\ufeff\u3000\ue000", "\ufffd", "\xff", "a\xc3", "\xed\xa0\x80", `a"b'c\d`,
	} {
		assert.Equal(t, strconv.Quote(text), Quote(text, '"'))
	}
}
