// Package mechanisms is the table of the mechanisms: one row each. Readers of
// documents, lint and hosts use it; there is no other list of mechanisms.
package mechanisms
