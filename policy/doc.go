// Package policy reads policy documents, in YAML or JSON, into what the core
// compiles. REFERENCE.md beside it explains every setting; Schema is the same
// for editors.
//
//	doc, err := policy.Parse("policy.yaml", src)
//
// A document is right as a whole or not at all: nothing is corrected silently,
// and an error has everything that is wrong, each with its place, its path, what
// was found, what is allowed and the nearest known name. See Errors.
//
// What a document means is in package document, which a small runtime imports
// alone; this package adds YAML and the schema.
package policy
