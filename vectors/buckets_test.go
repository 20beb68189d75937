package vectors

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/abi"
)

// TestTokenBuckets replays the suites of token buckets without a queue on what
// tokenbucket.wasm is built of: each step that it has comes to the bytes of the
// vectors.
func TestTokenBuckets(t *testing.T) {
	f, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	configs := map[string]limiter.Config{
		"token bucket":                           {Count: 50, Period: time.Minute, Burst: 10},
		"token bucket, three in ten nanoseconds": {Count: 3, Period: 10, Burst: 4},
	}
	replayed := 0
	for _, s := range f.Suites {
		name, _, _ := strings.Cut(s.Name, " #")
		config, ok := configs[name]
		if !ok {
			continue
		}
		replayed++
		b := &bucketed{Instance: Native(), t: t}
		v := planwire.Writer(nil)
		limiter.Plan(&config, &v)
		b.must(b.m.Reserve(uint32(len(v.Bytes()))))
		b.maker = b.must(b.m.Limiter(uint32(copy(b.m.Buffer, v.Bytes()))))
		if err := (&File{Suites: []Suite{s}}).Replay(b); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if b.steps < 1000 {
			t.Errorf("%s: %d steps alone", s.Name, b.steps)
		}
	}
	if replayed < len(configs) {
		t.Errorf("%d suites of %d", replayed, len(configs))
	}
}

// bucketed compares what is reduced with the steps of a bucket.
type bucketed struct {
	Instance
	t     *testing.T
	m     abi.Buckets
	maker int32
	steps int
}

func (b *bucketed) Call(export string, p ...uint64) (int32, error) {
	var src []byte
	if export == "reduce" {
		src = bytes.Clone(b.Buffer(uint32(p[1])))
	}
	code, err := b.Instance.Call(export, p...)
	if src != nil && err == nil && code > 0 {
		b.compare(src, b.Buffer(uint32(code)))
	}
	return code, err
}

func (b *bucketed) compare(src, left []byte) {
	b.t.Helper()
	const head = 8 + reducer.ActionSize
	a, err := reducer.DecodeAction(src[8:head])
	if err != nil {
		b.t.Fatal(err)
	}
	switch a.Kind {
	case reducer.Reserve, reducer.Settle, reducer.Drain:
		return
	}
	now := clock.Mark(binary.LittleEndian.Uint64(src))
	cell := b.at(now, func(nan float64) int32 { return b.m.Cell(uint32(b.maker), nan) })
	if state := src[head:]; len(state) > 0 {
		b.must(b.m.Reserve(uint32(len(state))))
		copy(b.m.Buffer, state)
		b.at(now, func(nan float64) int32 { return b.m.Restore(uint32(cell), uint32(len(state)), nan, nan) })
	}
	b.m.Slots.Permit = a.Permit
	verdict := b.at(now, func(nan float64) int32 {
		return b.m.Step(uint32(cell), uint32(a.Kind), uint32(a.Outcome), a.Cost, nan)
	})
	s := &b.m.Slots
	answer := reducer.Answer{Verdict: reducer.Verdict(verdict), Reason: reducer.Reason(s.Reason), Free: s.Free, Permit: s.Permit}
	size := b.must(b.m.State(uint32(cell)))
	state := b.m.Buffer[:size]
	answer.Changed = !bytes.Equal(state, src[head:]) && len(src) > head
	next := binary.LittleEndian.Uint32(left)
	want := left[4+next:]
	if len(src) == head { // what a new state would be is not known
		answer.Changed = want[2] == 1
	}
	if got := (reducer.Effects{Answer: answer}).AppendBytes(nil); !bytes.Equal(got, want) || !bytes.Equal(state, left[4:4+next]) {
		b.t.Fatalf("step %d, %+v at %v: %x and %x, the vectors have %x and %x", b.steps, a, now, got, state, want, left[4:4+next])
	}
	b.must(b.m.Free(uint32(cell)))
	b.steps++
}

// at calls at an exact mark.
func (b *bucketed) at(now clock.Mark, call func(nan float64) int32) int32 {
	b.t.Helper()
	b.m.Slots.Exact, b.m.Slots.Now = abi.ExactNow, now
	return b.must(call(math.NaN()))
}

func (b *bucketed) must(code int32) int32 {
	b.t.Helper()
	if code < 0 {
		b.t.Fatalf("code %d: %s", code, b.m.Buffer[:b.m.Slots.Size])
	}
	return code
}
