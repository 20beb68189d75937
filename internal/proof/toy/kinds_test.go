package toy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanism"
)

// exceptions are the folders outside the table and the mechanisms' folders that
// name mechanisms, each with the most times that it does. A number may fall, and must not
// rise but by a new mechanism: what a mechanism is, its row says.
var exceptions = map[string]int{
	// The call machine itself makes the attempts, and asks breakers whether one
	// may start; it gives the kinds its own names.
	"core/pipeline": 8,
	// The filter of a proxy performs some mechanisms, and says what of the proxy
	// performs each of the others.
	"proxywasm/config": 8,
	// Which numbers a picture shows of a step's state, and what a person is told of the
	// calls that led to a refusal, are for people and differ by mechanism.
	"sim/engine":                 5,
	"cmd/sluice/internal/replay": 3,
	// The naive implementation has no table on purpose: it is a second reading.
	"internal/oracle":          10,
	"internal/oracle/generate": 33,
}

// TestKindsAreNamedInTheTable counts switches, comparisons, cases and arrays by
// kind: every mention of a kind of package mechanism or of its other names in
// package pipeline.
func TestKindsAreNamedInTheTable(t *testing.T) {
	kinds := map[string]bool{}
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		name := k.String()
		kinds[strings.ToUpper(name[:1])+name[1:]] = true
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	found := map[string][]string{}
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
		if strings.HasSuffix(name, "/row.go") || strings.HasPrefix(name, "core/mechanism") {
			return nil
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !kinds[s.Sel.Name] {
				return true
			}
			if of, ok := s.X.(*ast.Ident); ok && (of.Name == "pipeline" || of.Name == "mechanism") {
				folder := filepath.ToSlash(filepath.Dir(name))
				found[folder] = append(found[folder], files.Position(s.Pos()).String())
			}
			return true
		})
		return nil
	}))
	for folder, places := range found {
		assert.LessOrEqual(t, len(places), exceptions[folder], "%s names mechanisms:\n%s", folder, strings.Join(places, "\n"))
	}
}
