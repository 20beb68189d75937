// Package mechanisms is the table of the mechanisms: one row each. Readers of
// documents, lint and hosts use it; there is no other list of mechanisms.
//
// The functions that return what a mechanism itself says are in table_gen.go.
package mechanisms

//go:generate go run ../../internal/mechanismtable/gen
