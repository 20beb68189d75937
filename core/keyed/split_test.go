package keyed

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestSplit undoes Join, and has nothing for texts that Join does not return.
func TestSplit(t *testing.T) {
	const seed = 8
	rng := rand.New(rand.NewPCG(seed, 1))
	letters := []string{"", "1", ":", "a", "1:a", "0:", "00:"}
	for range 10_000 {
		per := make([]string, 1+rng.IntN(3))
		values := map[string]string{}
		want := make([]string, len(per))
		for i := range per {
			per[i] = strconv.Itoa(i)
			want[i] = letters[rng.IntN(len(letters))] + letters[rng.IntN(len(letters))]
			values[per[i]] = want[i]
		}
		key, _ := Join(per, func(a string) string { return values[a] })
		if got := Split(len(per), key); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q is %q, want %q", seed, key, got, want)
		}
	}
	for _, key := range []string{"a", "1:", "1:a", "1:a1:", "1:a0:x", "-1:a0:", "9999999999:a0:"} {
		if got := Split(2, key); got != nil {
			t.Errorf("%q is %q", key, got)
		}
	}
}
