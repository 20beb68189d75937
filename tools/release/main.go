// Command release versions the modules of the repository, and builds what a
// release consists of.
//
//	release check [VERSION]    the modules can be installed, and name this version
//	release set VERSION        writes the version into go.work and every go.mod
//	release tidy               runs go mod tidy in every module of go.work
//	release build VERSION DIR  writes archives, checksums and the image's folder
//
// It builds as users do: it makes a module proxy of the working tree and runs
// go install against it, outside the workspace. The binary of an archive is
// therefore the binary that go install builds of the tag with the same flags.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const usage = `usage: release check [VERSION]
       release set VERSION
       release tidy
       release build [-dirty] [-verify] [-targets linux/amd64,...] VERSION DIR`

func main() {
	root, err := os.Getwd()
	if err == nil {
		err = run(root, os.Args[1:], os.Stdout)
	}
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run executes a command line on the repository at root.
func run(root string, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch command, args := args[0], args[1:]; {
	case command == "check" && len(args) <= 1:
		version, err := check(root)
		if err == nil && len(args) == 1 && args[0] != version {
			err = fmt.Errorf("the modules require %s, not %s; run make version VERSION=%s and commit", version, args[0], args[0])
		}
		if err == nil {
			fmt.Fprintf(out, "the modules can be installed from these tags:\n")
			for _, dir := range published {
				fmt.Fprintln(out, " ", tag(dir, version))
			}
		}
		return err
	case command == "set" && len(args) == 1:
		return set(root, args[0])
	case command == "tidy" && len(args) == 0:
		return tidy(root, out)
	case command == "build":
		return buildCommand(root, args, out)
	}
	return errors.New(usage)
}

// buildCommand reads the flags of build and runs it.
func buildCommand(root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release build", flag.ContinueOnError)
	dirty := flags.Bool("dirty", false, "build although the working tree has changes that are not committed")
	verify := flags.Bool("verify", false, "build twice, the second time with an empty build cache, and compare")
	targets := flags.String("targets", strings.Join(allTargets, ","), "operating systems and architectures")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New(usage)
	}
	version, dist := flags.Arg(0), flags.Arg(1)
	if err := run(root, []string{"check", version}, io.Discard); err != nil {
		return err
	}
	if !*dirty {
		if err := clean(root); err != nil {
			return err
		}
	}
	b := builder{root: root, version: version, targets: strings.Split(*targets, ","), out: out}
	if !filepath.IsAbs(dist) {
		dist = filepath.Join(root, dist)
	}
	if *verify {
		return b.buildTwice(dist)
	}
	return b.build(dist, "")
}
