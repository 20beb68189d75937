package keyed

import "github.com/sluice-go/sluice/reducer"

const (
	// DefaultKeys is the number of keys where a policy names none.
	DefaultKeys = 100_000
	// MaxKeys is the greatest number of keys of a table.
	MaxKeys = 10_000_000
)

// WhenFull says what happens to a new key when a table has all its keys.
type WhenFull uint8

const (
	// FullEvict gives the new key the cell of another key that is not held: of those
	// that were not used for longer than half of the others the one that Class says. It
	// is the default.
	FullEvict WhenFull = iota
	// FullShare makes all new keys share the spare cell.
	FullShare
)

// Config bounds a table.
type Config struct {
	// Keys is the greatest number of keys that have a cell of their own, 1 to
	// MaxKeys. A greater one takes more memory and forgets fewer keys.
	Keys uint32
	// WhenFull is what happens above it. Default: FullEvict.
	WhenFull WhenFull
	// Loose lets Refresh leave a key where it is in the order while it is among the most
	// recent quarter.
	Loose bool
	// Bytes bounds the memory of the table and of the cells, as they are
	// counted by CellBytes and Charge. At this bound a table is full, as at
	// Keys. 0 for no bound.
	Bytes uint64
	// CellBytes is the memory of the holder for each key.
	CellBytes uint32
	// Part is how many of the keys belong to a table of several that share a bound, of
	// which Keys is then no bound. 0 for Keys.
	Part uint32
}

// Check returns an error that names the wrong setting.
func (c Config) Check() error {
	var e reducer.ConfigErrors
	e.Count(c.Keys == 0 || c.Keys > MaxKeys, "keys", uint64(c.Keys), "1 to 10000000")
	e.Count(c.WhenFull > FullShare, "when_full", uint64(c.WhenFull), "FullEvict or FullShare")
	return e.Err()
}

// Counts has the size of a table and its counters.
type Counts struct {
	Keys      uint32 // that have a cell of their own
	Held      uint32 // of these
	Evictions uint64 // so far
	Shared    uint64 // uses of the spare cell so far
	Unblocked uint64 // refusals over a rate that could begin no block, so far
	Bytes     uint64 // of the table, and of the cells as counted by CellBytes and Charge
}
