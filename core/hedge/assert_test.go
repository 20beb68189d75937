package hedge

import (
	"testing"

	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/reducer"
)

// Durations out of order fail an assertion, where assertions are on.
func TestAssertions(t *testing.T) {
	m, err := New(Config{Max: 1, Percentile: reducer.Percent(95)})
	if err != nil {
		t.Fatal(err)
	}
	var s State
	for _, took := range []uint64{5, 3, 9} {
		m.Step(&s, reducer.Action{Kind: reducer.Observe, Value: took}, 0, nil)
	}
	s.sorted[0], s.sorted[2] = s.sorted[2], s.sorted[0]
	fires := func() (does bool) {
		defer func() { does = recover() != nil }()
		m.Step(&s, reducer.Action{Kind: reducer.Observe, Value: 1}, 0, nil)
		return false
	}()
	if fires != assert.On {
		t.Errorf("panics %t, assertions on %t", fires, assert.On)
	}
}
