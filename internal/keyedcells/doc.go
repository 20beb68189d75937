// Package keyedcells holds the cells of a step that has one cell for each key,
// for concurrent callers: the keyed limiter and the keyed steps of pipelines.
// Package core/keyed decides which cell a key has and which key is evicted; this
// package adds locks and the memory of the cells.
//
// The cells are in shards, each with a mutex and a keyed.Table. The shards share
// one count of keys. A caller gets a Ref to one cell, by its key or by the handle
// of a permit. The shard of the cell is locked until Ref.Unlock: between the two
// a caller steps the cell, and neither waits nor calls code of users.
//
//   - Use returns the cell of a key, and makes it for a new key. Every acquire is
//     a use, also when it is refused. The use of a known key allocates nothing.
//   - Find returns the cell of a key without using or making it.
//   - Resolve returns the cell of a handle, and none after its key was evicted.
//
// The cells of a limit by token bucket without a queue are stored in the shard: 8
// bytes, or 24 in a shard where permits have been returned. All others are values of
// cell.Cell.
//
// A cell that is Held is not evicted; which of the others is, keyed.Table says. When all cells are held, and with
// keyed.FullShare whenever the step has its maximum of keys, new keys share the spare
// cell. With Config.Reuse a new key gets the least recently used cell when that
// is fresh, before the step grows or evicts. That does not count as an eviction:
// counted evictions have lost a state.
package keyedcells
