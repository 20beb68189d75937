// Package purity checks that the core is pure.
//
// It reads every file below core/ and reducer/, and clock/mark.go, type-checks
// them with the standard library alone and reports whatever could make two
// runs of the same step differ, or could not be built by TinyGo: clocks,
// goroutines, channels, ranges over maps, package variables that change,
// imports beyond a short list, products of floats that a compiler may fuse.
// Test files are exempt.
package purity

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Finding is one place that breaks a rule.
type Finding struct {
	Pos  token.Position // file relative to the module's root
	Rule string         // short name, for example "import", "clock", "map-range"
	Text string         // what was found and what to do instead
}

// String gives the form that editors jump to: file:line:column: rule: text.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", f.Pos, f.Rule, f.Text)
}

// pure are the folders whose packages must be pure, with all below them.
var pure = []string{"core", "reducer"}

// standard is what a pure package may import of the standard library.
var standard = map[string]bool{
	"cmp": true, "encoding/binary": true, "errors": true, "math/bits": true, "slices": true,
	"strconv": true, "strings": true, "time": true,
}

// switches are the files that may depend on a build tag, with the constant that each declares:
// whether errors have texts, and whether assertions panic. Decisions do not depend on them, which
// the conformance vectors prove for every build.
var switches = map[string]string{
	"reducer/texts.go": "ErrorTexts", "reducer/codes.go": "ErrorTexts",
	"core/internal/assert/on.go": "On", "core/internal/assert/off.go": "On",
}

// declaresSwitch reports whether a file declares the constant of a name, true or false, and
// nothing else.
func declaresSwitch(file *ast.File, name string) bool {
	if len(file.Decls) != 1 {
		return false
	}
	d, ok := file.Decls[0].(*ast.GenDecl)
	if !ok || d.Tok != token.CONST || len(d.Specs) != 1 {
		return false
	}
	s := d.Specs[0].(*ast.ValueSpec)
	if len(s.Names) != 1 || s.Names[0].Name != name || len(s.Values) != 1 {
		return false
	}
	value, ok := s.Values[0].(*ast.Ident)
	return ok && (value.Name == "true" || value.Name == "false")
}

// markFile is the part of clock/ that pure packages may use, and that must be
// pure itself. The rest of clock/ reads clocks.
const markFile = "clock/mark.go"

// Check reads the module whose root is dir and returns all findings, sorted by
// place. An error means that the tree could not be read at all.
func Check(dir string) ([]Finding, error) {
	module, err := modulePath(dir)
	if err != nil {
		return nil, err
	}
	c := newChecker(dir, module)
	for _, folder := range pure {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && name == filepath.Join(dir, folder) {
				return nil
			}
			if err != nil || !entry.IsDir() {
				return err
			}
			base := entry.Name()
			if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
				return filepath.SkipDir
			}
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			_, err = c.load(path.Join(module, filepath.ToSlash(rel)))
			if errors.Is(err, errNoFiles) {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if _, err := c.load(path.Join(module, "clock")); err != nil && !errors.Is(err, errNoFiles) {
		return nil, err
	}
	c.judge()
	return c.sorted(), nil
}

var errNoFiles = errors.New("no Go files")

// std reads the standard library from its source, each package once for all
// checks of the process: that is most of the work.
var std = &sharedImporter{from: importer.ForCompiler(token.NewFileSet(), "source", nil)}

type sharedImporter struct {
	mu   sync.Mutex
	from types.Importer
}

func (s *sharedImporter) Import(importPath string) (*types.Package, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Import(importPath)
}

// checker loads packages of one module and judges the pure ones.
type checker struct {
	dir, module string
	fset        *token.FileSet
	loaded      map[string]*pkg
	findings    map[Finding]bool
}

// pkg is one loaded package of the module.
type pkg struct {
	path   string
	files  []*ast.File
	types  *types.Package
	info   *types.Info
	broken []error
}

func newChecker(dir, module string) *checker {
	fset := token.NewFileSet()
	return &checker{
		dir: dir, module: module, fset: fset,
		loaded:   map[string]*pkg{},
		findings: map[Finding]bool{},
	}
}

// load parses and type-checks a package of the module, and first all packages
// of the module that it imports.
func (c *checker) load(importPath string) (*pkg, error) {
	if p, ok := c.loaded[importPath]; ok {
		if p == nil {
			return nil, fmt.Errorf("import cycle through %s", importPath)
		}
		return p, nil
	}
	c.loaded[importPath] = nil
	files, err := c.parse(importPath)
	if err != nil {
		delete(c.loaded, importPath)
		return nil, err
	}
	p := &pkg{path: importPath, files: files, info: &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	config := types.Config{
		Importer: importerFunc(c.importPackage),
		Error:    func(err error) { p.broken = append(p.broken, err) },
	}
	p.types, _ = config.Check(importPath, c.fset, files, p.info) // errors are kept in broken
	c.loaded[importPath] = p
	return p, nil
}

// parse reads all files of a package but the tests, whatever their build
// constraints: a constraint is a finding of its own.
func (c *checker) parse(importPath string) ([]*ast.File, error) {
	rel := strings.TrimPrefix(strings.TrimPrefix(importPath, c.module), "/")
	folder := filepath.Join(c.dir, filepath.FromSlash(rel))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, entry := range entries {
		name := entry.Name()
		file := path.Join(rel, name)
		switch ext := path.Ext(name); {
		case entry.IsDir() || strings.HasSuffix(name, "_test.go"):
			continue
		case slices.Contains([]string{".s", ".S", ".c", ".h", ".cc", ".cpp", ".syso"}, ext) && c.isPure(importPath):
			c.find(token.Position{Filename: file}, "language", "only Go is portable, bit for bit")
			continue
		case ext != ".go":
			continue
		}
		source, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(c.fset, file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		matches, err := build.Default.MatchFile(folder, name)
		if name := switches[file]; name != "" && err == nil && declaresSwitch(parsed, name) {
			if parsed.Comments = nil; matches {
				files = append(files, parsed)
			}
			continue
		}
		files = append(files, parsed)
		if c.isPure(importPath) && (err != nil || !matches) {
			c.find(token.Position{Filename: file}, "constraint", "the file is not built everywhere: the same code must decide on every runtime")
		}
	}
	if len(files) == 0 {
		return nil, errNoFiles
	}
	return files, nil
}

// importPackage loads what a file imports. A package that is not on the list
// is replaced by an empty one: the import is the finding, not errors that follow from it.
func (c *checker) importPackage(importPath string) (*types.Package, error) {
	switch {
	case importPath == "unsafe":
		return types.Unsafe, nil
	case c.inModule(importPath):
		p, err := c.load(importPath)
		if err != nil {
			return nil, err
		}
		return p.types, nil
	case standard[importPath] || importPath == "math":
		return std.Import(importPath)
	}
	fake := types.NewPackage(importPath, path.Base(importPath))
	fake.MarkComplete()
	return fake, nil
}

// judge applies the rules to everything that was loaded.
func (c *checker) judge() {
	variables := newVariables(c)
	for _, importPath := range slices.Sorted(maps.Keys(c.loaded)) {
		p := c.loaded[importPath]
		if !c.isPure(importPath) && importPath != path.Join(c.module, "clock") {
			continue
		}
		foreign := false
		for _, file := range p.files {
			if c.isJudged(file) {
				foreign = c.imports(file) || foreign
				c.rules(p, file)
				variables.collect(p, file)
			}
		}
		// With an empty package in place of a foreign one type errors are expected.
		if !foreign && c.isPure(importPath) {
			for _, err := range p.broken {
				var broken types.Error
				if errors.As(err, &broken) {
					c.find(c.fset.Position(broken.Pos), "types", broken.Msg)
				}
			}
		}
	}
	variables.judge()
}

// imports reports imports beyond the list, and whether there were any.
func (c *checker) imports(file *ast.File) (foreign bool) {
	for _, spec := range file.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		clock := path.Join(c.module, "clock")
		switch {
		case err != nil:
		case standard[importPath], c.isPure(importPath), importPath == clock:
			continue
		case importPath == "math" && c.nameOf(file) == markFile:
			continue // for the ends of int64, see rules
		}
		foreign = true
		c.find(c.fset.Position(spec.Pos()), "import", importPath+" is not on the list of what the core may import")
	}
	return foreign
}

func (c *checker) find(pos token.Position, rule, text string) {
	c.findings[Finding{pos, rule, text}] = true
}

func (c *checker) at(node ast.Node, rule, format string, args ...any) {
	c.find(c.fset.Position(node.Pos()), rule, fmt.Sprintf(format, args...))
}

func (c *checker) sorted() []Finding {
	return slices.SortedFunc(maps.Keys(c.findings), func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Offset, b.Pos.Offset),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
}

func (c *checker) inModule(importPath string) bool {
	return importPath == c.module || strings.HasPrefix(importPath, c.module+"/")
}

func (c *checker) isPure(importPath string) bool {
	return slices.ContainsFunc(pure, func(folder string) bool {
		root := path.Join(c.module, folder)
		return importPath == root || strings.HasPrefix(importPath, root+"/")
	})
}

// isJudged reports whether a file is of a pure package or the one pure file of clock/.
func (c *checker) isJudged(file *ast.File) bool {
	name := c.nameOf(file)
	return !strings.HasPrefix(name, "clock/") || name == markFile
}

func (c *checker) nameOf(node ast.Node) string {
	return c.fset.Position(node.Pos()).Filename
}

func modulePath(dir string) (string, error) {
	source, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(source)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(rest), `"`), nil
		}
	}
	return "", fmt.Errorf("%s: no module line", filepath.Join(dir, "go.mod"))
}

type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(importPath string) (*types.Package, error) { return f(importPath) }
