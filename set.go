package sluice

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/policy"
)

// Set is a policy document in force: a pipeline for each of its policies.
type Set struct {
	options   []Option
	change    sync.Mutex // of what follows
	document  atomic.Pointer[policy.Document]
	pipelines atomic.Pointer[map[string]*Pipeline]
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
	s := &Set{options: options}
	s.pipelines.Store(&map[string]*Pipeline{})
	if err := s.Reload(file, src); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload puts another document in force, or changes nothing and returns an
// error. Policies are matched by name and keep their state; the pipelines that
// were handed out go on with the new steps. One whose policy is gone keeps its
// last steps.
func (s *Set) Reload(file string, src []byte) error {
	document, err := policy.Parse(file, src)
	if err != nil {
		return err
	}
	plans := make([]*pipeline.Plan, len(document.Policies))
	for i := range document.Policies {
		p := &document.Policies[i]
		if plans[i], err = pipeline.Compile(p.Policy); err != nil {
			return fmt.Errorf("%s:%d:%d: policies.%s.%w", file, p.Line, p.Column, p.Name, err)
		}
	}
	s.put(document, plans).EmitAll()
	return nil
}

// put puts a document in force, and returns the events of its cells, to be
// emitted when no lock is held.
func (s *Set) put(document *policy.Document, plans []*pipeline.Plan) (all runner.CellEvents) {
	s.change.Lock()
	defer s.change.Unlock()
	old := *s.pipelines.Load()
	next := make(map[string]*Pipeline, len(plans))
	for i, plan := range plans {
		about := &document.Policies[i]
		p := old[plan.Name()]
		if p == nil {
			p = newPipeline(plan, about, newSettings(s.options))
		} else {
			all = append(all, p.engine.Configure(plan, about)...)
		}
		next[plan.Name()] = p
	}
	s.pipelines.Store(&next)
	s.document.Store(document)
	return all
}

// Pipeline returns the pipeline of a policy, nil when the document has none of
// the name.
func (s *Set) Pipeline(name string) *Pipeline { return (*s.pipelines.Load())[name] }

// Names returns the names of the policies in the order of the document.
func (s *Set) Names() []string {
	document := s.Document()
	names := make([]string, len(document.Policies))
	for i := range document.Policies {
		names[i] = document.Policies[i].Name
	}
	return names
}

// Document returns the document in force, which must not be changed.
func (s *Set) Document() *policy.Document { return s.document.Load() }
