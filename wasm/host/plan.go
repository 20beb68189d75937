package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
	"github.com/sluice-go/sluice/core/timeout"
)

// Plan is a compiled policy in the module. Closing it leaves the pipelines that
// were made of it as they are.
type Plan struct {
	object
	steps []Step
	// shape is what the host has to know of the plan, in the form that the
	// native core has it: as many steps, with their names and attributes. What
	// they decide stays in the module, and here they are timeouts, and limits where an
	// attribute has a cost. The conditions on calls are the conditions of the plan.
	shape *pipeline.Plan
}

// Step is what is known of a step of a plan outside the module.
type Step struct {
	// Name of the step, as decisions have it.
	Name string
	// Mechanism in the words of the document: limit, breaker and so on.
	Mechanism string
	// Shadow says that the step enforces nothing.
	Shadow bool
	// Per lists the attributes whose values have a cell each.
	Per []string
	// Cost is the attribute that has the cost of a call at the step, empty for none.
	Cost string
}

// Policy compiles a policy of a whole document in JSON, up to 1 MiB. Without a
// name the document must have one policy. All of the document is checked. The error is an
// *Error whose text is the module's.
func (m *Module) Policy(document []byte, name string) (*Plan, error) {
	return m.compile(planOf, []byte(name), document)
}

// Body is Policy for the body of a single policy, as in {"steps": [...]}.
func (m *Module) Body(body []byte) (*Plan, error) { return m.compile(bodyOf, nil, body) }

func (m *Module) compile(e export, name, document []byte) (*Plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	room, _, err := m.makeRoom(len(name) + len(document))
	if err != nil {
		return nil, err
	}
	copy(room[copy(room, name):], document)
	args := []uint64{uint64(len(room)), uint64(len(name))}
	if e == bodyOf {
		args = args[:1]
	}
	made, err := m.put(m.call(e, args...))
	if err != nil {
		return nil, err
	}
	p := &Plan{object: made}
	if err := p.describe(); err != nil {
		return nil, err
	}
	return p, nil
}

// describe asks the module about the steps.
func (p *Plan) describe() error {
	var policy pipeline.Policy
	for i := uint64(0); ; i++ {
		size, err := p.m.call(describe, uint64(p.handle), i)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		text, err := p.m.left()
		if err != nil {
			return err
		}
		lines := strings.Split(string(text), "\n")
		if len(lines) < 3 || i >= pipeline.MaxSteps {
			return p.m.broken(errors.New("it describes no step"))
		}
		s := Step{Name: lines[0], Mechanism: lines[1], Shadow: lines[2] == "shadow", Per: lines[3:]}
		var shape mechanism.Config = timeout.Config{After: 1}
		if last := len(s.Per) - 1; last >= 0 {
			if cost, ok := strings.CutPrefix(s.Per[last], "cost="); ok {
				s.Per, s.Cost = s.Per[:last], cost
				shape = limiter.Config{Count: 1, Period: 1, Cost: limiter.Cost{Attribute: cost}}
			}
		}
		p.steps = append(p.steps, s)
		policy.Steps = append(policy.Steps, pipeline.Step{Config: shape, Name: s.Name, Shadow: s.Shadow, Per: s.Per})
	}
	policy.Pass = len(policy.Steps) == 0
	err := p.conditions(&policy)
	if err != nil {
		return err
	}
	if p.shape, err = pipeline.Compile(policy); err != nil {
		return p.m.broken(err)
	}
	return nil
}

// conditions takes the conditions on calls from the bytes of the plan.
func (p *Plan) conditions(to *pipeline.Policy) error {
	if _, err := p.m.call(encode, uint64(p.handle)); err != nil {
		return err
	}
	src, err := p.m.left()
	if err != nil {
		return err
	}
	from, err := planbytes.Decode(src)
	if err != nil || len(from.Steps) != len(to.Steps) {
		return p.m.broken(fmt.Errorf("it encodes another plan: %w", err))
	}
	to.Allow, to.Deny = from.Allow, from.Deny
	for i := range to.Steps {
		to.Steps[i].When, to.Steps[i].Enforce = from.Steps[i].When, from.Steps[i].Enforce
	}
	return nil
}

// Steps returns the steps of the plan, outermost first.
func (p *Plan) Steps() []Step { return slices.Clone(p.steps) }

// Maker returns a maker of the cells of a step, by its index. A timeout, and a
// retry without a budget, has none.
func (p *Plan) Maker(step int) (*Maker, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.m.maker(true, makerOf, uint64(p.handle), uint64(uint32(step)))
}
