package cell

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Passive has the methods of a Machine at which no caller waits or holds
// anything, and which time alone does not change. Such a mechanism embeds it.
type Passive[S any] struct{}

// Enter returns false: there is no faster path than Step.
func (Passive[S]) Enter(*S, uint32, uint64, clock.Mark, clock.Mark) (reducer.Permit, bool) {
	return reducer.Permit{}, false
}

// Exit returns false: permits are not released.
func (Passive[S]) Exit(*S, reducer.Permit, clock.Mark) bool { return false }

// Ends returns clock.Never.
func (Passive[S]) Ends(*S) clock.Mark { return clock.Never }

// Serves returns clock.Never.
func (Passive[S]) Serves(*S) (clock.Mark, uint64) { return clock.Never, 0 }

// Held returns false.
func (Passive[S]) Held(*S) bool { return false }

// Recall changes nothing.
func (Passive[S]) Recall(*S) {}

// NextWake implements reducer.Machine.
func (Passive[S]) NextWake(S) (clock.Mark, bool) { return clock.Never, false }

// Wake is NextWake in place, clock.Never for none.
func (Passive[S]) Wake(*S) clock.Mark { return clock.Never }
