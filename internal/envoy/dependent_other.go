//go:build !linux

package envoy

import "syscall"

// dependent has a process end with this one, where the system can.
func dependent() *syscall.SysProcAttr { return nil }
