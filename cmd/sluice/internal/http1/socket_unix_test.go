//go:build unix

package http1

import "syscall"

// hasInput reports whether a socket has bytes or an end to read, and leaves them there.
func hasInput(fd uintptr) bool {
	_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err != syscall.EAGAIN
}
