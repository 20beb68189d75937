//go:build !race

package eval_test

const raceSlows = 1
