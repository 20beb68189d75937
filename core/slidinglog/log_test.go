package slidinglog

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// A log takes memory for a small multiple of the marks that count at one time,
// however many it has stored before (G10).
func TestMemoryIsBounded(t *testing.T) {
	const count = 100
	m, err := New(Config{Count: count, Period: count})
	if err != nil {
		t.Fatal(err)
	}
	var l Log
	for now := range clock.Mark(100_000) {
		if !m.Take(&l, 1, now) {
			t.Fatalf("at %v the log has no room", now)
		}
	}
	if l.Len() != count || cap(l.buffer) > 4*count {
		t.Errorf("%d marks take room for %d", l.Len(), cap(l.buffer))
	}
}

// The longest log is read, and one that is longer or has a greater cost is not.
func TestLongestLog(t *testing.T) {
	m, err := New(Config{Count: MaxCount, Period: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var l Log
	for now := range clock.Mark(MaxCount) {
		m.Take(&l, 1, now)
	}
	read := func() (Log, error) {
		w := wire.Writer(nil, 't', 0)
		l.Code(&w)
		r := wire.Reader(w.Bytes(), 't', 0)
		var got Log
		got.Code(&r)
		return got, r.Close()
	}
	if got, err := read(); err != nil || got.Len() != MaxCount || got.Version() != l.Version() || got.Check(MaxCount) != nil {
		t.Errorf("%d marks, %v", got.Len(), err)
	}
	for _, cost := range []uint64{maxUsed + 1, 1<<32 + 1, 1<<64 - 1} {
		w := wire.Writer(nil, 't', 0)
		n, ends, since := uint64(1), clock.Mark(5), uint64(0)
		w.Uvarint(&n)
		w.Mark(&ends)
		codeEntry(&w, &since, &cost)
		r := wire.Reader(w.Bytes(), 't', 0)
		var got Log
		if got.Code(&r); r.Close() == nil && got.Check(5) == nil {
			t.Errorf("an entry of %d permits is read as one of %d", cost, got.used(0))
		}
	}
	l.add(clock.Mark(2*time.Hour), 1)
	if _, err := read(); !errors.Is(err, reducer.ErrEncoding) || l.Check(MaxCount) == nil {
		t.Errorf("%d marks: %v", l.Len(), err)
	}
}
