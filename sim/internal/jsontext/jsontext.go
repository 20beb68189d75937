// Package jsontext writes JSON without reflection, so that it is the same in a module
// built by TinyGo.
package jsontext

import (
	"math"
	"strconv"
	"time"
)

// Writer appends JSON to Text. The zero value is ready.
type Writer struct {
	Text   []byte
	behind bool // an item of the same map or list
}

// Open begins a map or a list with its bracket, Close ends it.
func (w *Writer) Open(bracket byte) { w.Text, w.behind = append(w.Text, bracket), false }

// Close ends a map or a list with its bracket.
func (w *Writer) Close(bracket byte) { w.Text, w.behind = append(w.Text, bracket), true }

// Item begins the next item of a list, of which a map or a list may be one.
func (w *Writer) Item() {
	if w.behind {
		w.Text = append(w.Text, ',')
	}
	w.behind = true
}

// Key begins the next entry of a map.
func (w *Writer) Key(name string) {
	w.Item()
	w.Text = append(AppendText(w.Text, name), ':')
}

// Raw writes a value that is JSON already.
func (w *Writer) Raw(value string) { w.Text = append(w.Text, value...) }

// Count writes an entry with a count.
func (w *Writer) Count(name string, n uint64) {
	w.Key(name)
	w.Text = strconv.AppendUint(w.Text, n, 10)
}

// Number writes an entry with a number in full.
func (w *Writer) Number(name string, x float64) {
	w.Key(name)
	w.Text = strconv.AppendFloat(w.Text, x, 'f', -1, 64)
}

// Seconds writes an entry with a duration in seconds; one that is negative is null.
func (w *Writer) Seconds(name string, d time.Duration) {
	if d < 0 {
		w.Key(name)
		w.Raw("null")
		return
	}
	w.Number(name, float64(d)/1e9)
}

// String writes an entry with a text.
func (w *Writer) String(name, value string) {
	w.Key(name)
	w.Text = AppendText(w.Text, value)
}

// Short writes a value with six digits, one that is no number as null.
func (w *Writer) Short(x float64) {
	if math.IsNaN(x) {
		w.Raw("null")
		return
	}
	w.Text = strconv.AppendFloat(w.Text, x, 'g', 6, 64)
}

// AppendText appends a string.
func AppendText(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range []byte(text) {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', r)
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = append(dst, r)
		}
	}
	return append(dst, '"')
}
