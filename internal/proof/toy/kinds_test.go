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

// secondReading are the folders that name mechanisms beside the table and the mechanisms' own
// folders, each with the most times that it does: the naive implementation has no table on
// purpose. What a mechanism is, its row says to everything else.
var secondReading = map[string]int{
	"internal/oracle":          10,
	"internal/oracle/generate": 33,
}

// TestKindsAreNamedInTheTable counts switches, comparisons, cases and arrays by
// kind: every mention of a kind of package mechanism.
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
			if of, ok := s.X.(*ast.Ident); ok && of.Name == "mechanism" {
				folder := filepath.ToSlash(filepath.Dir(name))
				found[folder] = append(found[folder], files.Position(s.Pos()).String())
			}
			return true
		})
		return nil
	}))
	for folder, places := range found {
		assert.LessOrEqual(t, len(places), secondReading[folder], "%s names mechanisms:\n%s", folder, strings.Join(places, "\n"))
	}
}
