package limiter

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/reducer"
)

// An answer that says that the state changed where it did not, a permit without a generation and
// a turn that is kept but is wrong fail an assertion, where assertions are on.
func TestAssertions(t *testing.T) {
	m, err := New(Config{Count: 1, Period: time.Minute, Burst: 1, Wait: time.Hour, Queue: 4})
	if err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(s *State){
		"nothing":                     func(*State) {},
		"a change that was none":      func(s *State) { s.count.changed = true },
		"permits without generation":  func(s *State) { s.count.generation = 0 },
		"a turn later than it is":     func(s *State) { s.line.tail.at++ },
		"refusals that are not over":  func(s *State) { s.line.streak = streak{until: s.Last + 1, refused: 1} },
		"a waiter that takes nothing": func(s *State) { s.line.queue.At(0).Cost = 0 },
	} {
		s := reducer.ValuesOf(m).Init(0)
		for caller := range uint64(3) {
			m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: caller}}, 0, new(reducer.Out))
		}
		m.foresee(&s, 0)
		plant(&s)
		fires := func() (does bool) {
			defer func() { does = recover() != nil }()
			m.Step(&s, reducer.Action{Kind: reducer.Tick}, 0, new(reducer.Out))
			return false
		}()
		if fires != (assert.On && name != "nothing") {
			t.Errorf("%s: panics %t, assertions on %t", name, fires, assert.On)
		}
	}
}
