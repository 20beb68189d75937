package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"math/big"
	"slices"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	unit *unit
	file *source
	// in is the function or declaration that is changed, line the first line of
	// the change.
	in   string
	line int
	// before and after are the changed lines, each as one line.
	before, after string
	// nth counts mutants of one declaration that read alike, from 1.
	nth int
	// start, end and text are the change.
	start, end int
	text       string
}

// changed returns the file's text with the change.
func (m *mutant) changed() []byte {
	return slices.Concat(m.file.text[:m.start], []byte(m.text), m.file.text[m.end:])
}

// id names the mutant without its line number, which other changes move.
func (m *mutant) id() string {
	id := fmt.Sprintf("%s %s: %s -> %s", m.file.path, m.in, m.before, m.after)
	if m.nth > 1 {
		id += fmt.Sprintf(" (%d)", m.nth)
	}
	return id
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s", m.file.path, m.line, strings.TrimPrefix(m.id(), m.file.path+" "))
}

// deleted replaces what a mutant leaves out.
const deleted = "(deleted)"

// operators are what an operator is changed to.
var operators = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.AND}, token.AND_NOT: {token.AND},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN},
	token.QUO_ASSIGN: {token.MUL_ASSIGN}, token.REM_ASSIGN: {token.MUL_ASSIGN}, token.AND_ASSIGN: {token.OR_ASSIGN},
	token.OR_ASSIGN: {token.AND_ASSIGN}, token.AND_NOT_ASSIGN: {token.OR_ASSIGN}, token.SHL_ASSIGN: {token.SHR_ASSIGN},
	token.SHR_ASSIGN: {token.SHL_ASSIGN}, token.INC: {token.DEC}, token.DEC: {token.INC},
}

// maker makes the mutants of a file.
type maker struct {
	*unit
	file *source
	in   string
	seen map[string]int
	all  []*mutant
}

// mutants returns what can be changed in a package and still compiles.
func (u *unit) mutants() (all []*mutant) {
	for _, f := range u.files {
		m := &maker{unit: u, file: f, seen: map[string]int{}}
		for _, d := range f.tree.Decls {
			m.declaration(d)
		}
		all = append(all, m.all...)
	}
	return all
}

func (m *maker) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		m.in = d.Name.Name
		if d.Recv != nil {
			m.in = receiver(d.Recv.List[0].Type) + "." + m.in
		}
		if d.Body != nil {
			ast.Inspect(d.Body, m.node)
		}
	case *ast.GenDecl:
		if d.Tok != token.CONST && d.Tok != token.VAR {
			return
		}
		for _, s := range d.Specs {
			s := s.(*ast.ValueSpec)
			m.in = s.Names[0].Name
			ast.Inspect(s, m.node)
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// node adds the changes of a node. What panics is not entered.
func (m *maker) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		m.operator(n.OpPos, n.Op)
		if n.Op == token.LAND || n.Op == token.LOR {
			m.replace(n, m.text(n.X))
			m.replace(n, m.text(n.Y))
		}
	case *ast.AssignStmt:
		m.operator(n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		m.operator(n.TokPos, n.Tok)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			m.replace(n, m.text(n.X))
		}
	case *ast.BasicLit:
		m.number(n)
	case *ast.Ident:
		if v := m.info.Types[n]; v.Value != nil && v.IsValue() {
			switch n.Name {
			case "true":
				m.replace(n, "false")
			case "false":
				m.replace(n, "true")
			}
		}
	case *ast.CallExpr:
		return m.call(n)
	case *ast.IfStmt:
		m.negate(n.Cond)
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	}
	return true
}

// negate turns a condition around, unless the change of its operator does.
func (m *maker) negate(cond ast.Expr) {
	switch c := cond.(type) {
	case *ast.BinaryExpr:
		if c.Op != token.LAND && c.Op != token.LOR {
			return
		}
	case *ast.UnaryExpr:
		return
	}
	m.replace(cond, "!("+m.text(cond)+")")
}

func (m *maker) operator(at token.Pos, op token.Token) {
	for _, other := range operators[op] {
		m.add(at, at+token.Pos(len(op.String())), other.String(), false)
	}
}

// number adds one to a whole number and takes one from it.
func (m *maker) number(n *ast.BasicLit) {
	value, ok := new(big.Int).SetString(strings.ReplaceAll(n.Value, "_", ""), 0)
	if n.Kind != token.INT || !ok {
		return
	}
	one := big.NewInt(1)
	m.replace(n, new(big.Int).Add(value, one).String())
	if value.Sign() > 0 {
		m.replace(n, new(big.Int).Sub(value, one).String())
	}
}

// call changes min and max, and leaves out what they compare.
func (m *maker) call(n *ast.CallExpr) bool {
	name, ok := n.Fun.(*ast.Ident)
	if !ok || !m.info.Types[n.Fun].IsBuiltin() {
		return true
	}
	switch name.Name {
	case "panic":
		return false
	case "min", "max":
		other := map[string]string{"min": "max", "max": "min"}[name.Name]
		m.replace(name, other)
		for _, arg := range n.Args {
			if m.info.Types[arg].Value == nil {
				m.replace(n, m.text(arg))
			}
		}
	}
	return true
}

// statements deletes one at a time.
func (m *maker) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.DeclStmt, *ast.EmptyStmt, *ast.LabeledStmt:
			continue
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt:
			if m.panics(s.X) {
				continue
			}
		}
		m.add(s.Pos(), s.End(), "", true)
	}
}

func (m *maker) panics(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "panic" && m.info.Types[call.Fun].IsBuiltin()
}

func (m *maker) text(n ast.Node) string {
	return string(m.file.text[m.offset(n.Pos()):m.offset(n.End())])
}

func (m *maker) offset(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *maker) replace(n ast.Node, text string) { m.add(n.Pos(), n.End(), text, false) }

// add adds a mutant, if it compiles. A whole statement or case is deleted.
func (m *maker) add(from, to token.Pos, text string, whole bool) {
	u := &mutant{unit: m.unit, file: m.file, in: m.in, line: m.fset.Position(from).Line, start: m.offset(from), end: m.offset(to), text: text}
	if !m.compiles(m.file, u.changed()) {
		return
	}
	if whole {
		first, _, more := strings.Cut(string(m.file.text[u.start:u.end]), "\n")
		if u.before, u.after = squeezed(first), deleted; more {
			u.before += " ..."
		}
	} else {
		start := strings.LastIndexByte(string(m.file.text[:u.start]), '\n') + 1
		end := len(m.file.text)
		if i := strings.IndexByte(string(m.file.text[u.end:]), '\n'); i >= 0 {
			end = u.end + i
		}
		u.before = squeezed(string(m.file.text[start:end]))
		u.after = squeezed(string(m.file.text[start:u.start]) + text + string(m.file.text[u.end:end]))
	}
	m.seen[u.id()]++
	u.nth = m.seen[u.id()]
	m.all = append(m.all, u)
}

// squeezed is code on one line, without a comment at its end.
func squeezed(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		if i := strings.Index(line, " //"); i >= 0 {
			line = line[:i]
		}
		lines = append(lines, line)
	}
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}
