// Package policy reads policy documents, in YAML or JSON, into what the core
// compiles. REFERENCE.md beside it explains every setting; Schema is the same
// for editors.
//
//	doc, err := policy.Parse("policy.yaml", src)
//
// A document is accepted as a whole or not at all: nothing is corrected silently, and
// the error has all mistakes, each with its place, its path, what was found, what is
// allowed and the nearest known name. See Errors.
//
// Package document interprets a document, and a small runtime needs only that
// package; this package adds YAML and the schema.
package policy
