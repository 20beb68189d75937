package abi

import (
	"strings"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// Plan compiles a policy of a document. The buffer holds the name of the policy
// in nameSize bytes, which may be none where there is one policy, and the
// document in JSON: size bytes in all.
func (m *Module) Plan(size, nameSize uint32) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	if nameSize > size {
		return m.fail(BadSize, "the name is longer than all")
	}
	if m.cannotCompile(size) {
		return NoMemory
	}
	p, err := document.ParsePolicyJSON("policy", src[nameSize:], string(src[:nameSize]))
	return m.plan(p, err)
}

// Body compiles the body of a single policy, as in {"steps": [...]}: size bytes
// of JSON in the buffer.
func (m *Module) Body(size uint32) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	if m.cannotCompile(size) {
		return NoMemory
	}
	p, err := document.ParseOneJSON("policy", src)
	return m.plan(p, err)
}

// Compile compiles a plan: size bytes in the buffer, see PLAN.md.
func (m *Module) Compile(size uint32) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	if n := planTimes*size + 8*objectBytes; m.short(n, objectBytes, forObject) {
		return NoMemory
	}
	plan, err := planbytes.Compile(src)
	if err != nil {
		return m.wrongPlan(err.(*planbytes.Error))
	}
	return m.put(object{plan: plan})
}

// wrongPlan leaves the step and the name of what is wrong with a plan.
func (m *Module) wrongPlan(e *planbytes.Error) int32 {
	m.Slots.Step = uint32(e.Step)
	code := BadPolicy
	if e.Err == nil {
		code = BadBytes
	}
	if !reducer.ErrorTexts {
		return m.named(code, e.Field)
	}
	return m.named(code, e.Error())
}

// Encode leaves the bytes of a plan in the buffer and returns their size.
func (m *Module) Encode(planHandle uint32) int32 {
	plan := m.get(planHandle).plan
	if plan == nil {
		return m.lost()
	}
	return m.give(planbytes.Append(nil, plan))
}

func (m *Module) plan(p *document.Policy, err error) int32 {
	if err != nil {
		return m.failed(BadPolicy, err)
	}
	plan, err := pipeline.Compile(p.Policy)
	if err != nil {
		return m.failed(BadPolicy, err)
	}
	return m.put(object{plan: plan})
}

// Describe leaves lines about a step in the buffer: its name, its mechanism,
// "shadow" or "enforce", the attributes that its cells are kept per, and, where an
// attribute has its cost, that attribute behind "cost=". It returns their size, 0 past
// the last step.
func (m *Module) Describe(planHandle, step uint32) int32 {
	plan := m.get(planHandle).plan
	if plan == nil {
		return m.lost()
	}
	if step >= uint32(plan.Len()) {
		return 0
	}
	i := int(step)
	mode := "enforce"
	if plan.Shadow(i) {
		mode = "shadow"
	}
	lines := append([]string{plan.StepName(i), plan.Kind(i).String(), mode}, plan.Per(i)...)
	if cost := plan.CostAttribute(i); cost != "" {
		lines = append(lines, "cost="+cost)
	}
	return m.give([]byte(strings.Join(lines, "\n")))
}

// MakerOf returns a maker of the cells of a step. A timeout, and a retry without
// a budget, has none.
func (m *Module) MakerOf(planHandle, step uint32) int32 {
	plan := m.get(planHandle).plan
	if plan == nil {
		return m.lost()
	}
	if step >= uint32(plan.Len()) || plan.Maker(int(step)) == nil {
		return m.noCells()
	}
	if m.short(objectBytes, objectBytes, forObject) {
		return NoMemory
	}
	made := plan.Maker(int(step))
	return m.put(object{maker: &maker{
		Maker:    made,
		queued:   plan.Queues(int(step)),
		timeless: timeless(breaker.Timeless(made)),
		grows:    grows(made),
	}})
}

func (m *Module) noCells() int32 { return m.fail(BadArgument, "the step has no cells") }
