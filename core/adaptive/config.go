package adaptive

import (
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// MaxLimit is the most that a limit may be raised to.
const MaxLimit = 10_000

// MaxIncrease is the greatest increase.
const MaxIncrease = 100

// MaxTolerance is the greatest tolerance, in millionths.
const MaxTolerance = reducer.Whole / 2

// Config is the configuration of an adaptive limit. The limit is a number of places.
type Config struct {
	// Initial is the limit at first, Minimum to Maximum. A larger one admits more
	// calls until the first failures.
	Initial uint32
	// Minimum is the lowest limit, 1 to Maximum. A larger one admits more calls of
	// a dependency that is down.
	Minimum uint32
	// Maximum is the highest limit, Minimum to MaxLimit.
	Maximum uint32
	// Increase is how many places a good round adds, at least: as many as the logarithm
	// of the limit where that is more. 1 to MaxIncrease. A larger one follows spare
	// capacity sooner, and exceeds it by more.
	Increase uint32
	// Decrease is the share of the limit that a bad round takes, at least, more than 0 to
	// the whole. A larger one relieves the dependency sooner and wastes more capacity.
	Decrease reducer.Share
	// Tolerance is the share of late and cut outcomes above which a round is bad, more than 0
	// to a half. A larger one admits more to a dependency that answers some calls too
	// late whatever the load.
	Tolerance reducer.Share
	// Over is the longest duration of a success that is timely, more than 0. A shorter one
	// keeps latency lower and admits less. 0 with OverShare.
	Over time.Duration
	// OverShare is Over as a share of the time from the admission to the deadline of the
	// action; DefaultOver where it has none. 0 with Over.
	OverShare reducer.Share
	// Lease frees the places of a holder that neither released nor renewed them
	// for so long. 0 for none.
	Lease time.Duration
	// Cost of a call at a step of a pipeline, in places: 1 to Maximum, and at least 1 where
	// an attribute has it. Default: one place, whatever the call names. The machine
	// ignores it: its actions have their costs.
	Cost limiter.Cost
}
