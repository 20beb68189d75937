package proptest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/sluice-go/sluice/internal/testenv"
)

// history is what gopter draws and shrinks: words from which a test reads a
// configuration and the steps. A zero word draws the least of each value.
type history []uint64

// word returns the i-th word, 0 after the end.
func (h history) word(i int) uint64 {
	if i < len(h) {
		return h[i]
	}
	return 0
}

// steps are the words behind the words of the configuration.
func (h history) steps() history { return h[min(setup, len(h)):] }

// setup is how many words a configuration has.
const setup = 2

// parameters of a search: how many cases of at most how many words.
func parameters(cases, size int) *gopter.TestParameters {
	p := gopter.DefaultTestParametersWithSeed(int64(testenv.Seed()))
	p.MinSuccessfulTests, p.MaxSize = cases*testenv.Times(), size
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

// report is the result of a failed search, with the seed.
func report(r *gopter.TestResult) string {
	var text strings.Builder
	fmt.Fprintf(&text, "SLUICE_SEED=%d: %s after %d cases", testenv.Seed(), r.Status, r.Succeeded)
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

// errPanic says that a check panicked.
var errPanic = errors.New("panic")

// searched returns the failure that a search finds, nil for none.
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
