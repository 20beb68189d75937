package envoy

import "syscall"

// dependent has a process end with this one, however that ends.
func dependent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
