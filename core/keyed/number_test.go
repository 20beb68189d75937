package keyed

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{"": -1, "0": 0, "007": 7, "503": 503, "-1": -1, "+1": -1, "1.0": -1, "999999999999999999": 999_999_999_999_999_999, "1000000000000000000": -1} {
		n, ok := Number(text)
		assert.Equal(t, want >= 0, ok, text)
		assert.Equal(t, max(want, 0), n, text)
	}
}
