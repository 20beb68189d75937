package bulkhead_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
)

// A bulkhead that is empty again is encoded as shortly as a new one; one that holds a
// few places takes a few bytes for each, however many it held before.
func TestEncodedSizeShrinks(t *testing.T) {
	m, err := bulkhead.New(bulkhead.Config{Concurrent: 1_000, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var out reducer.Out
	state := reducer.ValuesOf(m).Init(0)
	fresh := len(m.Encode(nil, &state))
	var held []reducer.Permit
	for id := range uint64(1_000) {
		a := m.Step(&state, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: id}}, clock.Mark(id), &out)
		held = append(held, a.Permit)
	}
	if n := len(m.Encode(nil, &state)); n > fresh+1_000*9 {
		t.Errorf("1000 places take %d bytes", n)
	}
	last := held[999]
	for _, p := range held[:999] {
		m.Step(&state, reducer.Action{Kind: reducer.Release, Permit: p}, 2_000, &out)
	}
	if n := len(m.Encode(nil, &state)); n > fresh+2+16 {
		t.Errorf("one place takes %d bytes, none %d", n, fresh)
	}
	m.Step(&state, reducer.Action{Kind: reducer.Release, Permit: last}, 2_000, &out)
	if n := len(m.Encode(nil, &state)); n > fresh+2 {
		t.Errorf("empty again it takes %d bytes, a new one %d", n, fresh)
	}
}

// A decoded bulkhead gives the same slots as the one that was encoded: the lowest
// free ones, whatever its history.
func TestSlotsFollowFromHolders(t *testing.T) {
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, 0))
	for n := range 200 {
		c := bulkhead.Config{Concurrent: 1 + uint32(rng.IntN(40))}
		if n%2 == 0 {
			c.Lease = time.Duration(1 + rng.IntN(60))
		}
		m, err := bulkhead.New(c)
		if err != nil {
			t.Fatal(err)
		}
		var out reducer.Out
		state := reducer.ValuesOf(m).Init(0)
		held := map[uint64]reducer.Permit{} // by slot
		for now := range clock.Mark(200) {
			decoded, err := reducer.ValuesOf(m).DecodeState(m.Encode(nil, &state))
			if err != nil {
				t.Fatal(err)
			}
			a := reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: uint64(now)}}
			if p, ok := held[1+rng.Uint64N(uint64(c.Concurrent))]; ok && rng.IntN(5) < 3 {
				a = reducer.Action{Kind: reducer.Release, Permit: p}
			}
			out = out[:0]
			answer := m.Step(&state, a, now, &out)
			if again := m.Step(&decoded, a, now, &out); again != answer || !bytes.Equal(m.Encode(nil, &state), m.Encode(nil, &decoded)) {
				t.Fatalf("seed %d, case %d: %v of a decoded state, else %v", seed, n, again, answer)
			}
			for _, e := range out[:len(out)/2] {
				delete(held, e.Permit.ID)
			}
			switch {
			case a.Kind == reducer.Release:
				delete(held, a.ID)
			case answer.Verdict == reducer.Admit:
				lowest := uint64(1)
				for held[lowest] != (reducer.Permit{}) {
					lowest++
				}
				if answer.ID != lowest {
					t.Fatalf("seed %d, case %d: slot %d, the lowest free one is %d", seed, n, answer.ID, lowest)
				}
				held[answer.ID] = answer.Permit
			}
			if err := m.Check(&state); err != nil {
				t.Fatalf("seed %d, case %d: %v", seed, n, err)
			}
		}
	}
}

// After the process of its holders has ended a bulkhead is empty, and the numbers of
// its grants continue, so that no earlier permit is valid.
func TestRecall(t *testing.T) {
	m, err := bulkhead.New(bulkhead.Config{Concurrent: 1, Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out reducer.Out
	state := reducer.ValuesOf(m).Init(0)
	before := m.Step(&state, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: 1}}, 5, &out)
	m.Step(&state, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: 2}}, 5, &out)
	if !m.Held(&state) {
		t.Error("it is not held")
	}
	m.Recall(&state)
	if m.Held(&state) || m.Check(&state) != nil {
		t.Errorf("recalled it is held, or broken: %v", m.Check(&state))
	}
	after := m.Step(&state, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: 3}}, 5, &out)
	if after.Verdict != reducer.Admit || m.Step(&state, reducer.Action{Kind: reducer.Release, Permit: before.Permit}, 6, &out).Verdict != reducer.Stale {
		t.Errorf("the earlier permit %v is valid beside %v", before.Permit, after.Permit)
	}
}

// A raised maximum serves the queue from the mark of the change on: a lease does
// not begin before its grant.
func TestAdoptServesFromNow(t *testing.T) {
	c := bulkhead.Config{Concurrent: 1, Queue: 1, Lease: time.Minute}
	old, err := bulkhead.New(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Concurrent = 2
	next, err := bulkhead.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var out reducer.Out
	state := reducer.ValuesOf(old).Init(0)
	for id := range uint64(2) {
		old.Step(&state, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: id + 1}}, 0, &out)
	}
	now := clock.Mark(30 * time.Second)
	state = reducer.ValuesOf(next).Adopt(state, old, now, &out)
	if due := next.Due(&state); due.Serves != now || due.Caller != 2 {
		t.Errorf("serves %d at %v", due.Caller, due.Serves)
	}
	if s := reducer.ValuesOf(next).Adopt(state, nil, now, &out); next.Held(&s) {
		t.Error("the state of another mechanism is carried over")
	}
}
