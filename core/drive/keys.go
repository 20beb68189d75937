package drive

import (
	"math/bits"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
)

// Keys numbers the values of attributes, for the driver of one policy: equal values
// have one number as long as the driver uses it. The zero value is ready. A host that
// is not written in Go does the same itself.
type Keys struct {
	numbers map[string]uint32
	values  []string // by number
	free    []uint32
	hand    uint32 // where the search for unused numbers continues
	costs   pipeline.Costs
	applies pipeline.Conditions
}

// Of returns the Keys and Missing of a request: the numbers of what lookup returns
// for the attributes of each step of the active plan. A missing one is empty.
// used is Driver.Uses.
func (k *Keys) Of(plan *pipeline.Plan, lookup func(attribute string) string, used func(number uint32) bool) (numbers [pipeline.MaxSteps]uint32, missing uint16) {
	steps := plan.Keyed()
	// Unused numbers are freed before new ones are assigned: until the call has
	// begun, the driver does not use its numbers.
	for range bits.OnesCount16(steps) {
		k.sweep(used)
	}
	for ; steps != 0; steps &= steps - 1 {
		i := bits.TrailingZeros16(steps)
		value, lacks := keyed.Join(plan.Per(i), lookup)
		if lacks {
			missing |= 1 << i
		}
		numbers[i] = k.number(value)
	}
	return numbers, missing
}

// Value returns what has a number, empty for 0 and a number that is not used.
func (k *Keys) Value(number uint32) string {
	if int(number) >= len(k.values) {
		return ""
	}
	return k.values[number]
}

// sweeps is how many numbers are checked for each key of a call, so that numbers are
// freed as fast as others are assigned.
const sweeps = 2

func (k *Keys) number(value string) uint32 {
	if value == "" {
		return 0
	}
	if n, ok := k.numbers[value]; ok {
		return n
	}
	if k.numbers == nil {
		k.numbers, k.values = map[string]uint32{}, []string{""}
	}
	n := uint32(len(k.values))
	if last := len(k.free) - 1; last >= 0 {
		n, k.free = k.free[last], k.free[:last]
	} else {
		k.values = append(k.values, "")
	}
	k.values[n], k.numbers[value] = value, n
	return n
}

// Price sets the costs of a request, and which steps apply to it, by the attributes that
// lookup returns. They are valid until the next Price.
func (k *Keys) Price(r *Request, plan *pipeline.Plan, lookup func(attribute string) string) {
	if plan.Priced() != 0 {
		k.costs = plan.CostsBy(lookup)
		r.Costs = &k.costs
	}
	if plan.Conditional() {
		k.applies = plan.ConditionsBy(lookup)
		r.Conditions = &k.applies
	}
}

// sweep frees unused numbers, as fast as others are assigned.
func (k *Keys) sweep(used func(uint32) bool) {
	for range sweeps {
		if k.hand++; int(k.hand) >= len(k.values) {
			k.hand = 0
			return
		}
		if value := k.values[k.hand]; value != "" && !used(k.hand) {
			delete(k.numbers, value)
			k.values[k.hand] = ""
			k.free = append(k.free, k.hand)
		}
	}
}
