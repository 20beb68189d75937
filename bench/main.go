// Command bench measures Sluice beside its peers and prints the table.
//
//	go run ./bench                    all cases, and writes bench/RESULTS.md
//	go run ./bench -run 'pipeline'    some of them, and writes nothing
//	go run ./bench -run 'breaker do' -alone -cpuprofile cpu.prof
//
// Each case is one thing that a caller wants, done by Sluice and by every peer
// that offers it. The contenders of a case take turns, repetition by
// repetition, so that a machine that is busy for a while is busy for all of
// them; the medians are compared. Nothing is asserted: a shared machine cannot
// promise a time.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// options are the flags.
type options struct {
	only       *regexp.Regexp
	each       time.Duration
	repeat     int
	alone      bool
	cpu        bool
	output     string
	cpuprofile string
}

func main() {
	// Before any flag is read: testing.Benchmark takes its settings from flags.
	testing.Init()
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.cpuprofile != "" {
		file, err := os.Create(o.cpuprofile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	rows, err := measure(cases(), o, stderr)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, table(rows))
	if o.output == "" {
		return nil
	}
	command := strings.TrimSpace("go run ./bench " + strings.Join(args, " "))
	if err := os.WriteFile(o.output, []byte(results(rows, o, command)), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "written:", o.output)
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&only, "run", "", "measure the cases whose names match this expression")
	f.DurationVar(&o.each, "time", 200*time.Millisecond, "time of one repetition")
	f.IntVar(&o.repeat, "repeat", 7, "repetitions")
	f.BoolVar(&o.alone, "alone", false, "measure Sluice without the peers")
	f.BoolVar(&o.cpu, "cpu", false, "compare processor time instead of wall time, for a machine that has other work")
	f.StringVar(&o.output, "o", "bench/RESULTS.md", "file for the results; not written beside -run or -alone")
	f.StringVar(&o.cpuprofile, "cpuprofile", "", "write a CPU profile to this file")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.repeat < 1 || o.each <= 0 || f.NArg() > 0 {
		return o, fmt.Errorf("-repeat and -time are more than 0, and there are no other arguments")
	}
	if only != "" || o.alone {
		o.output = ""
	}
	if _, ok := processor(); o.cpu && !ok {
		return o, fmt.Errorf("-cpu: this system does not tell the processor time")
	}
	var err error
	o.only, err = regexp.Compile(only)
	return o, err
}
