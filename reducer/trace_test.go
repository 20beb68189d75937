package reducer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
)

var marks = []clock.Mark{0, 1, -1, 1_500_000_000, -90_000_000_000_001, 999, 1_000, 1_001_000, 3_600_000_000_000,
	clock.Never, clock.Always, clock.Never - 1, clock.Always + 1}

var counts = []uint64{0, 1, 7, 1 << 20, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64}

func permit(r *rand.Rand) reducer.Permit {
	return reducer.Permit{Generation: counts[r.IntN(len(counts))], ID: counts[r.IntN(len(counts))], Mark: mark(r)}
}

func mark(r *rand.Rand) clock.Mark {
	if r.IntN(2) == 0 {
		return clock.Mark(r.Uint64() >> r.IntN(64))
	}
	return marks[r.IntN(len(marks))]
}

func word(r *rand.Rand) uint8 {
	if r.IntN(8) == 0 {
		return uint8(r.UintN(256))
	}
	return uint8(r.UintN(17))
}

func entry(r *rand.Rand) reducer.Entry {
	names := []string{"", "limit", "limit-2", `a "b\c`, "tenant\n\t\x00\x7f", "ключ", "😀", "\u2028"}
	e := reducer.Entry{
		N: r.Uint64(), At: mark(r), Cell: names[r.IntN(len(names))], Key: names[r.IntN(len(names))], Digest: r.Uint64() >> r.IntN(64),
		Action: reducer.Action{Kind: reducer.Kind(word(r)), Outcome: reducer.Outcome(word(r)), Cost: uint32(counts[r.IntN(5)]), Permit: permit(r)},
		Effects: reducer.Effects{Answer: reducer.Answer{
			Verdict: reducer.Verdict(r.IntN(6)), Reason: reducer.Reason(word(r)), Free: uint32(counts[r.IntN(5)]), Permit: permit(r)}},
	}
	for range r.IntN(3) {
		e.Effects.Others = append(e.Effects.Others, reducer.Effect{
			Kind: reducer.EffectKind(word(r)), Reason: reducer.Reason(word(r)), Caller: counts[r.IntN(len(counts))], Permit: permit(r)})
	}
	return e
}

// Whatever a step says, its line is JSON on one line, and is read back as it was.
func TestTraceRoundTrip(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 4_000 {
		e := entry(r)
		line := reducer.AppendTrace(nil, e)
		if !json.Valid(line) || bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("seed %d, case %d: not a line of JSON: %q", seed, n, line)
		}
		got, err := reducer.ParseTrace(string(line))
		if err != nil {
			t.Fatalf("seed %d, case %d: %q: %v", seed, n, line, err)
		}
		if again := reducer.AppendTrace(nil, got); !bytes.Equal(line, again) || got.Action != e.Action || got.Effects.Answer != e.Effects.Answer {
			t.Fatalf("seed %d, case %d: written %q, read as %q", seed, n, line, again)
		}
	}
}

func TestTextForms(t *testing.T) {
	for want, got := range map[string]string{
		"acquire cost=1 id=7":                      reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 7}}.String(),
		"record fail gen=3 mark=1.5s":              reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail, Permit: reducer.Permit{Generation: 3, Mark: 1_500_000_000}}.String(),
		"reject rate retry=2s":                     reducer.Rejected(reducer.ReasonRate, 2_000_000_000).String(),
		"reject capacity retry=never":              reducer.Rejected(reducer.ReasonCapacity, clock.Never).String(),
		"wait ends=never ticket=9 turn=5s":         reducer.Waiting(9, 5_000_000_000, clock.Never).String(),
		"drop wait caller=7":                       reducer.Effect{Kind: reducer.Drop, Reason: reducer.ReasonWait, Caller: 7}.String(),
		"stale":                                    reducer.Effects{}.String(),
		"done; grant caller=7 gen=3 id=1 mark=2ns": reducer.Effects{Answer: reducer.Answer{Verdict: reducer.Done}, Others: reducer.Out{{Kind: reducer.Grant, Caller: 7, Permit: reducer.Permit{Generation: 3, ID: 1, Mark: 2}}}}.String(),
	} {
		if got != want {
			t.Errorf("written %q, want %q", got, want)
		}
	}
}

// A text has one form: what could be written otherwise is refused.
func TestBadTexts(t *testing.T) {
	for _, text := range []string{
		"", " ", "acquire ", " acquire", "acquire  cost=1", "hop", "acquire 0", "acquire hop", "017", "acquire cost=0", "acquire cost=01",
		"acquire cost=+1", "acquire cost=4294967296", "acquire id=7 cost=1", "acquire cost=1 cost=1", "acquire gen=1 gen=2", "acquire id=1 id=2", "acquire mark=1s mark=2s", "acquire what=1", "acquire id=18446744073709551616",
		"acquire mark=0s", "acquire mark=1", "acquire mark=1.50s", "acquire mark=1500ms", "acquire mark=60s", "acquire mark=1us", "acquire mark=-0s",
		"acquire mark=", "acquire mark=s", "acquire mark=.5s", "acquire mark=1.s", "acquire mark=1..5s", "acquire mark=99999999999h0m0s", "acquire mark=2562047h47m16.854775807s",
		"acquire mark=1h", "acquire mark=--1s", "acquire mark=1d", "256",
	} {
		if a, err := reducer.ParseAction(text); !errors.Is(err, reducer.ErrText) {
			t.Errorf("%q is read as %v (%v)", text, a, err)
		}
	}
	for _, text := range []string{"", "admit;", "admit; ", "admit;done", "done; hop", "done; grant caller=0", "done; drop caller=1 wait", "wait turn=5s ticket=1", "reject mark=5s", "reject rate rate", "stale free=4294967296"} {
		if e, err := reducer.ParseEffects(text); !errors.Is(err, reducer.ErrText) {
			t.Errorf("%q is read as %v (%v)", text, e, err)
		}
	}
}

const good = `{"n":1,"at":"1s","cell":"limit","key":"a","action":"acquire cost=1","effects":"admit","digest":"00000000000000ff"}`

func TestParseTrace(t *testing.T) {
	want, err := reducer.ParseTrace(good)
	if err != nil || want.N != 1 || want.At != 1_000_000_000 || want.Cell != "limit" || want.Key != "a" || want.Digest != 255 {
		t.Fatalf("%+v, %v", want, err)
	}
	// Order and blanks do not matter to a reader, nor how a string is escaped.
	for _, line := range []string{
		` { "digest" : "00000000000000ff" , "effects":"admit","action":"acquire cost=1","key":"a","cell":"limit","at":"1s" , "n" : 1 } ` + "\r\n",
		strings.Replace(good, "limit", `\u006cimit`, 1),
		strings.Replace(good, `"key":"a"`, `"k\u0065y":"\u0061"`, 1),
	} {
		got, err := reducer.ParseTrace(line)
		if err != nil || string(reducer.AppendTrace(nil, got)) != string(reducer.AppendTrace(nil, want)) {
			t.Errorf("%s: %v, %v", line, got, err)
		}
	}
	for from, to := range map[string]string{`\ud83d\ude00`: "😀", `\ud800\udc00`: "\U00010000", `\udbff\udfff`: "\U0010ffff", `\ud83d`: "\ufffd", `\ud83dx`: "\ufffdx", `\ud83d\u0041`: "\ufffdA", `\/\b\f\n\r\t\"\\`: "/\b\f\n\r\t\"\\"} {
		got, err := reducer.ParseTrace(strings.Replace(good, "limit", from, 1))
		if err != nil || got.Cell != to {
			t.Errorf("%s is read as %q, want %q (%v)", from, got.Cell, to, err)
		}
	}
	for _, change := range [][2]string{
		{good, ""}, {good, "{}"}, {good, "[]"}, {good, good + good}, {good, good + "x"}, {good, good[:len(good)-1]}, {good, good[1:]},
		{`"n":1,`, ""}, {`"n":1`, `"n":01`}, {`"n":1`, `"n":-1`}, {`"n":1`, `"n":"1"`}, {`"n":1`, `"n":18446744073709551616`}, {`"n":1`, `"n":1,"n":1`}, {`"n":1`, `"m":1`},
		{`"1s"`, `"1000ms"`}, {`"1s"`, `1`}, {`00ff`, `00FF`}, {`00ff`, `ff`}, {`00ff`, `00f`}, {"acquire", "hop"}, {"admit", "hop"},
		{"limit", "a\nb"}, {"limit", `\x`}, {"limit", `\u12`}, {"limit", `\u12zz`}, {`"limit"`, `"limit`}, {`"limit"`, `"limit\`}, {`"cell":`, `"cell"`}, {`"key":"a"`, `"key":"a",`},
	} {
		line := strings.Replace(good, change[0], change[1], 1)
		if e, err := reducer.ParseTrace(line); !errors.Is(err, reducer.ErrText) {
			t.Errorf("%s is read as %+v (%v)", line, e, err)
		}
	}
	if got := string(reducer.AppendTrace(nil, reducer.Entry{Key: "a\xffb"})); !strings.Contains(got, "a\ufffdb") {
		t.Errorf("bytes that are not UTF-8 are written as %q", got)
	}
}

// The digest is FNV-1a: that of the empty bulkhead's encoding without the digest of
// its configuration, checked against the standard library's.
func TestDigest(t *testing.T) {
	m, err := bulkhead.New(bulkhead.Config{Concurrent: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	encoded := reducer.ValuesOf(m).AppendState(nil, reducer.ValuesOf(m).Init(5))
	h.Write(slices.Delete(encoded, 2, 6))
	if got := reducer.Digest(reducer.ValuesOf(m).AppendState(nil, reducer.ValuesOf(m).Init(5))); got != h.Sum64() {
		t.Errorf("digest %x, want %x", got, h.Sum64())
	}
}
