package document

import (
	"github.com/sluice-go/sluice/policy/tree"
)

// Error is one error of a document.
type Error struct {
	// File as the caller named it.
	File string
	// Line and Column, from 1; a column is a character. Both are 0 for an error
	// of the file as a whole.
	Line, Column int
	// Path of the setting, as in policies.vendor.steps[2].breaker.open. Empty where
	// the document cannot be read at all.
	Path string
	// Found is the text of the document, Allowed what would be valid.
	Found, Allowed string
	// Nearest is a suggestion. Empty when nothing is near.
	Nearest string
}

// Error returns one line:
//
//	FILE:LINE:COLUMN: PATH: found ...; allowed ...; did you mean ...?
func (e *Error) Error() string {
	var text builder
	text.add(e.File)
	if e.Line > 0 {
		text.add(":")
		text.addInt(e.Line)
		text.add(":")
		text.addInt(e.Column)
	}
	text.add(": ")
	if e.Path != "" {
		text.add(e.Path)
		text.add(": ")
	}
	text.add("found ")
	text.add(e.Found)
	text.add("; allowed ")
	text.add(e.Allowed)
	if e.Nearest != "" {
		text.add("; did you mean ")
		text.add(e.Nearest)
		text.add("?")
	}
	return text.String()
}

// isBefore reports whether an error is before another one.
func (e *Error) isBefore(other *Error) bool {
	return e.Line < other.Line || e.Line == other.Line && e.Column < other.Column
}

// Errors has all errors of a document, in the order of its lines. Past MaxErrors the
// rest is one error that counts them.
type Errors []*Error

// Error returns one line for each error.
func (e Errors) Error() string {
	var lines builder
	for i, one := range e {
		if i > 0 {
			lines.add("\n")
		}
		lines.add(one.Error())
	}
	return lines.String()
}

// Unwrap returns the errors one by one, for errors.As.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// Unreadable returns the error of a source that has no tree.
func Unreadable(file string, err *tree.SyntaxError) Errors {
	return Errors{{File: file, Line: err.Line, Column: err.Column, Found: err.Found, Allowed: err.Allowed}}
}
