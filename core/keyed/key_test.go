package keyed

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestHash compares with the vectors of the authors of SipHash: the key
// 00 01 ... 0f, and messages 00 01 ... of every length.
func TestHash(t *testing.T) {
	seed := Seed{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	message := make([]byte, 64)
	for i := range message {
		message[i] = byte(i)
	}
	for length, want := range map[int]string{
		0: "a3817f04ba25a8e66df67214c7550293", 1: "da87c1d86b99af44347659119b22fc45",
		2: "8177228da4a45dc7fca38bdef60affe4", 15: "5493e99933b0a8117e08ec0f97cfc3d9",
		63: "5150d1772f50834a503e069a973fbd7c",
	} {
		h := seed.Hash(string(message[:length]))
		got := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, h.Lo), h.Hi)
		if hex.EncodeToString(got) != want {
			t.Errorf("%d bytes: %x, want %s", length, got, want)
		}
	}
}

func TestJoin(t *testing.T) {
	// naive tells all lists of values apart.
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
		hits[ShardOf(Seed{}.Hash(strconv.Itoa(i)), len(hits))]++
	}
	if slices.Min(hits[:]) < 850 || slices.Max(hits[:]) > 1150 {
		t.Errorf("between %d and %d of 1000", slices.Min(hits[:]), slices.Max(hits[:]))
	}
}
