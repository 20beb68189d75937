package fuzz

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// FuzzParse gives any bytes to the parser, as a document and as a single policy.
// What it accepts compiles and is whole; what it refuses it explains.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"samples/*.yaml", "good/*", "bad/*.[jy]*"} {
		files, err := filepath.Glob(filepath.Join("../../../policy/testdata", pattern))
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds: ", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(filepath.Base(file), src)
		}
	}
	f.Add("-", []byte(`{"steps":[{"limit":"5/s"},{"retry":3}]}`))
	f.Fuzz(func(t *testing.T, file string, src []byte) {
		doc, err := policy.Parse(file, src)
		if again, twice := policy.Parse(file, src); !reflect.DeepEqual(doc, again) || !reflect.DeepEqual(err, twice) {
			t.Fatal("the same bytes give two answers")
		}
		if err != nil {
			explained(t, err)
		} else {
			checkDocument(t, doc)
		}
		if one, err := policy.ParseOne(file, src); err != nil {
			explained(t, err)
		} else {
			checkPolicy(t, one)
		}
	})
}

// explained checks an error: all of its parts say where, what and what else.
func explained(t *testing.T, err error) {
	t.Helper()
	var all policy.Errors
	if !errors.As(err, &all) || len(all) == 0 || len(all) > document.MaxErrors+1 {
		t.Fatalf("%T", err)
	}
	line := 0
	for _, one := range all[:min(len(all), document.MaxErrors)] {
		if one.Found == "" || one.Allowed == "" || strings.ContainsAny(one.Path+one.Nearest, "\n") {
			t.Fatalf("%#v", one)
		}
		if one.Line < line || one.Column < 0 {
			t.Fatalf("out of order: %v", err)
		}
		line = one.Line
	}
}

// checkDocument checks what a document promises beside its policies.
func checkDocument(t *testing.T, doc *policy.Document) {
	t.Helper()
	if len(doc.Policies) == 0 || len(doc.Policies) > document.MaxPolicies || len(doc.Routes) > document.MaxRoutes {
		t.Fatal("sizes")
	}
	for i := range doc.Policies {
		p := &doc.Policies[i]
		if doc.Lookup(p.Name) != p {
			t.Fatal("two policies of one name")
		}
		checkPolicy(t, p)
	}
	for _, r := range doc.Routes {
		if r.Policy != "" && doc.Lookup(r.Policy) == nil || !strings.HasPrefix(r.Path, "/") {
			t.Fatalf("%#v", r)
		}
	}
	table := routes.New(doc)
	for _, path := range []string{"/a/b/c/d", "/%61//b;c/.."} {
		if m, err := table.Match("example.com", "GET", path); err == nil && m.Route != nil && m.Route != &doc.Routes[m.Index] {
			t.Fatalf("%#v", m)
		}
	}
}

// checkPolicy checks that the core takes what the parser accepted.
func checkPolicy(t *testing.T, p *policy.Policy) {
	t.Helper()
	plan, err := pipeline.Compile(p.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Extras) != len(p.Steps) {
		t.Fatal("extras")
	}
	for i, s := range p.Steps {
		if s.Name == "" || plan.StepName(i) != s.Name {
			t.Fatalf("step %d: %q", i, s.Name)
		}
	}
	if (plan.RetryIndex() >= 0) != (len(p.Methods) > 0) {
		t.Fatal("methods are a retry's")
	}
	for status := range 1_000 {
		if o := p.Outcomes.OfStatus(status); o < 1 || o > 4 {
			t.Fatal(o)
		}
	}
}
