// Package tally has what windows of counts share: a counter that stops at its
// end, and the number of a bucket.
package tally

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Max is where counts stop.
const Max = 1<<32 - 1

// Inc returns n + 1, at most Max.
func Inc(n uint32) uint32 {
	if n < Max {
		n++
	}
	return n
}

// Bucket returns the number of the bucket that now lies in, of n to a window
// that is cut from origin on: floor((now - origin) x n / window), exactly. The
// window has at least a nanosecond a bucket, and now is not before origin.
func Bucket(now, origin clock.Mark, n uint64, window time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(now.Sub(origin)), n)
	number, _ := bits.Div64(hi, lo, uint64(window))
	return number
}
