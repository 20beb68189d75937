package drive

import (
	"strconv"

	"github.com/sluice-go/sluice/core/pipeline"
)

// Keys numbers the values of attributes, for the driver of one policy: equal
// values have one number as long as the driver uses it. The zero value is
// ready. A host that is not written in Go does the like itself.
type Keys struct {
	numbers map[string]uint32
	values  []string // by number
	free    []uint32
	hand    uint32 // where the search for numbers out of use goes on
}

// Of returns the Keys of a request: the numbers of what lookup returns for the
// attributes of each step of the plan in force. A missing one is empty. used is
// Driver.Uses.
func (k *Keys) Of(plan *pipeline.Plan, lookup func(attribute string) string, used func(number uint32) bool) (numbers [pipeline.MaxSteps]uint32) {
	// Numbers go out of use before any is given: until the call has begun, the
	// driver does not use those that it brings.
	for i := range plan.Len() {
		if len(plan.Per(i)) > 0 {
			k.sweep(used)
		}
	}
	for i := range plan.Len() {
		if per := plan.Per(i); len(per) > 0 {
			numbers[i] = k.number(join(per, lookup))
		}
	}
	return numbers
}

// join joins the values of the attributes so that different lists never give
// one key. It is empty where all are.
func join(per []string, lookup func(string) string) string {
	if len(per) == 1 {
		return lookup(per[0])
	}
	var key []byte
	all := 0
	for _, attribute := range per {
		value := lookup(attribute)
		all += len(value)
		key = strconv.AppendInt(key, int64(len(value)), 10)
		key = append(key, ':')
		key = append(key, value...)
	}
	if all == 0 {
		return ""
	}
	return string(key)
}

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

// sweep takes back numbers that are out of use, as fast as others come.
func (k *Keys) sweep(used func(uint32) bool) {
	for range sweep {
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
