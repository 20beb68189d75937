package report

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/sim/report/lanes"
)

// scale returns the round end of an axis that values reach up to, and the step of its
// marks, of which there are two to four above 0.
func scale(greatest float64) (top, step float64) {
	if greatest <= 0 {
		return 1, 1
	}
	power := 1.0
	for power*10 <= greatest {
		power *= 10
	}
	for power > greatest {
		power /= 10
	}
	for _, part := range []float64{0.25, 0.5, 1, 2, 2.5} {
		if step = power * part; greatest <= 4*step {
			break
		}
	}
	n := 1
	for float64(n)*step < greatest {
		n++
	}
	return float64(n) * step, step
}

// marks returns the marks of an axis of time, at most so many.
func marks(length time.Duration, most int) []time.Duration {
	step := time.Duration(1)
	for i := 0; length/step > time.Duration(most); i++ {
		step = timeSteps(i)
	}
	var all []time.Duration
	for at := time.Duration(0); at <= length; at += step {
		all = append(all, at)
	}
	return all
}

// timeSteps returns round durations, each greater than the one before.
func timeSteps(i int) time.Duration {
	power := time.Duration(1)
	for ; power < time.Second; power *= 10 {
		if i < 3 {
			return power * []time.Duration{1, 2, 5}[i]
		}
		i -= 3
	}
	list := []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
	if i < len(list) {
		return list[i]
	}
	return 24 * time.Hour << min(i-len(list), 10)
}

// roundMarks returns the round durations between the first and the last edge, at most
// six unless they are powers of ten.
func roundMarks(edges []time.Duration) (all []time.Duration) {
	for _, digits := range [][]time.Duration{{1, 2, 5}, {1, 3}, {1}} {
		all = all[:0]
		for power := time.Duration(1); power <= time.Hour; power *= 10 {
			for _, digit := range digits {
				if at := digit * power; at >= edges[0] && at < edges[len(edges)-1] {
					all = append(all, at)
				}
			}
		}
		if len(all) <= 6 {
			break
		}
	}
	return all
}

// mark writes a value at an axis.
func mark(v float64, unit lanes.Unit) string {
	if unit == lanes.Seconds {
		return duration(time.Duration(float64(v*1e9) + 0.5))
	}
	if v >= 10_000 {
		return strconv.FormatFloat(v/1000, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
