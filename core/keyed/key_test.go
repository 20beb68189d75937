package keyed

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// hashOf returns a hash that is uniformly distributed.
func hashOf(key string) Hash {
	sum := sha256.Sum256([]byte(key))
	return Hash{Hi: binary.LittleEndian.Uint64(sum[:]), Lo: binary.LittleEndian.Uint64(sum[8:])}
}

func TestJoin(t *testing.T) {
	// naive gives different lists of values different keys.
	naive := func(values []string) (key string) {
		for _, v := range values {
			key += strconv.Quote(v) + ","
		}
		return key
	}
	rng := rand.New(rand.NewPCG(5, 5))
	byKey := map[string]string{}
	for range 100_000 {
		values, letters := make([]string, 3), []string{"", "1", ":", "a", "1:a", "0:"}
		for i := range values {
			values[i] = letters[rng.IntN(len(letters))] + letters[rng.IntN(len(letters))]
		}
		key, missing := Join([]string{"0", "1", "2"}, func(a string) string { n, _ := strconv.Atoi(a); return values[n] })
		if before, known := byKey[key]; known && before != naive(values) {
			t.Fatalf("%s and %s have the key %q", before, naive(values), key)
		}
		byKey[key] = naive(values)
		if missing != slices.Contains(values, "") || (key == "") != (naive(values) == naive(make([]string, 3))) {
			t.Fatalf("%q: key %q, missing %t", values, key, missing)
		}
	}
	// Lengths of two digits do not run into the values.
	long := map[string]string{"a": "1", "b": "xxxxxxxxx2zz", "c": "12xxxxxxxxx", "d": "zz"}
	one, _ := Join([]string{"a", "b"}, func(a string) string { return long[a] })
	other, _ := Join([]string{"c", "d"}, func(a string) string { return long[a] })
	if one == other {
		t.Errorf("two lists have the key %q", one)
	}
	value := "a key"
	lookup := func(string) string { return value }
	if key, missing := Join([]string{"ip"}, lookup); key != "a key" || missing {
		t.Errorf("%q, %t", key, missing)
	}
	if n := testing.AllocsPerRun(100, func() { Join([]string{"ip"}, lookup) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	value = ""
	if key, missing := Join([]string{"ip"}, lookup); key != "" || !missing {
		t.Errorf("%q, %t", key, missing)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Keys: MaxKeys + 1}, {Keys: 1, WhenFull: FullShare + 1}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	table := newTable(t, Config{Keys: 1})
	if err := table.Configure(Config{}); err == nil {
		t.Error("0 keys are accepted")
	}
}

func TestShards(t *testing.T) {
	for keys, want := range map[uint32]int{1: 1, 2047: 1, 2048: 2, 100_000: 64, MaxKeys: 256} {
		n := Shards(keys)
		if n != want {
			t.Errorf("%d keys: %d shards", keys, n)
		}
		sum := uint32(0)
		for i := range n {
			part := ShardKeys(keys, n, i)
			sum += part
			if part == 0 || n > 1 && part < shardKeys {
				t.Errorf("%d keys: shard %d has %d", keys, i, part)
			}
		}
		if sum != keys {
			t.Errorf("%d keys: the shards have %d", keys, sum)
		}
	}
	// Each shard gets its part, and within a shard hashes differ from the start.
	var hits [64]int
	for i := range 64_000 {
		hits[ShardOf(hashOf(strconv.Itoa(i)), len(hits))]++
	}
	if slices.Min(hits[:]) < 850 || slices.Max(hits[:]) > 1150 {
		t.Errorf("between %d and %d of 1000", slices.Min(hits[:]), slices.Max(hits[:]))
	}
}
