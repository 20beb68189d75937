package guards

import "github.com/sluice-go/sluice/reducer"

// Asked returns the outcome that a function of the user gave, or the one that holds
// without it where it gave none: 0 or another value that is no outcome of an attempt.
func Asked(own, otherwise reducer.Outcome) reducer.Outcome {
	switch own {
	case reducer.OK, reducer.Fail, reducer.Throttle, reducer.Ignore, reducer.Cancelled:
		return own
	case reducer.Timeout:
		return reducer.Fail
	}
	return otherwise
}
