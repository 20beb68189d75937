package clock

import (
	"math"
	"time"
)

type Mark int64

const Never Mark = math.MaxInt64

func (m Mark) Add(d time.Duration) Mark { return m + Mark(d) }
