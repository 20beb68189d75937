//go:build race

package eval_test

// raceSlows says how many times slower the race detector makes the comparison.
const raceSlows = 2
