package trace

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// lines are what the mutations of TestPlain begin with.
var lines = []string{
	`{"at":"0s","op":"call","id":7,"key":"tenant-a","cost":1,"attributes":{"header:x-tenant":"a","ip":"::1"},"deadline":"20s"}`,
	`{"at": "1.8s", "op": "done", "id": "a-7", "outcome": "fail", "retry_after": "-5s"}`,
	`{"at":1800000000,"op":"done","id":7,"outcome":"ok","retry_after":-5}`,
	` { "at" : 3e9 , "op" : "tick" } `,
	`{"at":"2s","op":"cancel","id":-0}`,
	`{"at":"2s","op":"call","id":"\u0061","key":"ü","attributes":{}}`,
	`{"at":"1d12h","OP":"renew","id":01}`,
	`{"at":"0s","op":"call","id":null,"cost":null,"attributes":null}`,
	`{"at":"0s","op":"configure","policy":{"steps":[{"limit":"1/s"}]}}`,
}

// TestPlain compares the reader of plain lines with encoding/json: what it
// accepts means the same to both, and what it does not accept is left to it.
func TestPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for i := range 200_000 {
		src := []byte(lines[i%len(lines)])
		for range r.IntN(4) {
			src = mutate(r, src)
		}
		var fast, slow line
		if !plain(src, &fast) {
			continue
		}
		accepted++
		if err := decode(src, &slow); err != nil {
			t.Fatalf("%s: accepted, but %v", src, err)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%s:\n got %+v\nwant %+v", src, fast, slow)
		}
	}
	if accepted < 10_000 {
		t.Errorf("only %d lines were plain", accepted)
	}
}

func mutate(r *rand.Rand, src []byte) []byte {
	const signs = `{}[]":,\ 0159-+.eE` + "\tax\x00\x7f\xff"
	at := r.IntN(len(src))
	switch r.IntN(3) {
	case 0:
		src[at] = signs[r.IntN(len(signs))]
	case 1:
		src = append(src[:at], src[at+1:]...)
	default:
		src = append(src[:at], append([]byte{signs[r.IntN(len(signs))]}, src[at:]...)...)
	}
	if len(src) == 0 {
		return []byte("{}")
	}
	return src
}

// TestPlainIsUsed makes sure that common lines need no encoding/json.
func TestPlainIsUsed(t *testing.T) {
	for _, src := range lines[:3] {
		if !plain([]byte(src), &line{}) {
			t.Errorf("not plain: %s", src)
		}
	}
}
