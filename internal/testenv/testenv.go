// Package testenv reads what the environment asks of the random tests, and says
// whether the race detector is on.
//
//	SLUICE_SEED=42    other histories; 1 where it is not set
//	SLUICE_TIMES=10   ten times as many of them
//	SLUICE_CASES=500  exactly so many in each comparison of random policies
//	SLUICE_SEEDS=200  so many seeds from SLUICE_SEED on, in the tests of Draws; 1 where it is not set
//	SLUICE_RECORD=F   the file to which the tests of Draws add the case at which they fail
//	SLUICE_SOAK=5m    how long all soak tests together take; each runs once where it is not set
//
// A value that cannot be read panics with the variable's name.
package testenv

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Seed returns SLUICE_SEED, 1 where it is not set. Every random test prints the
// seed with a failure.
func Seed() uint64 { return number("SLUICE_SEED", 1) }

// Times returns SLUICE_TIMES, by which a random test multiplies its number of
// cases; 1 where it is not set.
func Times() int { return int(number("SLUICE_TIMES", 1)) }

// Cases returns how many random policies a test compares: SLUICE_CASES, or, where
// it is not set, the usual number multiplied by Times.
func Cases(usual int) int { return int(number("SLUICE_CASES", uint64(usual*Times()))) }

// Soak returns SLUICE_SOAK, 0 where it is not set.
func Soak() time.Duration {
	text := os.Getenv("SLUICE_SOAK")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Errorf("SLUICE_SOAK: %w", err))
	}
	return d
}

// number reads the variable each time, so that go test knows what its cache depends
// on.
func number(name string, usual uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return n
}
