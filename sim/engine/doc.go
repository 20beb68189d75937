// Package engine simulates a scenario: discrete events in virtual time. The policies of
// clients and services are decided by core/drive, the code that eval and every other
// runtime run; the rest of the package is a model of who calls and who answers.
//
// It reads no clock, starts no goroutine and imports no map order: equal scenarios and
// seeds give equal bytes of every output, on every platform.
//
// At one mark events happen in this order: faults begin and end, what policies have
// due, answers, clients that lose patience, arrivals.
//
// Guarantees, by their names in GUARANTEES.md: G1 (equal seeds, equal bytes), G12 (a
// call has one end).
//
// Source: sim/REFERENCE.md.
package engine
