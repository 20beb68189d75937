package testenv

import (
	_ "embed" // the seeds that failed
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"testing"
)

// again is how many cases of a seed that once failed are compared beside the one that failed.
// What a case is changes with what is drawn; a bounded number of others keeps the seed worth
// its line, and the time of all of them short.
const again = 200

// failed has a line for each case that ever failed: the test, the seed, the case.
//
//go:embed testdata/seeds.txt
var failed string

// Drawn is a case that a seed draws.
type Drawn struct {
	Seed uint64
	Case int
}

// Draws returns the cases of a test: those that ever failed, the first cases of their seeds,
// and then as many as Cases says of SLUICE_SEED, or of SLUICE_SEEDS seeds from it on. The case
// at which a test fails is printed, and added to the list in the file that SLUICE_RECORD
// names.
func Draws(t testing.TB, usual int) iter.Seq[Drawn] {
	known, err := Failed(failed, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	first, seeds, n := Seed(), number("SLUICE_SEEDS", 1), Cases(usual)
	t.Logf("SLUICE_SEED=%d, SLUICE_SEEDS=%d, %d cases of each, and %d that failed", first, seeds, n, len(known))
	return func(yield func(Drawn) bool) {
		over := false
		var last Drawn
		t.Cleanup(func() {
			if over || !t.Failed() {
				return
			}
			line := fmt.Sprintf("%s %d %d", t.Name(), last.Seed, last.Case)
			t.Logf("SLUICE_SEED=%d, case %d: the line of internal/testenv/testdata/seeds.txt is %s", last.Seed, last.Case, line)
			if name := os.Getenv("SLUICE_RECORD"); name != "" {
				if err := record(name, line); err != nil {
					t.Error(err)
				}
			}
		})
		next := func(d Drawn) bool {
			last = d
			return yield(d)
		}
		for _, d := range known {
			if !next(d) || !drawn(d.Seed, min(again, n), next) {
				return
			}
		}
		for seed := first; seed < first+seeds; seed++ {
			if !drawn(seed, n, next) {
				return
			}
		}
		over = true
	}
}

func drawn(seed uint64, n int, yield func(Drawn) bool) bool {
	for i := range n {
		if !yield(Drawn{seed, i}) {
			return false
		}
	}
	return true
}

// Failed returns the cases of a test in a list.
func Failed(list, test string) (all []Drawn, err error) {
	for i, line := range strings.Split(list, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("seeds.txt:%d: found %q; allowed: a test, a seed and a case", i+1, line)
		}
		seed, err1 := strconv.ParseUint(words[1], 10, 63)
		n, err2 := strconv.ParseUint(words[2], 10, 31)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("seeds.txt:%d: found %q; allowed: a test, a seed and a case", i+1, line)
		}
		if words[0] == test {
			all = append(all, Drawn{seed, int(n)})
		}
	}
	return all, nil
}

// record adds a line to a file, unless it is there.
func record(name, line string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if strings.Contains("\n"+string(text), "\n"+line+"\n") {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	if later := file.Close(); err == nil {
		err = later
	}
	return err
}
