package document

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
)

// Error is one thing wrong with a document.
type Error struct {
	// File as the caller named it.
	File string
	// Line and Column, from 1; a column is a character. Both are 0 for an error
	// of the file as a whole.
	Line, Column int
	// Path of the setting, as in policies.vendor.steps[2].breaker.open. Empty
	// for what cannot be read at all.
	Path string
	// Found is what the document says, Allowed what it may say.
	Found, Allowed string
	// Nearest is what may have been meant. Empty when nothing is near.
	Nearest string
}

// Error returns one line:
//
//	FILE:LINE:COLUMN: PATH: found ...; allowed ...; did you mean ...?
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString(e.File)
	if e.Line > 0 {
		text.WriteString(":" + strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column))
	}
	text.WriteString(": ")
	if e.Path != "" {
		text.WriteString(e.Path + ": ")
	}
	text.WriteString("found " + e.Found + "; allowed " + e.Allowed)
	if e.Nearest != "" {
		text.WriteString("; did you mean " + e.Nearest + "?")
	}
	return text.String()
}

// Errors is everything wrong with a document, in the order of its lines. Past
// MaxErrors the rest is one error that counts them.
type Errors []*Error

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
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
