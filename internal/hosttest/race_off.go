//go:build !race

package hosttest

// raceSlows says how many times slower the race detector makes the tests.
const raceSlows = 1
