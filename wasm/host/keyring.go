package host

import (
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/wasm/abi"
)

// keyring has the numbers of the values of attributes.
type keyring struct {
	drive.Keys
	// batch counts batches; given has, by number, the last batch that has it.
	batch uint32
	given []uint32
}

// number returns the numbers of attributes for the steps of the active plan,
// with abi.KeyMissing where one is missing.
func (p *Pipeline) number(lookup func(attribute string) string) [pipeline.MaxSteps]uint32 {
	numbers, missing := p.keys.Of(p.plan.shape, lookup, p.uses)
	for i, n := range numbers {
		if missing&(1<<i) != 0 {
			numbers[i] |= abi.KeyMissing
		}
		for int(n) >= len(p.keys.given) {
			p.keys.given = append(p.keys.given, 0)
		}
		p.keys.given[n] = p.keys.batch
	}
	return numbers
}

// uses reports whether a number still means something: to the module, or to an
// event of this batch that the module does not know yet.
func (p *Pipeline) uses(number uint32) bool {
	if int(number) < len(p.keys.given) && p.keys.given[number] == p.keys.batch {
		return true
	}
	used, err := p.m.call(uses, uint64(p.handle), uint64(number))
	return err != nil || used != 0
}

// errKeys says that there are more values of attributes than numbers.
var errKeys = &Error{Code: abi.BadArgument, Text: "more than 16777215 values of attributes are in use"}
