package sluice

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSetForgets reloads documents with ever new policies: the set keeps none of those that are
// gone, and grows for no unknown name.
func TestSetForgets(t *testing.T) {
	for name, text := range map[string]string{
		"alone":  "version: 1\npolicies: {p%d: {steps: [breaker: {}, limit: {rate: 1/1h, burst: 9, per: key}]}}\n",
		"shared": "version: 1\nmechanisms: {all: {limit: {rate: 1/1h, burst: 100000}}}\npolicies: {p%d: {steps: [use: all]}, stays: {steps: [use: all]}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Parse("p", fmt.Appendf(nil, text, 0))
			require.NoError(t, err)
			stop := set.Listen(func(Event) {})
			known := func() int {
				set.change.Lock()
				defer set.change.Unlock()
				return len(set.known)
			}
			// Pools keep a run for two collections.
			forget := func() {
				for range 3 {
					runtime.GC()
				}
			}
			most := 0
			for i := range 300 {
				require.NoError(t, set.Reload("p", fmt.Appendf(nil, text, i)))
				require.NoError(t, Run(t.Context(), set.Pipeline(fmt.Sprintf("p%d", i)), func(context.Context) error { return nil }))
				set.Pipeline(fmt.Sprintf("unknown%d", i))
				if i%20 == 0 {
					forget()
					most = max(most, known())
				}
			}
			forget()
			stop()
			assert.LessOrEqual(t, most, 25)
			assert.LessOrEqual(t, known(), 3, "the document's, and one before")
		})
	}
}
