package mechanism

import "time"

// InStore is a configuration as several processes share it by a store.
type InStore struct {
	// Config of the cells. It has no queue, because waiters end with their process, and no
	// costs, because each action has its own.
	Config Config
	// Queue is how many calls of one process may wait, and Wait the longest that one waits:
	// Forever for as long as its caller does. Newest says that the latest call is served
	// first, which needs one queue of all processes.
	Queue  uint32
	Wait   time.Duration
	Newest bool
	// Lease is the lease under which a process holds its permits. 0 for permits that do not
	// lapse.
	Lease time.Duration
}
