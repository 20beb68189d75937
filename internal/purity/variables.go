package purity

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// variables judges package variables. It accepts a variable that no code can change:
// an error made by errors.New, a proof that a type implements an interface, or an
// unexported table of plain values that no code writes to, takes the address of, or
// passes on by reference.
type variables struct {
	c     *checker
	known map[types.Object]*variable
	files []judged
}

type variable struct {
	name *ast.Ident
	p    *pkg
	told bool // one finding a variable is enough
}

type judged struct {
	p    *pkg
	file *ast.File
}

func newVariables(c *checker) *variables {
	return &variables{c: c, known: map[types.Object]*variable{}}
}

// collect takes down the package variables of a file and judges their form.
func (v *variables) collect(p *pkg, file *ast.File) {
	v.files = append(v.files, judged{p, file})
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.VAR {
			continue
		}
		for _, spec := range general.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, name := range spec.Names {
				object := p.info.Defs[name]
				if name.Name == "_" || object == nil {
					continue
				}
				entry := &variable{name: name, p: p}
				v.known[object] = entry
				var value ast.Expr
				if len(spec.Values) == len(spec.Names) {
					value = spec.Values[i]
				}
				v.form(entry, object, value)
			}
		}
	}
}

// form reports variables whose type or beginning already lets them change.
func (v *variables) form(entry *variable, object types.Object, value ast.Expr) {
	if isError(object.Type()) {
		if !isErrorsNew(entry.p, value) {
			v.tell(entry, entry.name, "an error variable must be made by errors.New or errors.Join")
		}
		return
	}
	if object.Exported() {
		v.tell(entry, entry.name, "anyone can change an exported variable: make it a constant or a function")
		return
	}
	if !isTable(object.Type(), map[types.Type]bool{}) {
		v.tell(entry, entry.name, "a variable of type %s can change: only tables of plain values are accepted", object.Type())
	}
}

// judge reports every use of a package variable that could change it.
func (v *variables) judge() {
	for _, f := range v.files {
		var above []ast.Node
		ast.Inspect(f.file, func(node ast.Node) bool {
			if node == nil {
				above = above[:len(above)-1]
				return true
			}
			if name, ok := node.(*ast.Ident); ok {
				if entry := v.known[f.p.info.Uses[name]]; entry != nil {
					if what := changes(f.p, above, name); what != "" {
						v.tell(entry, name, "package variable %s %s", entry.name.Name, what)
					}
				}
			}
			above = append(above, node)
			return true
		})
	}
}

func (v *variables) tell(entry *variable, at ast.Node, format string, args ...any) {
	if !entry.told {
		entry.told = true
		v.c.at(at, "variable", format, args...)
	}
}

// changes returns how the use of a package variable could change it, or nothing.
// It climbs from the name through fields and elements to the whole operand,
// and checks how that is used.
func changes(p *pkg, above []ast.Node, name *ast.Ident) string {
	var operand ast.Expr = name
	for i := len(above) - 1; i >= 0; i-- {
		switch parent := above[i].(type) {
		case *ast.ParenExpr:
			operand = parent
			continue
		case *ast.SelectorExpr:
			if parent.Sel == operand { // pkg.variable
				operand = parent
				continue
			}
			selection := p.info.Selections[parent]
			if selection != nil && selection.Kind() == types.FieldVal {
				operand = parent
				continue
			}
			if method, ok := p.info.Uses[parent.Sel].(*types.Func); ok {
				if _, byPointer := method.Signature().Recv().Type().(*types.Pointer); byPointer {
					return "is handed to a method by its address"
				}
			}
			return ""
		case *ast.IndexExpr:
			if parent.X == operand {
				operand = parent
				continue
			}
		case *ast.SliceExpr:
			if parent.X == operand {
				if isString(p.info.TypeOf(operand)) {
					return ""
				}
				// A slice that is only read may still be read.
				operand = parent
				continue
			}
		case *ast.AssignStmt:
			for _, left := range parent.Lhs {
				if left == operand {
					return "is assigned to"
				}
			}
		case *ast.IncDecStmt:
			return "is assigned to"
		case *ast.UnaryExpr:
			if parent.Op == token.AND {
				return "has its address taken"
			}
		case *ast.RangeStmt:
			if parent.Key == operand || parent.Value == operand {
				return "is assigned to"
			}
			if parent.X == operand && (parent.Value == nil || !refers(p.info.TypeOf(parent.Value))) {
				return ""
			}
		case *ast.CallExpr:
			if reads(p, parent, operand) {
				return ""
			}
		case *ast.BinaryExpr:
			return ""
		}
		break
	}
	if refers(p.info.TypeOf(operand)) {
		return "is passed on by reference: its receiver can write to it"
	}
	return ""
}

// reads reports whether a call only reads the argument, though it gets it by
// reference.
func reads(p *pkg, call *ast.CallExpr, argument ast.Expr) bool {
	position := -1
	for i, arg := range call.Args {
		if arg == argument {
			position = i
		}
	}
	fun := ast.Unparen(call.Fun)
	if p.info.Types[fun].IsType() {
		return isString(p.info.TypeOf(call)) // string(bytes) copies
	}
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	var name *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		name = fun
	case *ast.SelectorExpr:
		name = fun.Sel
	default:
		return false
	}
	switch object := p.info.Uses[name].(type) {
	case *types.Builtin:
		switch object.Name() {
		case "len", "cap", "min", "max":
			return true
		case "append":
			return position > 0 && !refers(elementOf(p.info.TypeOf(argument)))
		case "copy":
			return position == 1 && !refers(elementOf(p.info.TypeOf(argument)))
		}
	case *types.Func:
		if object.Pkg() == nil {
			return false
		}
		switch object.Pkg().Path() + "." + object.Name() {
		case "slices.Contains", "slices.ContainsFunc", "slices.Index", "slices.IndexFunc", "slices.Equal",
			"slices.BinarySearch", "slices.BinarySearchFunc", "slices.Max", "slices.Min", "slices.IsSorted",
			"strings.Join":
			return true
		case "slices.Clone", "slices.Concat":
			return !refers(elementOf(p.info.TypeOf(argument)))
		}
	}
	return false
}

// isTable reports whether a type holds plain values only, in arrays, slices,
// maps and structs.
func isTable(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	if isError(t) {
		return true
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Kind() != types.UnsafePointer && t.Kind() != types.Invalid
	case *types.Array:
		return isTable(t.Elem(), seen)
	case *types.Slice:
		return isTable(t.Elem(), seen)
	case *types.Map:
		return isTable(t.Key(), seen) && isTable(t.Elem(), seen)
	case *types.Struct:
		for field := range t.Fields() {
			if !isTable(field.Type(), seen) {
				return false
			}
		}
		return true
	}
	return false
}

// refers reports whether a copy of a value of the type shares memory that can be
// written.
func refers(t types.Type) bool {
	if t == nil || isError(t) {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Kind() == types.UnsafePointer
	case *types.Tuple: // value, ok := table[key]
		return t.Len() > 0 && refers(t.At(0).Type())
	case *types.Array:
		return refers(t.Elem())
	case *types.Struct:
		for field := range t.Fields() {
			if refers(field.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

func elementOf(t types.Type) types.Type {
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return t.Elem()
	case *types.Array:
		return t.Elem()
	}
	return t
}

func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// isErrorsNew reports whether a value is made by errors.New or by Invalid or Broken of
// package wire, which make a text an error where errors have texts, or joins such values
// and other package variables.
func isErrorsNew(p *pkg, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	if selector, isSelector := call.Fun.(*ast.SelectorExpr); isSelector {
		name, ok = selector.Sel, true
	}
	if !ok {
		return false
	}
	function, ok := p.info.Uses[name].(*types.Func)
	switch {
	case !ok || function.Pkg() == nil:
		return false
	case (function.Name() == "Invalid" || function.Name() == "Broken") && strings.HasSuffix(function.Pkg().Path(), "/core/wire"):
		return true
	case function.Pkg().Path() != "errors":
		return false
	}
	if function.Name() != "Join" {
		return function.Name() == "New"
	}
	for _, arg := range call.Args {
		switch arg := arg.(type) {
		case *ast.Ident, *ast.SelectorExpr:
		default:
			if !isErrorsNew(p, arg) {
				return false
			}
		}
	}
	return true
}
