// Package guards finds what guards a request, for bindings of several protocols: always
// the same, or one for each policy that the routes of a document name.
package guards

import (
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// Source has the guards of one pipeline or of a set. A guard is what a binding makes of
// a pipeline.
type Source[G any] struct {
	// One is the guard of every request, nil with Set.
	One *G
	// Set has the document whose routes choose the guard, nil with One.
	Set *sluice.Set
	// Make makes a guard of the set, once for each policy of a document.
	Make   func(*sluice.Pipeline) *G
	routes atomic.Pointer[Table[G]]
}

// Table is the routes of one document, immutable.
type Table[G any] struct {
	Doc       *policy.Document
	Routes    *routes.Table
	Guards    []*G // of the routes, nil for passage
	Unmatched *G   // of what no route matches, nil for none
}

// Table returns the routes of the active document. A document that changes while its
// pipelines are looked up is looked at again.
func (s *Source[G]) Table() *Table[G] {
	t := s.routes.Load()
	for {
		doc := s.Set.Document()
		if t != nil && t.Doc == doc {
			return t
		}
		t = s.newTable(doc)
		s.routes.Store(t)
	}
}

func (s *Source[G]) newTable(doc *policy.Document) *Table[G] {
	t := &Table[G]{Doc: doc, Routes: routes.New(doc), Guards: make([]*G, len(doc.Routes))}
	byName := map[string]*G{}
	of := func(name string) *G {
		if byName[name] == nil {
			byName[name] = s.Make(s.Set.Pipeline(name))
		}
		return byName[name]
	}
	for i := range doc.Routes {
		if name := doc.Routes[i].Policy; name != "" {
			t.Guards[i] = of(name)
		}
	}
	if doc.HTTP.Unmatched == document.UnmatchedPolicy {
		t.Unmatched = of(doc.HTTP.Default)
	}
	return t
}

// All returns the guards that there are now, each once.
func (s *Source[G]) All() []*G {
	if s.Set == nil {
		return []*G{s.One}
	}
	var list []*G
	seen := map[*G]bool{nil: true}
	t := s.Table()
	for _, g := range append(t.Guards[:len(t.Guards):len(t.Guards)], t.Unmatched) {
		if !seen[g] {
			seen[g] = true
			list = append(list, g)
		}
	}
	return list
}
