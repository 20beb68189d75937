package filtertest

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestInventedNames: 20,000 names that a stranger invents neither end the block of a key
// nor give it its permits back, in a table of 4,096 keys.
func TestInventedNames(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		for limit, reason := range map[string]string{
			`{"limit":{"rate":"5/1h","per":"header:x-key","keys":4096,"block":"24h"}}`: "blocked",
			`{"limit":{"rate":"5/1h","per":"header:x-key","keys":4096}}`:               "rate",
		} {
			e := start(t, steps(state, limit))
			ask := func(key string) string {
				s := e.begin(0, "x-key", key)
				if s.Response() == nil {
					answer(s, 200)
				}
				return reasonOf(s)
			}
			for range 6 {
				ask("victim")
			}
			for i := range 20_000 {
				assert.Empty(t, ask("name "+strconv.Itoa(i)))
			}
			assert.Equal(t, reason, ask("victim"))
		}
	})
}
