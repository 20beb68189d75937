package sluice

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/policy"
)

// Set is an active policy document: a pipeline for each of its policies.
type Set struct {
	options   []Option
	document  atomic.Pointer[policy.Document]
	text      atomic.Pointer[string] // of the document
	pipelines atomic.Pointer[map[string]*Pipeline]

	change    sync.Mutex       // guards all fields but document against concurrent changes
	known     map[string]known // the policies of the document, and those that callers still have
	listeners map[*setListener]bool
	trace     *Trace             // nil for none
	shared    *runner.Mechanisms // nil before the first document
}

// known is a policy that a document had.
type known struct {
	active *member // nil for a policy that the document does not have
	left   weak.Pointer[member]
}

// member is a pipeline of a set, with what stops the listeners of the set. The engine of the
// pipeline keeps it, so that it lasts as long as a caller has the pipeline or a call runs.
type member struct {
	pipeline *Pipeline
	stops    map[*setListener]func()
}

// of returns the pipeline of a policy, nil for one that is forgotten.
func (s *Set) of(name string) *member {
	k := s.known[name]
	if k.active != nil {
		return k.active
	}
	return k.left.Value()
}

// members ranges over all pipelines in the order of their names, and forgets those that are
// gone. The caller holds the lock.
func (s *Set) members() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.known)) {
			if x := s.of(name); x == nil {
				delete(s.known, name)
			} else if !yield(x) {
				return
			}
		}
	}
}

// setListener listens to the pipelines of a set.
type setListener struct {
	listen func(*Pipeline) (stop func())
}

// Load reads a policy document, YAML or JSON. The error names file, line and
// column of everything that is wrong.
func Load(file string, options ...Option) (*Set, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, src, options...)
}

// Parse is Load for a document that has been read. The file names it in errors.
func Parse(file string, src []byte, options ...Option) (*Set, error) {
	if _, err := newSettings("Set", ^optionShadow, options); err != nil {
		return nil, err
	}
	s := &Set{options: options}
	if err := s.Reload(file, src); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload replaces the active document, or changes nothing and returns an
// error. Policies, and the mechanisms that they share, are matched by name and keep their
// state; pipelines that callers already have use the new steps. One whose policy is no longer in the document keeps
// its last steps and its state, for those who have it and for the calls under way, until a
// document has the policy again. When no caller has it and no call runs, the set forgets it, at a
// time that is not fixed: a policy that comes back later begins with a new state.
//
// An EventAdded, EventReplaced or EventRemoved of the policy says what the document
// changed: first for its policies in its order, then for the policies that it does not have, in
// the order of the document before. A policy is replaced where its settings, settings of
// mechanisms that it shares included, or its other entries in the document differ from the
// active ones. The first document adds all of its policies.
func (s *Set) Reload(file string, src []byte) error {
	document, err := policy.Parse(file, src)
	if err != nil {
		return err
	}
	epoch := applied(s.options).Epoch
	plans := make([]*pipeline.Plan, len(document.Policies))
	for i := range document.Policies {
		p := &document.Policies[i]
		if plans[i], err = pipeline.Compile(p.Policy.WithEpoch(epoch)); err != nil {
			return fmt.Errorf("%s:%d:%d: policies.%s.%w", file, p.Line, p.Column, p.Name, err)
		}
	}
	changed, events, err := s.put(document, plans, string(src))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, x := range changed {
		x.pipeline.engine.Emit(x.kind, &Event{At: x.pipeline.engine.Now(), Policy: x.pipeline.Name(), Kind: x.kind, RetryAfter: -1})
	}
	events.EmitAll()
	return nil
}

// membership is what a document changed of a policy of the set.
type membership struct {
	pipeline *Pipeline
	kind     decision.Kind
}

// put activates a document, and returns what it changed and the events of its cells, which
// the caller emits when it holds no lock.
func (s *Set) put(document *policy.Document, plans []*pipeline.Plan, text string) (changed []membership, all runner.CellEvents, err error) {
	s.change.Lock()
	defer s.change.Unlock()
	next := make(map[string]*Pipeline, len(plans))
	active := map[string]*Pipeline{}
	if pipelines := s.pipelines.Load(); pipelines != nil {
		active = *pipelines
	}
	if s.known == nil {
		s.known = map[string]known{}
	}
	if s.shared == nil {
		if s.shared = applied(s.options).shared; s.shared == nil {
			s.shared = new(runner.Mechanisms)
		}
	}
	var list []runner.Rebinding
	members, added := make([]*member, len(plans)), make([]bool, len(plans))
	for i, plan := range plans {
		if members[i] = s.of(plan.Name()); members[i] == nil {
			set := applied(s.options)
			members[i] = &member{newPipeline(runner.New(plan.Name(), &set.Settings, s.shared), set), map[*setListener]func(){}}
			members[i].pipeline.engine.Owner = members[i]
			added[i] = true
		}
		p := members[i].pipeline
		list = append(list, runner.Rebinding{Pipeline: p.engine, Plan: plan, About: origin{&document.Policies[i], document}})
		next[plan.Name()] = p
		switch {
		case active[plan.Name()] == nil:
			changed = append(changed, membership{p, decision.Added})
		case p.differs(plan, &document.Policies[i]):
			changed = append(changed, membership{p, decision.Replaced})
		}
	}
	for _, name := range s.Names() {
		if next[name] == nil {
			changed = append(changed, membership{active[name], decision.Removed})
		}
	}
	all, err = s.shared.Configure(list)
	if err != nil {
		return nil, nil, err
	}
	for i, x := range members {
		s.known[x.pipeline.Name()] = known{active: x}
		if !added[i] {
			continue
		}
		for l := range s.listeners {
			x.stops[l] = l.listen(x.pipeline)
		}
		if s.trace != nil {
			x.pipeline.engine.Trace(s.trace.recorder, true)
		}
	}
	s.pipelines.Store(&next)
	s.document.Store(document)
	s.text.Store(&text)
	for x := range s.members() {
		if name := x.pipeline.Name(); next[name] == nil {
			s.known[name] = known{left: weak.Make(x)}
		}
	}
	return changed, all, nil
}

// differs reports whether the pipeline would have another policy with a plan and what a
// document says of it. Where the policy is in the document does not count.
func (p *Pipeline) differs(plan *pipeline.Plan, said *policy.Policy) bool {
	active, about := p.engine.Bound()
	before := about.(origin).policy
	if before == nil || !reflect.DeepEqual(unplaced(before), unplaced(said)) || active.Len() != plan.Len() {
		return true
	}
	// Configure of a Handle leaves what the document says.
	for i := range plan.Len() {
		if !reflect.DeepEqual(active.Step(i), plan.Step(i)) {
			return true
		}
	}
	return false
}

// unplaced returns a policy without where it is in its document.
func unplaced(p *policy.Policy) policy.Policy {
	c := *p
	c.Line, c.Column, c.Extras = 0, 0, slices.Clone(p.Extras)
	for i := range c.Extras {
		c.Extras[i].Line, c.Extras[i].Column = 0, 0
	}
	return c
}

// Pipeline returns the pipeline of a policy. Where the document has none of the
// name, it returns one that refuses every call, see Pipeline.Err.
func (s *Set) Pipeline(name string) *Pipeline {
	p, err := s.Lookup(name)
	if err != nil {
		return &Pipeline{missing: err.(*UnknownPolicyError)}
	}
	return p
}

// Lookup returns the pipeline of a policy. The error is an UnknownPolicyError.
func (s *Set) Lookup(name string) (*Pipeline, error) {
	pipelines := s.pipelines.Load()
	if pipelines == nil {
		return nil, &UnknownPolicyError{Policy: name}
	}
	if p := (*pipelines)[name]; p != nil {
		return p, nil
	}
	return nil, &UnknownPolicyError{Policy: name, Nearest: s.Document().Nearest(name)}
}

// Listen calls f for every event of every pipeline of the set, pipelines of later documents
// included, or for events of the given kinds, as Pipeline.Listen does. stop ends it.
func (s *Set) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	kinds = slices.Clone(kinds)
	return s.listen(func(p *Pipeline) func() { return p.Listen(f, kinds...) })
}

// Observe gives o the events of every pipeline of the set, pipelines of later documents
// included, as Pipeline.Observe does. stop ends it.
func (s *Set) Observe(o Observer) (stop func()) {
	return s.listen(func(p *Pipeline) func() { return p.Observe(o) })
}

func (s *Set) listen(listen func(*Pipeline) func()) (stop func()) {
	s.change.Lock()
	defer s.change.Unlock()
	l := &setListener{listen}
	if s.listeners == nil {
		s.listeners = map[*setListener]bool{}
	}
	s.listeners[l] = true
	for x := range s.members() {
		x.stops[l] = listen(x.pipeline)
	}
	return func() {
		s.change.Lock()
		defer s.change.Unlock()
		delete(s.listeners, l)
		for x := range s.members() {
			if stop := x.stops[l]; stop != nil {
				delete(x.stops, l)
				stop()
			}
		}
	}
}

// Names returns the names of the policies in the order of the document.
func (s *Set) Names() []string {
	document := s.Document()
	if document == nil {
		return nil
	}
	names := make([]string, len(document.Policies))
	for i := range document.Policies {
		names[i] = document.Policies[i].Name
	}
	return names
}

// Document returns the active document, which must not be changed, nil for a zero Set
// without a Reload.
func (s *Set) Document() *policy.Document { return s.document.Load() }
