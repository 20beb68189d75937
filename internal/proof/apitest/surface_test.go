//go:build !race

package apitest_test

import (
	"encoding/json"
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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSurface looks at what users of the root module and of the bindings can name: no type
// of a package below internal in a signature, a field or a method of a public package. The
// types of the root package and of the bindings have no methods or fields by a private type
// that they embed, either, but for keyedStep, whose methods are for users.
func TestSurface(t *testing.T) {
	patterns := []string{"./...", "./lint/...", "./proxywasm/...", "./sim/...", "./vectors/...", "./wasm/..."}
	modules, err := filepath.Glob("bindings/*/go.mod")
	require.NoError(t, err)
	for _, file := range modules {
		patterns = append(patterns, "./"+filepath.ToSlash(filepath.Dir(file))+"/...")
	}
	const own = "github.com/sluice-go/sluice"
	exports, public := exported(t, patterns)
	require.Contains(t, public, own)
	require.Subset(t, public, []string{own + "/bindings/grpc", own + "/bindings/nethttp", own + "/bindings/otel", own + "/bindings/prometheus", own + "/bindings/wazero"})
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, path := range public {
		pkg, err := from.Import(path)
		require.NoError(t, err)
		s := surface{module: own, promotes: path == own || strings.HasPrefix(path, own+"/bindings/")}
		for _, line := range s.of(pkg) {
			t.Error(line)
		}
	}
}

// exported returns the compiled packages by their paths, and the public ones among the packages
// of the patterns.
func exported(t *testing.T, patterns []string) (exports map[string]string, public []string) {
	t.Helper()
	// With -e a binding that needs a C compiler is left out on a machine without one.
	command := exec.Command("go", append([]string{"list", "-e", "-export", "-deps", "-json=ImportPath,Export,DepOnly,Name"}, patterns...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	exports = map[string]string{}
	for list := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Export, Name string
			DepOnly                  bool
		}
		err := list.Decode(&p)
		if err == io.EOF {
			return exports, public
		}
		require.NoError(t, err)
		if exports[p.ImportPath] = p.Export; !p.DepOnly && p.Export != "" && p.Name != "main" && !isInternal(p.ImportPath) {
			public = append(public, p.ImportPath)
		}
	}
}

func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// TestSurfaceFinds has the test above find one of each kind.
func TestSurfaceFinds(t *testing.T) {
	checked := func(path, src string, from types.Importer) *types.Package {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path+".go", src, 0)
		require.NoError(t, err)
		pkg, err := (&types.Config{Importer: from}).Check(path, files, []*ast.File{file}, nil)
		require.NoError(t, err)
		return pkg
	}
	inside := checked("m/internal/x", "package x; type T struct{ F int }; func (T) M() {}; func (T) Self() T { return T{} }; type A = int", nil)
	outside := checked("m/p", `package p
import "m/internal/x"
func Param(func(...map[int]*x.T)) {}
func result() x.T { return x.T{} }
var Var []x.T
const Const = 1
type Alias = x.T
type Plain int
func (*Plain) Method(chan x.T) {}
type Field struct { Open x.T; hidden x.T }
type Generic[P any] struct { Open P }
type Uses = Generic[x.T]
type Bound[P interface{ Self() x.T }] struct{}
type Embeds struct { x.T }
type private struct { Promoted int }
func (private) Called() {}
type Promotes struct { *private; *Plain2 }
type Plain2 int
func (Plain2) Fine() {}
type Numbers struct { N x.A }
`, imports{"m/internal/x": inside})
	s := surface{module: "m", promotes: true}
	assert.Equal(t, []string{
		"m/p.Alias: m/internal/x.T",
		"m/p.Bound.Self: m/internal/x.T",
		"m/p.Embeds.Self: m/internal/x.T",
		"m/p.Embeds.T: m/internal/x.T",
		"m/p.Field.Open: m/internal/x.T",
		"m/p.Numbers.N: m/internal/x.A",
		"m/p.Param: m/internal/x.T",
		"m/p.Plain.Method: m/internal/x.T",
		"m/p.Promotes.Called: of the embedded private",
		"m/p.Promotes.Promoted: of the embedded private",
		"m/p.Uses: m/internal/x.T",
		"m/p.Var: m/internal/x.T",
	}, s.of(outside))
}

type imports map[string]*types.Package

func (i imports) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}

// surface looks for internal types in the names that a package exports.
type surface struct {
	module   string
	promotes bool // look for what embedded private types promote, too
	seen     map[types.Type]bool
	found    []string
}

func (s *surface) of(pkg *types.Package) []string {
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() {
			s.object(pkg.Path()+"."+name, object)
		}
	}
	slices.Sort(s.found)
	return slices.Compact(s.found)
}

func (s *surface) object(where string, object types.Object) {
	s.begin(where, object.Type())
	name, ok := object.(*types.TypeName)
	if !ok || name.IsAlias() {
		return
	}
	named := name.Type().(*types.Named)
	s.begin(where, named.Underlying())
	for i := range named.TypeParams().Len() {
		s.begin(where, named.TypeParams().At(i).Constraint())
	}
	methods := types.NewMethodSet(types.NewPointer(named))
	for i := range methods.Len() {
		if m := methods.At(i); m.Obj().Exported() {
			s.begin(where+"."+m.Obj().Name(), m.Type())
		}
	}
	if shape, ok := named.Underlying().(*types.Struct); ok && s.promotes {
		s.promoted(where, shape)
	}
}

// promoted looks for exported methods and fields of private types that a struct embeds.
func (s *surface) promoted(where string, shape *types.Struct) {
	for i := range shape.NumFields() {
		field := shape.Field(i)
		if !field.Embedded() || field.Exported() || field.Name() == "keyedStep" {
			continue
		}
		methods := types.NewMethodSet(types.NewPointer(deref(field.Type())))
		for j := range methods.Len() {
			if m := methods.At(j).Obj(); m.Exported() {
				s.found = append(s.found, where+"."+m.Name()+": of the embedded "+field.Name())
			}
		}
		if inner, ok := deref(field.Type()).Underlying().(*types.Struct); ok {
			for j := range inner.NumFields() {
				if f := inner.Field(j); f.Exported() {
					s.found = append(s.found, where+"."+f.Name()+": of the embedded "+field.Name())
				}
			}
		}
	}
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func (s *surface) begin(where string, t types.Type) {
	s.seen = map[types.Type]bool{}
	s.visit(where, t)
}

func (s *surface) name(where string, name *types.TypeName) {
	if p := name.Pkg(); p != nil && isInternal(p.Path()) && strings.HasPrefix(p.Path(), s.module+"/") {
		s.found = append(s.found, where+": "+p.Path()+"."+name.Name())
	}
}

func (s *surface) visit(where string, t types.Type) {
	if t == nil || s.seen[t] {
		return
	}
	s.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		s.name(where, t.Obj())
		s.visit(where, t.Rhs())
	case *types.Named:
		s.name(where, t.Obj())
		for i := range t.TypeArgs().Len() {
			s.visit(where, t.TypeArgs().At(i))
		}
	case *types.TypeParam:
		s.visit(where, t.Constraint())
	case *types.Map:
		s.visit(where, t.Key())
		s.visit(where, t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays and channels
		s.visit(where, t.Elem())
	case *types.Signature:
		for i := range t.TypeParams().Len() {
			s.visit(where, t.TypeParams().At(i))
		}
		s.visit(where, t.Params())
		s.visit(where, t.Results())
	case *types.Tuple:
		for i := range t.Len() {
			s.visit(where, t.At(i).Type())
		}
	case *types.Union:
		for i := range t.Len() {
			s.visit(where, t.Term(i).Type())
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if f := t.Field(i); f.Exported() {
				s.visit(where+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for i := range t.NumMethods() {
			if m := t.Method(i); m.Exported() {
				s.visit(where+"."+m.Name(), m.Type())
			}
		}
		for i := range t.NumEmbeddeds() {
			s.visit(where, t.EmbeddedType(i))
		}
	}
}

// TestRootNames: the root package has a name for every type and every value that a policy of
// Go values, an event or a request is made of, so that its users import no other package for
// one, except package clock for marks. No step gives ReasonShed yet.
func TestRootNames(t *testing.T) {
	const own = "github.com/sluice-go/sluice"
	exports, _ := exported(t, []string{"."})
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	root, err := from.Import(own)
	require.NoError(t, err)
	named, values := map[types.Object]bool{}, map[string]bool{}
	value := func(c *types.Const) string { return c.Type().String() + " " + c.Val().ExactString() }
	for _, name := range root.Scope().Names() {
		switch o := root.Scope().Lookup(name).(type) {
		case *types.TypeName:
			if n, ok := types.Unalias(o.Type()).(*types.Named); ok && o.Exported() {
				named[n.Obj()] = true
			}
		case *types.Const:
			values[value(o)] = values[value(o)] || o.Exported()
		}
	}
	made := map[string]string{own + "/core/backoff.List": "BackoffDelays", own + "/core/calendar.Zone": "ParseZone"}
	for _, function := range made {
		require.NotNil(t, root.Scope().Lookup(function))
	}
	seen := map[types.Type]bool{}
	var visit func(string, types.Type)
	visit = func(where string, x types.Type) {
		x = types.Unalias(x)
		if seen[x] {
			return
		}
		seen[x] = true
		switch x := x.(type) {
		case *types.Named:
			pkg := x.Obj().Pkg()
			if pkg == nil || !strings.HasPrefix(pkg.Path(), own+"/") || made[x.String()] != "" || pkg.Path() == own+"/clock" {
				return
			}
			if _, number := x.Underlying().(*types.Basic); !number {
				assert.True(t, named[x.Obj()], "%s: %s has no name in the root package", where, x)
				visit(where, x.Underlying())
				return
			}
			whole, err := from.Import(pkg.Path())
			require.NoError(t, err)
			for _, name := range whole.Scope().Names() {
				c, ok := whole.Scope().Lookup(name).(*types.Const)
				if ok && name != "ReasonShed" && name != "Algorithms" && c.Exported() && types.Identical(c.Type(), x) && !strings.HasPrefix(name, "Max") && !strings.HasSuffix(name, "One") && !strings.HasPrefix(name, "No") && !strings.HasPrefix(name, "Default") {
					assert.True(t, values[value(c)], "%s: %s.%s has no name in the root package", where, pkg.Path(), name)
				}
			}
		case *types.Struct:
			for i := range x.NumFields() {
				if f := x.Field(i); f.Exported() {
					visit(where+"."+f.Name(), f.Type())
				}
			}
		case interface{ Elem() types.Type }:
			visit(where, x.Elem())
		}
	}
	for _, name := range root.Scope().Names() {
		if o, ok := root.Scope().Lookup(name).(*types.TypeName); ok && (name == "Policy" || name == "Event" || name == "Request" || strings.HasSuffix(name, "Config")) {
			visit(name, o.Type())
		}
	}
	require.Greater(t, len(seen), 60)
}
