//go:build unix

package serve

import (
	"math"
	"syscall"
)

// descriptors returns how many descriptors the process may have, 0 for any number. Go
// raises the soft limit to the hard one at the start.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return 0
	}
	return int(limit.Cur)
}
