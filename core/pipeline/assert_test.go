package pipeline

import (
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/reducer"
)

// granting is a host whose cells admit all calls.
type granting struct{}

func (granting) Admit(uint8, int) (reducer.Permit, bool)           { return reducer.Permit{ID: 1}, true }
func (granting) Ask(uint8, int, reducer.Action) (a reducer.Answer) { return a }
func (granting) Exit(uint8, int, reducer.Permit) bool              { return true }
func (granting) Leave(uint8, int, reducer.Action) (dropped uint64, settled bool) {
	return 0, false
}
func (granting) Missing(int) bool                                   { return false }
func (granting) Start(uint8)                                        {}
func (granting) Stop(uint8)                                         {}
func (granting) Decision(decision.Kind, int) (d *decision.Decision) { return d }
func (granting) Tell(*decision.Decision)                            {}

// A call that is over and holds a permit, a phase that does not follow from the one before, and
// an attempt of a round outside a round fail an assertion, where assertions are on.
func TestAssertions(t *testing.T) {
	p, err := Compile(Policy{Steps: []Step{{Config: bulkhead.Config{Concurrent: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		plant func(c *Call)
		fires bool
	}{
		{"nothing", func(*Call) {}, false},
		{"a permit of a step that was not entered", func(c *Call) { c.Entered = 0 }, true},
		{"a round without a hedge", func(c *Call) { c.Race = &Race{} }, true},
		{"a phantom that holds its permit, too", func(c *Call) { c.Phantom = c.Held; c.Entered = 0 }, true},
	} {
		var call Call
		p.Take(granting{}, &call, p.Begin(&call, 1, 100, 0), 0)
		if call.Phase != Running {
			t.Fatalf("the call is in phase %d", call.Phase)
		}
		c.plant(&call)
		fires := func() (does bool) {
			defer func() { does = recover() != nil }()
			p.Finish(granting{}, &call, 0, reducer.OK, false, 0, 1)
			return false
		}()
		if fires != (assert.On && c.fires) {
			t.Errorf("%s: panics %t, assertions on %t", c.name, fires, assert.On)
		}
	}
}

// Every phase but the last one leads to the last one, and no phase follows it.
func TestPhases(t *testing.T) {
	for p := Entering; p < Over; p++ {
		if p.follows()&(1<<Over) == 0 {
			t.Errorf("phase %d never ends", p)
		}
	}
	if Over.follows() != 0 || Over.followsTry() != 0 {
		t.Error("something follows the end")
	}
}
