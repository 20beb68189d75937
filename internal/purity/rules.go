package purity

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strings"
)

// fromTime is what the core may use of package time: lengths, never moments.
var fromTime = map[string]bool{
	"Duration": true, "Nanosecond": true, "Microsecond": true, "Millisecond": true,
	"Second": true, "Minute": true, "Hour": true,
}

// notFromBinary is what of encoding/binary goes through reflection or differs
// from machine to machine.
var notFromBinary = map[string]bool{
	"Read": true, "Write": true, "Size": true, "Append": true, "Encode": true, "Decode": true,
	"NativeEndian": true,
}

// notBuiltin are the builtins that a step may not call.
var notBuiltin = map[string]string{
	"panic":   "no input may stop the core: return a defined effect or an error",
	"recover": "the core has nothing to recover from",
	"close":   "the core has no channels",
	"print":   "the core does no I/O",
	"println": "the core does no I/O",
}

// rules reports what a file does that no step may do.
func (c *checker) rules(p *pkg, file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			c.comment(comment)
		}
	}
	var above []ast.Node // from the file down to the node's parent
	ast.Inspect(file, func(node ast.Node) bool {
		if node == nil {
			above = above[:len(above)-1]
			return true
		}
		switch node := node.(type) {
		case *ast.GoStmt:
			c.at(node, "goroutine", "a step starts nothing: return an effect that the runner acts on")
		case *ast.ChanType:
			c.at(node, "channel", "the core has no channels")
		case *ast.SendStmt:
			c.at(node, "channel", "the core has no channels")
		case *ast.SelectStmt:
			c.at(node, "channel", "the core has no channels")
		case *ast.UnaryExpr:
			if node.Op == token.ARROW {
				c.at(node, "channel", "the core has no channels")
			}
		case *ast.RangeStmt:
			switch {
			case ranges(p, node.X, isMap):
				c.at(node, "map-range", "the order of a map differs from run to run: keep a sorted slice beside it")
			case ranges(p, node.X, isChan):
				c.at(node, "channel", "the core has no channels")
			}
		case *ast.CallExpr:
			if c.asserts(p, node) && !c.guarded(p, above, node) {
				c.at(node, "assertion", "a program without assertions runs it: call it in an if of assert.On, or in a function assert...")
			}
		case *ast.Ident:
			c.use(p, node)
		case *ast.BinaryExpr:
			if node.Op == token.MUL && isFloat(p, node) && !rounded(p, above, node) {
				c.at(node, "float", "a compiler may fuse this product with a sum: round it, float64(x*y)")
			}
		case *ast.AssignStmt:
			if node.Tok == token.MUL_ASSIGN && isFloat(p, node.Lhs[0]) {
				c.at(node, "float", "a compiler may fuse this product with a sum: write x = float64(x*y)")
			}
		}
		above = append(above, node)
		return true
	})
}

// assertFile is the one file that may panic, and assertPackage its package.
const (
	assertPackage = "core/internal/assert"
	assertFile    = assertPackage + "/assert.go"
)

// asserts reports whether a call is one of an assertion: of the package for them, or of a function
// of the core that has the name of one.
func (c *checker) asserts(p *pkg, call *ast.CallExpr) bool {
	f, ok := calleeOf(p, call)
	return ok && f.Pkg() != nil && c.isPure(f.Pkg().Path()) &&
		(f.Pkg().Path() == path.Join(c.module, assertPackage) || isAssertion(f.Name()))
}

// isAssertion reports whether a function has the name of one that asserts.
func isAssertion(name string) bool { return strings.HasPrefix(strings.ToLower(name), "assert") }

// guarded reports whether a node is in the body of an if of assert.On, or in a function that
// asserts itself.
func (c *checker) guarded(p *pkg, above []ast.Node, node ast.Node) bool {
	for _, outer := range above {
		switch outer := outer.(type) {
		case *ast.FuncDecl:
			if isAssertion(outer.Name.Name) {
				return true
			}
		case *ast.IfStmt:
			on, ok := outer.Cond.(*ast.SelectorExpr)
			if !ok || outer.Body.Pos() > node.Pos() || outer.Body.End() < node.End() {
				continue
			}
			if object := p.info.Uses[on.Sel]; object != nil && object.Pkg() != nil && object.Pkg().Path() == path.Join(c.module, assertPackage) && on.Sel.Name == "On" {
				return true
			}
		}
	}
	return false
}

// calleeOf returns the function or method that a call names.
func calleeOf(p *pkg, call *ast.CallExpr) (*types.Func, bool) {
	var name *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		name = f.Sel
	default:
		return nil, false
	}
	f, ok := p.info.Uses[name].(*types.Func)
	return f, ok
}

// use reports names of impure objects.
func (c *checker) use(p *pkg, name *ast.Ident) {
	object := p.info.Uses[name]
	if builtin, ok := object.(*types.Builtin); ok {
		if why, ok := notBuiltin[builtin.Name()]; ok && (builtin.Name() != "panic" || c.nameOf(name) != assertFile) {
			c.at(name, builtin.Name(), "%s", why)
		}
		return
	}
	if object == nil || object.Pkg() == nil || object.Pkg() == p.types {
		return
	}
	owner := ownerOf(object)
	switch object.Pkg().Path() {
	case "time":
		if owner != "" && !fromTime[owner] {
			c.at(name, "time", "time.%s: the core uses time.Duration and its units alone; a mark comes in as a parameter", object.Name())
		}
	case "encoding/binary":
		if notFromBinary[owner] {
			c.at(name, "binary", "binary.%s needs reflection or depends on the machine: use binary.LittleEndian", object.Name())
		}
	case "math":
		if _, constant := object.(*types.Const); !constant {
			c.at(name, "math", "math.%s: only constants", object.Name())
		}
	case path.Join(c.module, "clock"):
		if owner != "" && c.fset.Position(object.Pos()).Filename != markFile {
			c.at(name, "clock", "clock.%s reads a clock or changes: the core may use what %s declares", object.Name(), markFile)
		}
	}
}

// ownerOf gives the package-level name behind an object: its own, or for a
// method its receiver's. It is empty for fields, package names and the like.
func ownerOf(object types.Object) string {
	if function, ok := object.(*types.Func); ok {
		if receiver := function.Signature().Recv(); receiver != nil {
			of := receiver.Type()
			if pointer, ok := of.(*types.Pointer); ok {
				of = pointer.Elem()
			}
			if named, ok := of.(*types.Named); ok {
				return named.Obj().Name()
			}
			return ""
		}
	}
	if object.Parent() == object.Pkg().Scope() {
		return object.Name()
	}
	return ""
}

// comment reports directives that change where or how a file is built.
func (c *checker) comment(comment *ast.Comment) {
	for _, directive := range []string{"//go:build ", "// +build ", "//go:linkname ", "//go:embed ", "//go:wasmimport "} {
		if len(comment.Text) > len(directive) && comment.Text[:len(directive)] == directive {
			c.at(comment, "constraint", "%s: the same code must decide on every runtime", directive[:len(directive)-1])
		}
	}
}

// rounded reports whether the product's next use rounds it or cannot be a sum: a
// conversion, another product or quotient, a comparison. Assignments and
// returns do not round: the Go specification lets a compiler fuse across
// statements.
func rounded(p *pkg, above []ast.Node, product ast.Expr) bool {
	if p.info.Types[product].Value != nil {
		return true // constants are exact
	}
	for i := len(above) - 1; i >= 0; i-- {
		switch parent := above[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.CallExpr:
			return p.info.Types[parent.Fun].IsType()
		case *ast.BinaryExpr:
			return parent.Op != token.ADD && parent.Op != token.SUB
		}
		return false
	}
	return false
}

// isFloat reports whether the expression is, or for some type argument may be, a
// float.
func isFloat(p *pkg, expr ast.Expr) bool {
	return ranges(p, expr, func(t types.Type) bool {
		basic, ok := t.Underlying().(*types.Basic)
		return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
	})
}

func isMap(t types.Type) bool  { _, ok := t.Underlying().(*types.Map); return ok }
func isChan(t types.Type) bool { _, ok := t.Underlying().(*types.Chan); return ok }

// ranges reports whether is holds for the expression's type, or for any type
// that its type parameter admits by name.
func ranges(p *pkg, expr ast.Expr, is func(types.Type) bool) bool {
	t := p.info.TypeOf(expr)
	return t != nil && admits(t, is)
}

func admits(t types.Type, is func(types.Type) bool) bool {
	switch under := t.Underlying().(type) {
	case *types.Interface:
		for embedded := range under.EmbeddedTypes() {
			if union, ok := embedded.(*types.Union); ok {
				for term := range union.Terms() {
					if admits(term.Type(), is) {
						return true
					}
				}
			} else if admits(embedded, is) {
				return true
			}
		}
		return false
	}
	return is(t)
}
