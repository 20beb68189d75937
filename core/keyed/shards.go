package keyed

import "math/bits"

const (
	// A shard is meant for shardKeys keys and more, so that chance fills none of
	// them much earlier than the others.
	shardKeys = 1024
	maxShards = 256
)

// Shards returns how many tables a concurrent holder makes for a number of keys:
// a power of two, 1 for fewer than 2048.
func Shards(keys uint32) int {
	return min(maxShards, 1<<max(0, bits.Len32(keys/shardKeys)-1))
}

// ShardOf returns which of so many tables a hash belongs to.
func ShardOf(h Hash, shards int) int { return int(h.Lo >> 32 & uint64(shards-1)) }

// ShardKeys returns the bound of one of so many tables. Together they have the
// keys.
func ShardKeys(keys uint32, shards, shard int) uint32 {
	n := keys / uint32(shards)
	if uint32(shard) < keys%uint32(shards) {
		n++
	}
	return n
}
