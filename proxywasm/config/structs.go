package config

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/policy/tree"
)

// Read returns the tree of a plugin configuration: JSON, or a google.protobuf.Struct in
// binary, which is what Envoy passes on of a configuration that is no text. No text of
// JSON is one: the tag of a value in a Struct is a control character, which JSON has not.
func Read(src []byte) (*tree.Node, *tree.SyntaxError) {
	if root := readStruct(src); root != nil {
		return root, nil
	}
	return tree.ReadJSON(src)
}

// The tags of Struct, its entries, Value and ListValue of struct.proto: the number of the
// field, and behind it the wire type in three bits: 0 for a varint, 1 for eight bytes, 2
// for what has a length.
const (
	structEntry = 1<<3 + 2
	entryKey    = 1<<3 + 2
	entryValue  = 2<<3 + 2
	valueNull   = 1 << 3
	valueNumber = 2<<3 + 1
	valueText   = 3<<3 + 2
	valueBool   = 4 << 3
	valueStruct = 5<<3 + 2
	valueList   = 6<<3 + 2
	listValue   = 1<<3 + 2
)

// readStruct returns the tree of a Struct that has an entry, nil for what is none.
func readStruct(src []byte) *tree.Node {
	root := &tree.Node{}
	w := wire{rest: src}
	if len(src) == 0 || !w.structure(root, 0) {
		return nil
	}
	return root
}

// wire reads a message. All its methods report false for what is none.
type wire struct{ rest []byte }

func (w *wire) varint() (uint64, bool) {
	n, size := binary.Uvarint(w.rest)
	if size <= 0 {
		return 0, false
	}
	w.rest = w.rest[size:]
	return n, true
}

// part takes a field that has a length.
func (w *wire) part(tag uint64) (part wire, ok bool) {
	found, ok := w.varint()
	if !ok || found != tag {
		return part, false
	}
	return w.sized()
}

func (w *wire) sized() (part wire, ok bool) {
	n, ok := w.varint()
	if !ok || n > uint64(len(w.rest)) {
		return part, false
	}
	part.rest, w.rest = w.rest[:n], w.rest[n:]
	return part, true
}

// structure reads a Struct inside depth others. It sorts the entries by key, because a map
// of protobuf has no order: two Envoys with one configuration then have the same steps.
func (w *wire) structure(n *tree.Node, depth int) bool {
	n.Kind = tree.Map
	for len(w.rest) > 0 {
		entry, ok := w.part(structEntry)
		if !ok {
			return false
		}
		item := &tree.Node{}
		key, ok := entry.part(entryKey)
		if !ok || !utf8.Valid(key.rest) {
			return false
		}
		item.Key = string(key.rest)
		value, ok := entry.part(entryValue)
		if !ok || len(entry.rest) > 0 || !value.value(item, depth+1) {
			return false
		}
		n.Add(item)
	}
	slices.SortStableFunc(n.Items, func(a, b *tree.Node) int { return strings.Compare(a.Key, b.Key) })
	for i, item := range n.Items {
		item.Index = i
	}
	return true
}

// value reads a Value.
func (w *wire) value(n *tree.Node, depth int) bool {
	tag, ok := w.varint()
	if !ok || depth > tree.MaxDepth {
		return false
	}
	switch tag {
	case valueNull:
		n.Kind = tree.Null
		_, ok = w.varint()
	case valueBool:
		var set uint64
		set, ok = w.varint()
		n.Kind, n.Text = tree.Bool, "false"
		if set != 0 {
			n.Text = "true"
		}
	case valueNumber:
		if ok = len(w.rest) >= 8; ok {
			n.Kind, n.Text = tree.Number, decimal(math.Float64frombits(binary.LittleEndian.Uint64(w.rest)))
			w.rest = w.rest[8:]
		}
	case valueText, valueStruct, valueList:
		var part wire
		if part, ok = w.sized(); ok {
			ok = part.content(n, tag, depth)
		}
	default:
		return false
	}
	return ok && len(w.rest) == 0
}

// content reads a text, a Struct or a ListValue.
func (w *wire) content(n *tree.Node, tag uint64, depth int) bool {
	switch tag {
	case valueText:
		n.Kind, n.Text = tree.Text, string(w.rest)
		return utf8.ValidString(n.Text)
	case valueStruct:
		return w.structure(n, depth)
	}
	n.Kind = tree.List
	for len(w.rest) > 0 {
		part, ok := w.part(listValue)
		item := &tree.Node{}
		if !ok || !part.value(item, depth+1) {
			return false
		}
		n.Add(item)
	}
	return true
}

// decimal returns a number as a document has it: with up to nine decimals, which are
// more than any setting takes, or says that no setting takes it.
func decimal(x float64) string {
	sign := ""
	if x < 0 {
		sign, x = "-", -x
	}
	const exact = 1 << 53
	scaled, places := x, 0
	for scaled != math.Trunc(scaled) && places < 9 {
		places++
		scaled = x * pow10[places]
	}
	if !(scaled < exact) || scaled != math.Trunc(scaled) {
		return "out of range"
	}
	text := strconv.FormatUint(uint64(scaled), 10)
	if places == 0 {
		return sign + text
	}
	for len(text) <= places {
		text = "0" + text
	}
	return sign + text[:len(text)-places] + "." + text[len(text)-places:]
}

var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}
