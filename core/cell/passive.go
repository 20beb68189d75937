package cell

import "github.com/sluice-go/sluice/reducer"

// Passive has the methods of reducer.Cell for a machine at which no caller waits or holds
// anything, and which time alone does not change. Such a machine embeds it.
type Passive[S any] struct{}

// Due returns that nothing is due.
func (Passive[S]) Due(*S) reducer.Due { return reducer.NothingDue() }

// Held returns false.
func (Passive[S]) Held(*S) bool { return false }

// Recall changes nothing.
func (Passive[S]) Recall(*S) {}
