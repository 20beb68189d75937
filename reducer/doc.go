// Package reducer is the contract that every mechanism of Sluice fulfils.
//
// A mechanism with shared state is a Cell: an immutable, validated configuration with 14 methods
// that work in place on a state of which the caller is the only owner. Step applies an action at a
// mark; its answer and its effects say what has to be done, and a runner does it. A machine reads
// no clock, holds no lock, starts no goroutine, draws no randomness and does no I/O.
//
// A machine is written once. Values derives the form of values from it: Reduce(s, a, t) is
// Step on a clone of s. Tests, explorations and examples use that form, and what they prove is
// what runs.
//
// The rules, which the tests of every machine check by name:
//
//   - Equal state, action and mark give an equal next state and equal effects,
//     bit for bit, on every platform.
//   - A clone shares no memory with its state: no step of the one changes the other, and a
//     clone between two steps changes nothing.
//   - A mark before the last one counts as the last one. A state of one word,
//     which keeps no last mark, may be stricter for an old mark, never looser.
//   - A spurious Tick is the identity. After Tick(t) and serving the queue at t,
//     Due(s).Wake is later than t, or there is none.
//   - Permits carry the generation that granted them; a late or unknown
//     completion changes nothing and is answered Stale. A bulkhead and a
//     half-open breaker know every permit that they granted, so a duplicate is Stale
//     there too. A limiter and a closed breaker, whose states are a few words, rely
//     on the holder to settle a permit once; a driver that may send an action
//     twice, as over a network, stores a mark beside the permit.
//   - A wrong configuration is a ConfigError from the constructor, several joined. Nothing is
//     silently corrected.
//
// Package explore, below this one, takes every path of a machine up to a depth,
// also of a machine that is not of this module, and prints the shortest one on
// which something does not hold as a script.
package reducer
