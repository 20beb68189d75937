package pipeline

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/core/mechanism"
)

// TestNewTraitsAreSlow: a trait that fastTraits does not name, and so each one that is added
// later, makes the calls of a plan slow, whatever the traits of its other steps are.
func TestNewTraitsAreSlow(t *testing.T) {
	const last = mechanism.ShareByAttribute
	for bit := range 32 {
		trait := mechanism.Traits(1) << bit
		var plan Plan
		plan.retry = -1
		plan.note(0, mechanism.Asks|mechanism.Refunds)
		plan.note(1, trait)
		plan.note(2, mechanism.Cuts)
		plan.combine()
		if trait > last {
			assert.False(t, plan.Fast(), "bit %d", bit)
		}
		assert.Equal(t, fastTraits&trait != 0, plan.Fast(), "bit %d", bit)
	}
	for _, slow := range []mechanism.Traits{
		mechanism.Hedges, mechanism.Injects, mechanism.Lapses, mechanism.Costs, mechanism.Settles, mechanism.Partial,
	} {
		assert.Zero(t, fastTraits&slow, "bit %d", bits.TrailingZeros32(uint32(slow)))
	}
}
