// Package oracle is a second implementation of the exact meaning of a policy
// (policy/REFERENCE.md) and of the decision log (eval/REFERENCE.md). The tests
// compare the core with it on random policies and logs.
//
// It is naive on purpose. Everything is a list that is scanned from its
// beginning: at every mark it looks at all calls and all cells for the first
// thing that can happen, does it, and looks again. Windows are recounted from
// the list of all outcomes, turns are found by playing the queue forward on a
// copy, and what could round or overflow is computed with math/big. It shares
// the typed configurations with the core and nothing else.
//
// Where the text is open, the comment of the function that takes a reading
// names it.
package oracle
