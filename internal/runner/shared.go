package runner

import (
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/durations"
)

// Mechanisms are the cells that several pipelines share, by the names of the mechanisms.
// They belong to the pipelines whose active plans have them.
//
// Each mechanism without keys has a mutex of its own, not the mutex of a pipeline, so that its
// cell stays where it is when another document has other pipelines share it. A call that needs
// several mutexes at a time takes the mutex of its pipeline first, and then the mutexes of the
// mechanisms in the order in which the mechanisms were made.
type Mechanisms struct {
	mu        sync.Mutex // of the bindings of all pipelines
	shared    map[string]*StepCells
	made      uint64
	pipelines []weak.Pointer[Pipeline] // those that are gone drop out with the next Configure
}

// member is a pipeline that has the cells of a step.
type member struct {
	pipeline *Pipeline // nil in the members of a shared mechanism, which keep no pipeline in memory
	weakly   weak.Pointer[Pipeline]
	step     string               // the name of the step there
	waits    *durations.Histogram // of its calls that are over
}

// members are the pipelines that have the cells of a step: one, or those that share its
// mechanism.
type members struct{ list atomic.Pointer[[]member] }

func (m *members) all() []member {
	if list := m.list.Load(); list != nil {
		return *list
	}
	return nil
}

// Hears reports whether a function listens to events of a kind.
func (m *members) Hears(k decision.Kind) bool {
	for _, x := range m.all() {
		if p := x.get(); p != nil && p.Hears(k) {
			return true
		}
	}
	return false
}

// emit emits an event of a cell at every pipeline that has it.
func (m *members) emit(e *api.Event) {
	for _, x := range m.all() {
		x.emit(*e)
	}
}

// emit emits an event of a cell under the names of the pipeline and its step.
func (x *member) emit(e api.Event) {
	if p := x.get(); p != nil {
		e.Policy, e.Step = p.name, x.step
		p.Emit(e.Kind, &e)
	}
}

// get returns the pipeline, nil for one that is gone.
func (x *member) get() *Pipeline {
	if x.pipeline != nil {
		return x.pipeline
	}
	return x.weakly.Value()
}

// join adds a pipeline, or renames its step, and returns the member that keeps it. The caller
// holds the lock of the bindings.
func (m *members) join(p *Pipeline, step string, shared bool) member {
	all := slices.Clone(m.all())
	i := slices.IndexFunc(all, func(x member) bool { return x.get() == p })
	if i < 0 {
		i, all = len(all), append(all, member{weakly: weak.Make(p), waits: new(durations.Histogram)})
	}
	if all[i].step = step; !shared {
		all[i].pipeline = p
	}
	m.list.Store(&all)
	mine := all[i]
	mine.pipeline = p
	return mine
}

// part removes a pipeline, or with nil those that are gone. The caller holds the lock of the
// bindings.
func (m *members) part(p *Pipeline) {
	rest := slices.DeleteFunc(slices.Clone(m.all()), func(x member) bool { return x.get() == p })
	m.list.Store(&rest)
}

// cellsOf returns the cells of the mechanism that step i of a plan shares, and what
// another configuration changed of them. A mechanism of another kind, or with cells per
// other attributes, is another one.
func (m *Mechanisms) cellsOf(p *Pipeline, plan *pipeline.Plan, i int) (c *StepCells, all CellEvents) {
	name, s := plan.Shares(i), plan.Step(i)
	c = m.shared[name]
	if c == nil || c.settings.Kind() != s.Kind() || !slices.Equal(c.per, s.Per) {
		c = p.newCells(plan, i, new(sync.Mutex))
		m.made++
		c.order = m.made
		if m.shared == nil {
			m.shared = map[string]*StepCells{}
		}
		m.shared[name] = c
	} else if !hasSettings(&c.settings, &s) {
		all = c.configure(plan, i)
	}
	c.settings = s
	return c, all
}

// hasSettings reports whether the cells of two steps have equal settings.
func hasSettings(a, b *pipeline.Step) bool {
	return a.Config == b.Config && slices.Equal(a.Per, b.Per) && a.Keys == b.Keys && a.WhenFull == b.WhenFull && a.Missing == b.Missing
}

// Rebinding is another plan for a pipeline.
type Rebinding struct {
	Pipeline *Pipeline
	Plan     *pipeline.Plan
	About    any // what the public package keeps beside the plan
}

// Configure replaces active plans, and returns the events of the cells, for EmitAll when
// the caller holds no lock. A mechanism that moves from one of the pipelines to another
// one keeps its state. Pipelines that are not in the list take over the settings of the
// mechanisms that they share with those; the error is the error of one of their plans with
// them, and then nothing has changed.
func (m *Mechanisms) Configure(list []Rebinding) (CellEvents, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.configure(list)
}

// configure is Configure for a caller that holds the lock.
func (m *Mechanisms) configure(list []Rebinding) (all CellEvents, err error) {
	m.pipelines = slices.DeleteFunc(m.pipelines, func(x weak.Pointer[Pipeline]) bool { return x.Value() == nil })
	for _, x := range m.pipelines {
		p := x.Value()
		if p == nil || slices.ContainsFunc(list, func(x Rebinding) bool { return x.Pipeline == p }) {
			continue
		}
		plan, about := p.Bound()
		next := plan
		for _, x := range list {
			if next, err = withShared(next, x.Plan); err != nil {
				return nil, err
			}
		}
		if next != plan {
			list = append(list, Rebinding{p, next, about})
		}
	}
	for _, x := range list {
		all = append(all, x.Pipeline.configure(x.Plan, x.About)...)
	}
	for name, c := range m.shared {
		c.part(nil)
		if len(c.all()) == 0 {
			delete(m.shared, name)
		}
	}
	return all, nil
}

// withShared returns a plan with the settings that another one has for the mechanisms that
// both share: the plan itself where these are the same.
func withShared(plan, other *pipeline.Plan) (*pipeline.Plan, error) {
	next := plan.Policy()
	changed := false
	for i, s := range next.Steps {
		for j := range other.Len() {
			if name := other.Shares(j); name != "" && name == s.Mechanism {
				x := other.Step(j)
				changed = changed || !hasSettings(&s, &x)
				x.Name, x.Shadow = s.Name, s.Shadow
				s = x
			}
		}
		next.Steps[i] = s
	}
	if !changed {
		return plan, nil
	}
	return pipeline.Compile(next)
}
