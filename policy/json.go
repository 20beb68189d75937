package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
)

// ToJSON returns a document in JSON, in ASCII and indented by two spaces, with its
// settings in the order of the source: ParseJSON of package document reads the same from
// it, but for places. The error is the error of Parse.
func ToJSON(file string, src []byte) ([]byte, error) {
	root, before := read(file, src)
	if root == nil {
		return nil, before
	}
	if _, err := document.Read(file, root, before); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, appendJSON(nil, root), "", "  "); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// appendJSON appends a valid tree.
func appendJSON(out []byte, n *tree.Node) []byte {
	switch n.Kind {
	case tree.Bool, tree.Number:
		return append(out, n.Text...)
	case tree.Text:
		return appendText(out, n.Text)
	case tree.List:
		out = append(out, '[')
		for i, item := range n.Items {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, item)
		}
		return append(out, ']')
	case tree.Map:
		out = append(out, '{')
		for i, entry := range n.Items {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendText(out, entry.Key), ':')
			out = appendJSON(out, entry)
		}
		return append(out, '}')
	}
	return append(out, "null"...)
}

// appendText appends a string of JSON.
func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r >= ' ' && r <= '~':
			out = append(out, byte(r))
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return append(out, '"')
}
