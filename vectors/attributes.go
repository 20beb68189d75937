package vectors

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/wasm/abi"
)

// Set is the attributes that a call may have.
type Set struct {
	// Attributes are names and values in turn.
	Attributes []string
	// Says is what they say, by the policy.
	Says []Said
}

// Said is what the attributes of a call say about the steps of a policy, as a host puts it
// into the slots: zeros where the policy asks for nothing.
type Said struct {
	Applies, Decides uint32
	// Priced has a bit for each step with a cost in Costs, the lowest bit first.
	Priced uint32
	Costs  []uint32
}

const separator = "\x00"

func (r *reader) set(policies int) (s Set) {
	if text := string(r.text()); text != "" {
		s.Attributes = strings.Split(text, separator)
	}
	for range policies {
		one := Said{Applies: r.u32(), Decides: r.u32(), Priced: uint32(r.varint())}
		for range bits.OnesCount32(one.Priced) {
			one.Costs = append(one.Costs, uint32(r.varint()))
		}
		s.Says = append(s.Says, one)
	}
	if len(s.Attributes)%2 != 0 && r.err == nil {
		r.err = fmt.Errorf("%w: an attribute without a value", errFormat)
	}
	return s
}

func (s *Set) append(dst []byte) []byte {
	dst = appendText(dst, []byte(strings.Join(s.Attributes, separator)))
	for i := range s.Says {
		one := &s.Says[i]
		dst = binary.LittleEndian.AppendUint32(dst, one.Applies)
		dst = binary.LittleEndian.AppendUint32(dst, one.Decides)
		dst = binary.AppendUvarint(dst, uint64(one.Priced))
		for _, cost := range one.Costs {
			dst = binary.AppendUvarint(dst, uint64(cost))
		}
	}
	return dst
}

// lookup returns the value of an attribute, empty for a missing one.
func (s *Set) lookup(attribute string) string {
	for i := 0; i+1 < len(s.Attributes); i += 2 {
		if s.Attributes[i] == attribute {
			return s.Attributes[i+1]
		}
	}
	return ""
}

// asks returns the plans that are asked what attributes say, nil where there are none.
func (s *Suite) asks() (plans []*pipeline.Plan, err error) {
	for i := range s.Policies {
		if len(s.Sets) == 0 {
			break
		}
		read, err := document.ParseOneJSON("policy", s.Policies[i])
		if err != nil {
			return nil, err
		}
		plan, err := pipeline.Compile(read.Policy)
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// saidTo returns what the attributes say about the steps of a plan.
func (s *Set) saidTo(plan *pipeline.Plan) (x Said) {
	if plan.Conditional() {
		conditions := plan.ConditionsBy(s.lookup)
		x.Applies, x.Decides = abi.WordsOf(&conditions)
	}
	if plan.Priced() != 0 {
		costs := plan.CostsBy(s.lookup)
		x.Priced = uint32(costs.Known)
		for left := costs.Known; left != 0; left &= left - 1 {
			x.Costs = append(x.Costs, costs.Of[bits.TrailingZeros16(left)])
		}
	}
	return x
}

// said returns an error where the attributes of a suite say something else than the file
// has.
func (s *Suite) said() error {
	plans, err := s.asks()
	for k, plan := range plans {
		for n := range s.Sets {
			is, want := s.Sets[n].saidTo(plan), &s.Sets[n].Says[k]
			if is.Applies != want.Applies || is.Decides != want.Decides || is.Priced != want.Priced || !slices.Equal(is.Costs, want.Costs) {
				return fmt.Errorf("the attributes %q say something else about policy %d", s.Sets[n].Attributes, k)
			}
		}
	}
	return err
}
