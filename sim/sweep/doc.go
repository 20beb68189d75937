// Package sweep runs a scenario many times: over the values of one or two settings, with
// many seeds each, in parallel, and says how much the figures vary; and it searches the
// settings that meet stated goals.
//
// Equal documents, settings and seeds give equal results, however many runs are made at
// once.
package sweep
