//go:build !unix

package main

import "time"

// processor is not known here; wall time is all there is.
func processor() (time.Duration, bool) { return 0, false }
