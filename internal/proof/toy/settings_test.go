package toy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/sluice-go/sluice"

// settingsChoices are the folders outside the table and the mechanisms' folders in which lines choose
// by the type of a mechanism's settings, state or machine, each with the most lines that do.
var settingsChoices = map[string]int{
	// The naive implementation is a second reading.
	"internal/oracle":          34,
	"internal/oracle/generate": 11,
}

// TestSettingsChoices counts the lines of product files that choose by the type of settings, of a state or
// of a machine: cases of a type switch, type assertions, also to an interface that has the type, and calls of functions with
// that type as their parameter. A public type of one mechanism, such as KeyedBreaker, is what its user names:
// an embedded generic type chooses nothing.
func TestSettingsChoices(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	found, lines := choicesBelow(t, root), 0
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		lines += len(found[folder])
		assert.LessOrEqual(t, len(found[folder]), settingsChoices[folder], "%s chooses by the type of settings:\n%s", folder, strings.Join(found[folder], "\n"))
	}
	t.Logf("%d lines in %d folders choose by the type of settings", lines, len(found))
}

// What counts as a choice, and what does not.
func TestWhatIsAChoice(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("core/limiter/row.go", "package limiter\n\nfunc own(c any) { _ = c.(Config) }\n")
	write("core/wire/wire.go", "package wire\n")
	write("configs.go", "package sluice\n\nimport \""+module+"/core/limiter\"\n\ntype LimiterConfig = limiter.Config\n\ntype Keyed struct{ LimiterConfig }\n")
	write("root.go", "package sluice\n\nfunc f(c any) {\n\tswitch c.(type) {\n\tcase LimiterConfig:\n\t}\n}\n")
	write("a/a.go", `package a

import (
	limits "`+module+`/core/limiter"
	"`+module+`/core/wire"
)

func f(c any, of []limits.Config) {
	switch c := c.(type) {
	case limits.Config, *limits.Config:
	case wire.Config:
		_ = c
	}
	_, ok := c.(*limits.Config)
	ConfigOf[limits.Config](c)
	var settings limits.Config
	Edit(func(c *limits.Config) {})
	_ = c.(interface{ State() *limits.State })
}

type Keyed struct{ keyed[limits.Config] }
`)
	write("a/a_test.go", "package a\n\nimport \""+module+"/core/limiter\"\n\nvar _ = any(0).(limiter.Config)\n")
	found := choicesBelow(t, root)
	assert.Len(t, found["."], 1, "%v", found["."])
	assert.Len(t, found["a"], 4, "%v", found["a"])
	assert.Len(t, found, 2, "%v", found)
}

// choicesBelow returns the lines that choose by the type of settings, by their folder.
func choicesBelow(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	fset := token.NewFileSet()
	var trees []*ast.File
	var names []string
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && file != root || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		name, err := filepath.Rel(root, file)
		require.NoError(t, err)
		tree, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		if slices.ContainsFunc(tree.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"testing"` }) {
			return nil
		}
		trees, names = append(trees, tree), append(names, filepath.ToSlash(name))
		return nil
	}))
	mechanisms := map[string]bool{} // the import paths of packages that have a row
	for _, name := range names {
		if strings.HasPrefix(name, "core/") && path.Base(name) == "row.go" {
			mechanisms[path.Join(module, path.Dir(name))] = true
		}
	}
	delete(mechanisms, module+"/core/mechanism") // it has what a row is
	aliases := map[string]bool{}
	for _, tree := range trees {
		if tree.Name.Name == "sluice" {
			for _, name := range aliasesOf(tree, mechanisms) {
				aliases[name] = true
			}
		}
	}
	for i, tree := range trees {
		folder := path.Dir(names[i])
		if mechanisms[path.Join(module, folder)] || strings.HasPrefix(folder, "core/mechanism") {
			continue
		}
		c := chooser{imports: importsOf(tree), mechanisms: mechanisms, aliases: aliases, root: tree.Name.Name == "sluice"}
		lines, embedded := map[int]bool{}, map[ast.Node]bool{}
		ast.Inspect(tree, func(n ast.Node) bool {
			if fields, ok := n.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					embedded[field.Type] = true
				}
			}
			if line := fset.Position(nodeOf(n)).Line; n != nil && c.chooses(n) && !embedded[n] && !lines[line] {
				lines[line] = true
				found[folder] = append(found[folder], names[i]+":"+strconv.Itoa(line))
			}
			return true
		})
	}
	return found
}

// nodeOf returns the position of a node, none for the end of one.
func nodeOf(n ast.Node) token.Pos {
	if n == nil {
		return token.NoPos
	}
	return n.Pos()
}

// importsOf returns the import paths of a file by the names that it uses for them.
func importsOf(tree *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range tree.Imports {
		where, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(where)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = where
	}
	return imports
}

// aliasesOf returns the names that a file gives to the settings of mechanisms.
func aliasesOf(tree *ast.File, mechanisms map[string]bool) (names []string) {
	c := chooser{imports: importsOf(tree), mechanisms: mechanisms}
	ast.Inspect(tree, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Assign.IsValid() && c.settings(spec.Type) {
			names = append(names, spec.Name.Name)
		}
		return true
	})
	return names
}

// chooser says which nodes of a file choose by the type of settings.
type chooser struct {
	imports             map[string]string
	mechanisms, aliases map[string]bool
	root                bool // the file is of the package that has the aliases
}

// types are the names of the types of every mechanism.
var types = map[string]bool{"Config": true, "State": true, "Machine": true}

// settings reports whether an expression is the type of a mechanism's settings, or a pointer to it.
func (c *chooser) settings(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return c.settings(e.X)
	case *ast.Ident:
		return c.root && c.aliases[e.Name]
	case *ast.InterfaceType:
		return slices.ContainsFunc(e.Methods.List, func(m *ast.Field) bool {
			f, ok := m.Type.(*ast.FuncType)
			return ok && f.Results != nil && slices.ContainsFunc(f.Results.List, func(r *ast.Field) bool { return c.settings(r.Type) })
		})
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		return ok && (types[e.Sel.Name] && c.mechanisms[c.imports[of.Name]] || c.aliases[e.Sel.Name] && c.imports[of.Name] == module)
	}
	return false
}

func (c *chooser) chooses(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CaseClause:
		return slices.ContainsFunc(n.List, c.settings)
	case *ast.TypeAssertExpr:
		return n.Type != nil && c.settings(n.Type)
	case *ast.IndexExpr:
		return c.settings(n.Index)
	case *ast.IndexListExpr:
		return slices.ContainsFunc(n.Indices, c.settings)
	}
	return false
}
