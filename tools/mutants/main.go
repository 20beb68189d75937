// Command mutants changes one thing at a time in packages below core/, reducer/
// and clock/ and reports the changes that no test suite notices.
//
//	mutants                             a random sample of 40 from all packages
//	mutants -n 100 -seed 7 ./core/...   a given sample of some packages
//	mutants -n 0 ./core/tokenbucket     every mutant of a package
//	mutants -list ./core/tokenbucket    prints them and runs nothing
//
// A mutant is one operator, one whole number, one boolean or one condition that
// is changed, one operand that is left out, or one statement or case that is
// deleted; mutate.go says which. What does not compile is no mutant, nor is a
// text or a call of panic that is changed.
//
// The suites run one after another, the cheap ones first, until one fails. A
// suite that takes too long or too much memory has caught the mutant. Nothing is
// written to the tree: go test sees a changed file by its flag -overlay, and
// what it builds goes to a cache of its own, sluice-mutants in the user's cache
// folder, from which what was built for mutants is removed.
//
// Mutants that no test can catch, because they change nothing that can be seen,
// are listed in equivalent.txt, each with the reason. A line of that list
// that fits no mutant is an error.
//
// The exit code is 0 when nothing survives, 1 when something does, 2 for an
// error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "exec" {
		fmt.Fprintln(os.Stderr, "mutants:", execute(os.Args[2:]))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		code = 2
	}
	os.Exit(code)
}

// options are the flags.
type options struct {
	sample   int
	seed     uint64
	list     bool
	only     *regexp.Regexp
	budget   time.Duration
	jobs     int
	suites   string
	patterns []string
}

func parse(args []string, out io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&o.sample, "n", 40, "how many mutants to draw; 0 takes all")
	flags.Uint64Var(&o.seed, "seed", 0, "draws the sample; 0 takes a fresh one, which is printed")
	flags.BoolVar(&o.list, "list", false, "print the mutants and run nothing")
	only := flags.String("only", "", "take only the mutants whose line matches this regular expression")
	flags.DurationVar(&o.budget, "for", 0, "begin no mutant after this time; 0 has no limit")
	flags.IntVar(&o.jobs, "j", runtime.NumCPU(), "how many mutants run at once")
	flags.StringVar(&o.suites, "suites", "own,core,oracle,policy,proptest,runner",
		"the suites in their order, of: "+strings.Join(suiteNames(), ","))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, err
	}
	if o.sample < 0 || o.jobs < 1 {
		return o, errors.New("-n is at least 0 and -j at least 1")
	}
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32N(1_000_000)) + 1
	}
	if o.patterns = flags.Args(); len(o.patterns) == 0 {
		o.patterns = []string{"./core/...", "./reducer", "./clock"}
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) (code int, err error) {
	o, err := parse(args, out)
	if err != nil {
		return 2, err
	}
	packages, err := load(o.patterns)
	if err != nil {
		return 2, err
	}
	known, err := readEquivalents()
	if err != nil {
		return 2, err
	}
	var all []*mutant
	for _, p := range packages {
		all = append(all, p.mutants()...)
	}
	if err := known.check(packages, all); err != nil {
		return 2, err
	}
	chosen := choose(o, known, all)
	if o.list {
		for _, m := range chosen {
			fmt.Fprintln(out, m)
		}
		fmt.Fprintf(out, "%d mutants\n", len(chosen))
		return 0, nil
	}
	fmt.Fprintf(out, "%d of %d mutants, %d of them known to be equivalent; -n %d -seed %d %s\n",
		len(chosen), len(all), known.count(all), o.sample, o.seed, strings.Join(o.patterns, " "))
	return hunt(ctx, o, chosen, out)
}

// choose draws the sample from the mutants that are not known to be equivalent.
func choose(o options, known equivalents, all []*mutant) (chosen []*mutant) {
	for _, m := range all {
		if known[m.id()] == "" && o.only.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	if o.sample == 0 || o.list {
		return chosen
	}
	r := rand.New(rand.NewPCG(o.seed, 0))
	r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen[:min(o.sample, len(chosen))]
}
