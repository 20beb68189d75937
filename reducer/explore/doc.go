// Package explore takes every path of a machine up to a depth and checks what
// must hold on the way. Random histories show that a rule holds often; in a
// small configuration this shows that it holds.
//
// A Model is any reducer.Machine with what may happen to it: actions, which may
// depend on the state, and marks, fixed or beside the present one and the next
// wake. Run goes through all of it breadth first, a state once, and asks the
// invariants at every state and every transition. The first Violation is
// therefore one with the fewest steps, and its script can be run, kept and
// mended:
//
//	# K1: 2 of 1 places are held
//	new concurrent=1
//	----
//	held 0/1
//
//	run
//	0s acquire id=1
//	0s acquire id=2
//	----
//	0s acquire id=1  admit  held 1/1
//	0s acquire id=2  admit  held 2/1
//
// A cell needs callers, who hold the permits that are out and settle them: ForCell
// makes a Model of a cell and a list of actions, with the books of its callers,
// and its scripts are those that the mechanisms of this module are tested with.
// What is composed by hand, such as calls over shared cells, is a machine of
// whoever composes it.
//
// Guarantees:
//
//   - Two runs of one model take the same paths and find the same.
//   - All actions at all marks of every state that was reached are taken, up to
//     the depth of the Result. When it is Complete, no depth has any other state.
//   - What is kept is the states of one depth, and for each state ever reached
//     its key and the step that led to it: at most Limits.States of them, and
//     then the run ends with a LimitError.
//
// Two states with one key are taken for the same, so a key must tell apart
// whatever can differ in what follows. By default it tells everything apart. One
// that leaves out what cannot be told, as where on the line of marks it all
// happens, makes many runs complete.
//
// Source: after the model checkers TLC and SPIN, with the machine itself in place
// of a specification of it.
package explore
