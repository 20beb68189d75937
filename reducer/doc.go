// Package reducer is the contract that every mechanism of Sluice fulfils.
//
// A mechanism is a Machine: an immutable, validated configuration whose Reduce
// turns (state, action, mark) into (state, effects). It reads no clock, holds no
// lock, starts no goroutine, draws no randomness and does no I/O. Its effects say
// what has to be done, and a runner does it.
//
// The rules, which the tests of every machine check by name:
//
//   - Equal state, action and mark give an equal next state and equal effects,
//     bit for bit, on every platform.
//   - Reduce never changes memory that an older state refers to. Step does the same
//     in place, for drivers that own the state: Reduce(s, a, t) = Step(Clone(s), a, t).
//   - A mark before the last one counts as the last one. A state of one word,
//     which keeps no last mark, may be stricter for an old mark, never looser.
//   - A spurious Tick is the identity. After Tick(t) and serving the queue at t,
//     NextWake is later than t, or there is none.
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
