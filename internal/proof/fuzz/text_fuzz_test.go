package fuzz

import (
	"testing"

	"github.com/sluice-go/sluice/reducer"
)

// A text that a reader of a text form accepts is written back as the same text.

func FuzzAction(f *testing.F) {
	f.Add("acquire cost=1 id=7")
	f.Add("record fail generation=2 mark=1s")
	text(f, reducer.ParseAction)
}

func FuzzEffects(f *testing.F) {
	f.Add("admit free=3 generation=1 mark=5ns")
	f.Add("reject rate retry-at=10ms; drop wait caller=4; grant caller=5 id=2 mark=never")
	text(f, reducer.ParseEffects)
}

func text[V interface{ String() string }](f *testing.F, parse func(string) (V, error)) {
	f.Fuzz(func(t *testing.T, src string) {
		value, err := parse(src)
		if err == nil && value.String() != src {
			t.Fatalf("%q is read as %q", src, value)
		}
	})
}

// FuzzTrace writes what it has read and reads it again.
func FuzzTrace(f *testing.F) {
	f.Add(string(reducer.AppendTrace(nil, reducer.Entry{N: 1, At: 5, Cell: "c", Key: "k", Action: reducer.Action{Kind: reducer.Acquire, Cost: 1}})))
	f.Add("\n")
	f.Fuzz(func(t *testing.T, src string) {
		e, err := reducer.ParseTrace(src)
		if err != nil {
			return
		}
		line := reducer.AppendTrace(nil, e)
		again, err := reducer.ParseTrace(string(line))
		if err != nil || string(reducer.AppendTrace(nil, again)) != string(line) {
			t.Fatalf("%q is read as %v, %v", line, again, err)
		}
	})
}
