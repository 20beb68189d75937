package main

import (
	"errors"
	"fmt"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	module  = "github.com/sluice-go/sluice"
	breaker = module + "/core/breaker"
)

// contract counts what core/breaker has to know and to implement.
func (h *house) contract(files []file) error {
	generatedNames := map[string]bool{}
	for _, f := range files {
		if f.sort == generated && path.Dir(f.path) == "core/breaker" {
			generatedNames[path.Base(f.path)] = true
		}
	}
	loaded, err := packages.Load(&packages.Config{Dir: h.root, Mode: packages.LoadAllSyntax}, breaker)
	switch {
	case err != nil:
		return err
	case len(loaded) != 1 || len(loaded[0].Errors) > 0:
		return fmt.Errorf("%s: %v", breaker, loaded)
	}
	pkg := loaded[0]
	names, fields := map[string]bool{}, map[string]bool{}
	for at, object := range pkg.TypesInfo.Uses {
		if object.Pkg() == nil || !strings.HasPrefix(object.Pkg().Path(), module) || object.Pkg() == pkg.Types {
			continue
		}
		if _, imported := object.(*types.PkgName); imported || generatedNames[filepath.Base(pkg.Fset.Position(at.Pos()).Filename)] {
			continue
		}
		name := object.Pkg().Name() + "." + object.Name()
		if v, ok := object.(*types.Var); ok && v.IsField() {
			fields[name] = true
		} else {
			names[name] = true
		}
	}
	h.row("names of other packages that core/breaker needs", len(names), slices.Sorted(maps.Keys(names)))
	h.row("fields of other packages that core/breaker needs", len(fields), slices.Sorted(maps.Keys(fields)))

	methods := map[string]bool{}
	for _, in := range pkg.Imports {
		for _, name := range []string{"Machine", "Cell"} {
			object := in.Types.Scope().Lookup(name)
			// A cell has its state, and the contract of machines in general is a part of none.
			has := in.PkgPath == module+"/core/cell" && name == "Cell" || in.PkgPath == module+"/reducer" && name == "Machine"
			if object == nil || !strings.HasPrefix(in.PkgPath, module) || has {
				continue
			}
			contract, ok := object.Type().Underlying().(*types.Interface)
			if !ok {
				continue
			}
			for m := range contract.Methods() {
				methods[m.Name()] = true
			}
		}
	}
	if len(methods) == 0 {
		return errors.New("core/breaker imports no contract of a machine")
	}
	h.row("methods that a machine implements", len(methods), slices.Sorted(maps.Keys(methods)))
	return nil
}

// switches counts the lines that choose by mechanism, as the tests of internal/proof/toy do.
func (h *house) switches([]file) error {
	toy := "internal/proof/toy"
	if _, err := os.Stat(filepath.Join(h.root, toy)); err != nil {
		toy = "internal/toy" // before the proofs had a module of their own
	}
	cmd := exec.Command("go", "test", "./"+toy, "-count=1", "-v", "-run", "TestSettingsChoices|TestKindsAreNamedInTheTable")
	cmd.Dir = h.root
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test ./%s: %w\n%s", toy, err, text)
	}
	for _, found := range regexp.MustCompile(`(\d+) lines? in (\d+) folders? (.*)`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(found[1])
		h.row("switches: lines that "+found[3], n, nil)
	}
	return nil
}
