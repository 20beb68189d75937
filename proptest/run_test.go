package proptest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// Both are read while tests run, so that go test knows what its cache depends on.
var (
	// seed is the same in every run unless SLUICE_SEED says otherwise.
	seed = sync.OnceValue(func() int64 { return setting("SLUICE_SEED", 20_261_121) })
	// times is how many times as many cases are drawn, 1 unless SLUICE_TIMES
	// says otherwise.
	times = sync.OnceValue(func() int { return int(setting("SLUICE_TIMES", 1)) })
)

func setting(name string, usual int64) int64 {
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(name + ": " + err.Error())
	}
	return n
}

// history is what gopter draws and shrinks: words from which a test reads a
// configuration and the steps. A zero word is the least of everything.
type history []uint64

// word returns the i-th word, 0 behind the end.
func (h history) word(i int) uint64 {
	if i < len(h) {
		return h[i]
	}
	return 0
}

// steps are the words behind those of the configuration.
func (h history) steps() history { return h[min(setup, len(h)):] }

// setup is how many words a configuration has.
const setup = 2

// parameters of a search: how many cases of at most how many words.
func parameters(cases, size int) *gopter.TestParameters {
	p := gopter.DefaultTestParametersWithSeed(seed())
	p.MinSuccessfulTests, p.MaxSize = cases*times(), size
	return p
}

// search looks for a history on which holds returns an error, or panics.
func search(p *gopter.TestParameters, holds func(h history) error) *gopter.TestResult {
	return prop.ForAll(func(words []uint64) string {
		if err := holds(words); err != nil {
			return err.Error()
		}
		return ""
	}, gen.SliceOf(gen.UInt64())).Check(p)
}

// report is what a failed search has found, with the seed.
func report(r *gopter.TestResult) string {
	var text strings.Builder
	fmt.Fprintf(&text, "SLUICE_SEED=%d: %s after %d cases", seed(), r.Status, r.Succeeded)
	for _, label := range r.Labels {
		fmt.Fprintf(&text, "\n  %s", label)
	}
	if r.Error != nil {
		fmt.Fprintf(&text, "\n  %v\n%s", r.Error, r.ErrorStack)
	}
	for _, arg := range r.Args {
		fmt.Fprintf(&text, "\n  shrunk to %s", arg)
	}
	return text.String()
}

// errPanic says that a check did not get to its end.
var errPanic = errors.New("panic")

// searched returns what a search finds wrong, nil for nothing.
func searched(cases, size int, shrinks bool, holds func(h history) error) error {
	p := parameters(cases, size)
	if !shrinks {
		p.MaxShrinkCount = 0
	}
	return judged(search(p, holds))
}

func judged(r *gopter.TestResult) error {
	switch {
	case r.Passed():
		return nil
	case r.Status != gopter.TestFailed:
		return fmt.Errorf("%w: %s", errPanic, report(r))
	}
	return errors.New(report(r))
}
