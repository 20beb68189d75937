package report

import (
	"encoding/json"
	"io"

	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// object is the JSON of sluice lint --json, described in README.md of the
// command. Fields are added, never renamed.
type object struct {
	File     string        `json:"file"`
	ExitCode int           `json:"exit_code"`
	Errors   []objectError `json:"errors"`
	Warnings int           `json:"warnings"`
	Notes    int           `json:"notes"`
	Policies []lint.Policy `json:"policies"`
	// Findings about the routes.
	Findings []lint.Finding `json:"findings"`
}

// objectError is one error of the document.
type objectError struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Found   string `json:"found"`
	Allowed string `json:"allowed"`
	Nearest string `json:"nearest"`
	// Message is the whole, as it is printed without --json.
	Message string `json:"message"`
}

// JSON writes a report, or the errors of a document that has none.
func JSON(w io.Writer, file string, code int, r *lint.Report, errs policy.Errors) error {
	o := object{File: file, ExitCode: code, Errors: []objectError{}, Policies: []lint.Policy{}, Findings: []lint.Finding{}}
	for _, e := range errs {
		o.Errors = append(o.Errors, objectError{
			Line: e.Line, Column: e.Column, Path: e.Path, Found: e.Found, Allowed: e.Allowed, Nearest: e.Nearest, Message: e.Error(),
		})
	}
	if r != nil {
		o.Warnings, o.Notes, o.Policies = r.Count(lint.Warning), r.Count(lint.Note), r.Policies
		o.Findings = r.Findings
	}
	return encode(w, &o)
}

// encode writes an object for people and programs.
func encode(w io.Writer, object any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object)
}
