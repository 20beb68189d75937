// Package mechanisms is the table of the mechanisms: one row each. Readers of
// documents, lint and hosts look here, and nowhere else is a list of them.
package mechanisms
