// Package proptest holds the property tests of Sluice: command tests of every
// mechanism against a naive oracle, the invariants of the project by their
// names, and the laws that let a driver, a store or a simulator trust a
// machine.
//
// Its tests draw their input with gopter, which also shrinks what fails. They
// are the same in every run; the environment variable SLUICE_SEED gives other
// ones, SLUICE_TIMES more of them, and every failure prints the seed that it
// came from:
//
//	SLUICE_SEED=42 SLUICE_TIMES=10 go test ./internal/proof/proptest
//
// TestInvariants walks the table of all invariants: the name, what it says, the
// machines that it is checked on, how, and the mutant on which the check fails. A
// mutant is a machine with one small defect. The test fails when the invariant does
// not hold on a machine, when it hardly ever applies to the drawn histories, and when
// it does hold on the mutant. GUARANTEES.md is made from the table:
//
//	go test ./internal/proof/proptest -run TestGuarantees -rewrite
package proptest
