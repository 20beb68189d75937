// Package keyed keeps the cells of a step that has one cell for each key: it says
// which cell a key has, how many keys have one, and which key is evicted when a new
// key needs a cell. It does not know what a cell is. A Table maps the hash of a key
// to an index; the holder of the table keeps the states of the cells in slices or
// Slabs of its own, by that index.
//
// The keyed limiters use a Table, and the drivers of policies Numbers, which is a Table
// for keys that are small numbers: it needs no hashes. A table is for one goroutine at
// a time. A concurrent holder makes several tables, each
// with a mutex, and chooses by ShardOf.
//
// A table has at most Config.Keys keys. Above that a new key takes the cell of a key that
// is not held: of those that were not used for longer than half of the others one of the
// least Class, and of these the least recently used. A cell is held while it is pinned,
// or marked by SetHeld: the holder does so while a caller waits at the cell, holds a
// place or has a pending probe. When all cells are held, and always with FullShare,
// new keys share the spare cell, which has the index 0. The others have the indices 1
// to Len without a gap.
//
// A lookup reads one segment of slots and one entry. A table grows and shrinks a
// segment of 124 slots and a page of 64 entries at a time. An entry takes 48
// bytes, 8 of which are a word for the holder, and its slot 5 to 10. In a table that is
// full, or was, a key that was not used for long takes 16 more in the heaps of the order.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - G23: a new key gets a cell whatever keys were used before it; what is evicted
//     or shared is counted. A key keeps its cell while fewer than half of all keys were
//     used since its own last use.
//   - EV1: no cell with a running block is evicted while another one can be. Where one
//     table has all keys, and is not Loose, the order is exact; of Shards tables each has
//     an order of its own.
//   - L14: two keys never share a cell, except the spare cell. A Handle names a cell
//     until its key is evicted, and never the cell of another key.
//   - G19: the work of one call is bounded by a constant, but for the directory
//     of segments, of which every entry is for at least 16 keys, and for the order, where
//     each key is passed over once for each time it was used, released, or changed its
//     class by time, in logarithmic time. So the first eviction after many uses pays
//     for these.
//   - G20: memory returns when keys are removed; Numbers keeps a pointer for 64
//     numbers up to the greatest that there was.
//
// Source: Fagin, Nievergelt, Pippenger and Strong, Extendible hashing, 1979.
package keyed
