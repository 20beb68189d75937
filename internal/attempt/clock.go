package attempt

import (
	"time"

	"github.com/sluice-go/sluice/clock"
)

// base is the origin of the marks of this process.
var base = time.Now()

// Now returns the present mark: one time.Since.
func Now() clock.Mark { return clock.Mark(time.Since(base)) }
