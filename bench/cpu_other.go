//go:build !unix

package main

import "time"

// processor is unknown here; only wall time is available.
func processor() (time.Duration, bool) { return 0, false }
