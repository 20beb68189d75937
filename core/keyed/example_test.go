package keyed_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice/core/keyed"
)

// A holder keeps the states of its cells beside the table.
func Example() {
	table, err := keyed.New(keyed.Config{Keys: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A holder whose keys come from clients hashes them by a secret seed.
	hash := func(key string) keyed.Hash {
		sum := sha256.Sum256([]byte(key))
		return keyed.Hash{Hi: binary.LittleEndian.Uint64(sum[:]), Lo: binary.LittleEndian.Uint64(sum[8:])}
	}
	var calls keyed.Slab[int]
	for _, key := range []string{"a", "b", "a", "c", "b"} {
		index, how := table.Use(hash(key))
		calls.Grow(index)
		if how == keyed.Evicted {
			fmt.Println("a cell is evicted after", *calls.At(index), "calls")
			*calls.At(index) = 0
		}
		*calls.At(index)++
		fmt.Println(key, *calls.At(index))
	}
	// Output:
	// a 1
	// b 1
	// a 2
	// a cell is evicted after 1 calls
	// c 1
	// a cell is evicted after 2 calls
	// b 1
}
