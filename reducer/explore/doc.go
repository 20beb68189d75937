// Package explore takes every path of a machine up to a depth and checks invariants
// on the way. Random histories show that a rule holds often; for a small
// configuration, exploration shows that it always holds.
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
// For a composition of cells, such as calls over shared cells, the user of this
// package writes the machine.
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
// Two states with one key count as the same, so a key must distinguish all states
// whose futures can differ. By default it distinguishes all states. A key that leaves
// out what has no effect on the future, such as the origin of the marks, makes many
// runs complete.
//
// Source: after the model checkers TLC and SPIN, with the machine itself in place
// of a specification of it.
package explore
