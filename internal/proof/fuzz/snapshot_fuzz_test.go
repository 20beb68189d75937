package fuzz

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

// snapshotPolicy has every mechanism whose state a snapshot holds.
const snapshotPolicy = `
version: 1
policies:
  p:
    steps:
      - limit: {name: a, algorithm: sliding-counter, rate: 5/1s, per: key}
      - retry: {attempts: 2, backoff: none, budget: 50%}
      - hedge: {after: 1s, budget: {max_tokens: 4, token_ratio: 0.5}}
      - breaker: {window: {calls: 4}, minimum: 2, open: 1s, per: key}
      - breaker: {name: large, window: {time: 10s, buckets: 20}, minimum: 2, open: 1s}
      - limit: {name: b, rate: 10/1s, wait: 1s, queue: 3}
      - limit: {name: c, algorithm: fixed-window, rate: 4/1s}
`

// FuzzRestore restores contents of any bytes under a right sum: no panic, and
// what was taken can be worked with, and saved and restored again.
func FuzzRestore(f *testing.F) {
	doc := []byte(snapshotPolicy)
	pipeline := func(t testing.TB, source clock.Source) *sluice.Pipeline {
		set, err := sluice.Parse("fuzz.yaml", doc, sluice.WithClock(source))
		if err != nil {
			t.Fatal(err)
		}
		return set.Pipeline("p")
	}
	call := func(p *sluice.Pipeline, key string) {
		// Whether the call is refused is not the question here.
		_, _ = sluice.DoWith(context.Background(), p, sluice.Request{Key: key}, func(context.Context) (int, error) { return 0, nil })
	}
	var source clock.Virtual
	saved := pipeline(f, &source)
	for _, key := range []string{"x", "y", "y"} {
		call(saved, key)
	}
	content := saved.Snapshot()
	f.Add(content[:len(content)-crc32.Size])
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, content []byte) {
		var source clock.Virtual
		p := pipeline(t, &source)
		if p.Restore(binary.LittleEndian.AppendUint32(content, crc32.ChecksumIEEE(content))) != nil {
			return
		}
		for _, key := range []string{"x", "y", "z"} {
			p.Limits(sluice.Request{Key: key}, nil)
		}
		p.State()
		source.Advance(time.Hour)
		if err := pipeline(t, &source).Restore(p.Snapshot()); err != nil {
			t.Fatal(err)
		}
	})
}
