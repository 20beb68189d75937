package limiter

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// The files of the package that choose by the algorithm: each switch names every algorithm or
// has a default, so that another one is not silently one of those that there are. A default
// holds of an algorithm that says nothing else. What is written for one of them
// alone, settings and texts, compares, and may only become less.
func TestAlgorithms(t *testing.T) {
	const comparisons, withDefault = 15, 8
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var names []string
	var files []*ast.File
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, entry.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		names = append(names, algorithmsOf(file)...)
	}
	if len(names) != int(algorithms) {
		t.Fatalf("the constants of Algorithm are %v, %d of them", names, algorithms)
	}
	switches, defaulted, compared := 0, 0, 0
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SwitchStmt:
				if named := casesOf(n, names); n.Tag != nil && len(named) > 0 {
					switches++
					switch {
					case len(named) == len(names):
					case defaults(n):
						defaulted++
					default:
						t.Errorf("%s: a switch names %v of the algorithms %v", fset.Position(n.Pos()), named, names)
					}
				}
			case *ast.BinaryExpr:
				if name, ok := n.Y.(*ast.Ident); ok && slices.Contains(names, name.Name) {
					compared++
				}
			}
			return true
		})
	}
	if switches < 15 {
		t.Errorf("%d switches are found: the test does not see them", switches)
	}
	if defaulted != withDefault {
		t.Errorf("%d switches have a default for some algorithms, the test says %d: is the default right for all that it holds of?", defaulted, withDefault)
	}
	if compared != comparisons {
		t.Errorf("%d comparisons with one algorithm, the test says %d; a new one is a switch that names all of them", compared, comparisons)
	}
}

// defaults reports whether a switch has a default.
func defaults(s *ast.SwitchStmt) bool {
	return slices.ContainsFunc(s.Body.List, func(c ast.Stmt) bool { return c.(*ast.CaseClause).List == nil })
}

// algorithmsOf returns the names of the constants of type Algorithm in a file.
func algorithmsOf(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		if kind, ok := group.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); !ok || kind.Name != "Algorithm" {
			continue
		}
		for _, spec := range group.Specs {
			if name := spec.(*ast.ValueSpec).Names[0]; name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// casesOf returns the algorithms that the cases of a switch name.
func casesOf(s *ast.SwitchStmt, names []string) (named []string) {
	for _, c := range s.Body.List {
		for _, value := range c.(*ast.CaseClause).List {
			if name, ok := value.(*ast.Ident); ok && slices.Contains(names, name.Name) {
				named = append(named, name.Name)
			}
		}
	}
	return named
}

// A sixth algorithm that nothing implements admits nothing and is refused as a setting.
func TestUnknownAlgorithm(t *testing.T) {
	if _, err := New(Config{Algorithm: algorithms, Count: 1, Period: 1}); err == nil {
		t.Error("New takes it")
	}
	a := algorithm{kind: algorithms}
	c := a.begin(0)
	if _, reserved := a.reserve(&c, 1, 9, 0); reserved || a.take(&c, 1, 0) || a.capacity() != 0 || a.free(&c, 0) != 0 {
		t.Error("it admits")
	}
}
