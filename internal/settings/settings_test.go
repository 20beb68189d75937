package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/internal/settings"
)

func TestExplain(t *testing.T) {
	text, ok := settings.Explain("retry.attempts")
	assert.True(t, ok)
	assert.Equal(t, `retry.attempts
  meaning  attempts in all, the first included: 3 attempts are 2 retries. In a policy with a hedge: rounds. Only the start of an attempt must be before the deadline
  type     number
  range    1 to 1000
  default  3
  example  attempts: 5
  larger   survives longer faults; multiplies the load on a dependency that fails
  smaller  less load, more errors for the caller
`, text)
	for name, want := range map[string]string{
		"retry.backoff":  "  default  {exponential: 500ms, factor: 2, max: 1m}\n",
		"retry.methods":  "  default  GET, HEAD, PUT, DELETE, OPTIONS, TRACE\n",
		"limit.wait":     "  type     duration, 0s allowed\n",
		"limit.burst":    "  range    1 to 1,000,000,000\n",
		"bulkhead":       "bulkhead: Admits no more at once than it has places.\nbulkhead.concurrent\n",
		"timeout.after":  "  default  required\n",
		"bulkhead.lease": "  default  none\n",

		"limit.warm_up.factor":  "  default  3\n",
		"breaker.window.forget": "  default  none: only a success sets the count to 0\n",
		"breaker.window.time":   "  default  one of them is required\n",
		"breaker.slow.rate":     "  default  required without consecutive\n",
		"chaos.slow.to":         "  default  by\n",
	} {
		text, ok := settings.Explain(name)
		assert.True(t, ok, name)
		assert.Contains(t, text, want)
	}
	for _, name := range []string{"", "limits", "limit.", "limit.bust", "adaptive.rate", ".rate"} {
		_, ok := settings.Explain(name)
		assert.False(t, ok, name)
	}
}

func TestNames(t *testing.T) {
	names := settings.Names()
	assert.Equal(t, []string{"timeout", "timeout.after", "timeout.soft", "retry"}, names[:4])
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names))
	for _, name := range names {
		text, ok := settings.Explain(name)
		assert.True(t, ok, name)
		assert.True(t, strings.HasPrefix(text, name), name)
	}
}
