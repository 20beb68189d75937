package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export, ForTest string
	GoFiles, Deps                    []string
	Match                            []string
	TestGoFiles, XTestGoFiles        []string
}

// golist returns what go list -json says of patterns.
func golist(args ...string) (all []listed, err error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,ForTest,GoFiles,Deps,Match,TestGoFiles,XTestGoFiles"}, args...)...)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// source is a file of a package.
type source struct {
	path string // from the root of the repository
	text []byte
	tree *ast.File
}

// unit is a package whose files are changed.
type unit struct {
	path    string
	dir     string // from the root, with ./
	files   []*source
	fset    *token.FileSet
	imports types.Importer
	info    types.Info
}

// load reads and checks the packages of some patterns that are not tests alone.
func load(patterns []string) (units []*unit, err error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	all, err := golist(append([]string{"-deps", "-export"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	exports := map[string]string{}
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, l := range all {
		if len(l.Match) == 0 {
			continue
		}
		dir, err := filepath.Rel(root, l.Dir)
		if err != nil || strings.HasPrefix(dir, "..") {
			return nil, fmt.Errorf("%s is not below %s", l.Dir, root)
		}
		u := &unit{path: l.ImportPath, dir: "./" + filepath.ToSlash(dir), fset: fset, imports: imports}
		for _, name := range l.GoFiles {
			f := &source{path: filepath.ToSlash(filepath.Join(dir, name))}
			if f.text, err = os.ReadFile(filepath.Join(l.Dir, name)); err != nil {
				return nil, err
			}
			if f.tree, err = parser.ParseFile(fset, f.path, f.text, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
			u.files = append(u.files, f)
		}
		u.info = types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		if err := u.check(nil, nil, &u.info); err != nil {
			return nil, err
		}
		units = append(units, u)
	}
	if len(units) == 0 {
		return nil, fmt.Errorf("no packages in %s", strings.Join(patterns, " "))
	}
	slices.SortFunc(units, func(a, b *unit) int { return strings.Compare(a.path, b.path) })
	return units, nil
}

// check checks the types of a package in which a tree replaces a file.
func (u *unit) check(f *source, tree *ast.File, info *types.Info) error {
	var trees []*ast.File
	for _, other := range u.files {
		if other == f {
			trees = append(trees, tree)
		} else {
			trees = append(trees, other.tree)
		}
	}
	config := types.Config{Importer: u.imports}
	_, err := config.Check(u.path, u.fset, trees, info)
	return err
}

// compiles says whether a file with another text does.
func (u *unit) compiles(f *source, text []byte) bool {
	tree, err := parser.ParseFile(u.fset, f.path, text, parser.SkipObjectResolution)
	return err == nil && u.check(f, tree, nil) == nil
}
