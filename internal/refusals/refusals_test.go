package refusals

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/testenv"
)

func TestPerSeconds(t *testing.T) {
	for _, c := range []struct {
		count  uint64
		period time.Duration
		want   uint64
		window int64
	}{
		{50, time.Minute, 50, 60},
		{3, 1500 * time.Millisecond, 6, 3},
		{1, time.Millisecond, 1000, 1},
		{1, time.Nanosecond, 1_000_000_000, 1},
		{4_000_000_000, 4_000_000_001, 4_000_000_000, 0},
		{1, 1<<63 - 1, 1, 0},
	} {
		count, window := perSeconds(c.count, c.period)
		assert.Equal(t, c.want, count, "%v", c)
		assert.Equal(t, c.window, window, "%v", c)
	}
	name, ok := quoted(`a"b\c`)
	assert.True(t, ok)
	assert.Equal(t, `"a\"b\\c"`, name)
	_, ok = quoted("naïve")
	assert.False(t, ok)
}

// TestText compares the document with the document of encoding/json.
func TestText(t *testing.T) {
	type document struct {
		Type     string   `json:"type"`
		Title    string   `json:"title"`
		Status   int      `json:"status"`
		Detail   string   `json:"detail,omitempty"`
		Violated []string `json:"violated-policies,omitempty"`
		Reason   string   `json:"reason"`
		Step     string   `json:"step,omitempty"`
	}
	seed := testenv.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	text := func() string {
		b := make([]rune, random.IntN(6))
		for i := range b {
			b[i] = []rune("ab\"\\<>&é\x01\x1f/ ")[random.IntN(12)]
		}
		return string(b)
	}
	for range 5_000 {
		p := Problem{Type: text(), Title: text(), Status: random.IntN(600), Detail: text(), Reason: text(), Step: text()}
		for range random.IntN(3) {
			p.Violated = append(p.Violated, text())
		}
		want, err := json.Marshal(document(p))
		require.NoError(t, err)
		require.Equal(t, string(want)+"\n", string(p.Text()), "SLUICE_SEED=%d", seed)
	}
}
