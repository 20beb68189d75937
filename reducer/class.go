package reducer

import "github.com/sluice-go/sluice/clock"

// Class says how much is lost with a cell that is not held. Of the cells that are old
// enough, one of the least class is evicted, and among these the least recently used.
type Class uint8

// The classes.
const (
	// Unused: the cell decides as a new one would.
	Unused Class = iota
	// InUse: the cell has counted something, and admits a call of cost 1.
	InUse
	// UsedUp: the cell refuses a call of cost 1, or is in debt. So does a breaker that is
	// not closed.
	UsedUp
	// Blocked: a block of the cell runs.
	Blocked
)

// Steady is the class of a cell at which time changes nothing: Unused, or InUse.
func Steady(unused bool) (Class, clock.Mark) {
	if unused {
		return Unused, clock.Never
	}
	return InUse, clock.Never
}
