//go:build unix

package main

import (
	"os"
	"syscall"
)

// most is how much address space a test program gets. A mutant that allocates
// without an end must not take the machine's memory.
const most = 6 << 30

// execute becomes a test program with a limit of memory. It returns only with an
// error.
func execute(args []string) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return err
	}
	return syscall.Exec(args[0], args, os.Environ())
}
