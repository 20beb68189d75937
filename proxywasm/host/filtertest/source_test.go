package filtertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// with is a request whose metadata of a namespace have an entry.
func (e *envoy) with(entry string, value any, headers ...string) *host.Stream {
	options := host.StreamOptions{}
	if value != nil {
		options.Properties = map[string]any{"metadata": map[string]any{"filter_metadata": map[string]any{"jwt": map[string]any{entry: value}}}}
	}
	s := e.filter.Worker(0).Stream(options)
	if s.RequestHeaders(host.Get("/", headers...), host.End); s.Upstream() != nil {
		answer(s, 200)
	}
	return s
}

// TestKeyOfProperty counts by an attribute of the proxy.
func TestKeyOfProperty(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		for missing, without := range map[string][2]int{"share": {200, 429}, "deny": {400, 400}, "deny-401": {401, 401}, "skip": {200, 200}} {
			document := steps(state, fmt.Sprintf(`{"limit":{"rate":"1/1h","per":"key","missing":%q}}`, missing))
			e := start(t, strings.Replace(document, `"proxy":{`, `"proxy":{"key":"property:metadata/filter_metadata/jwt/sub",`, 1))
			for _, sub := range []string{"a", "b"} {
				assert.Equal(t, 200, statusOf(e.with("sub", sub)), sub)
				assert.Equal(t, 429, statusOf(e.with("sub", sub)), sub)
			}
			for i, want := range without {
				assert.Equal(t, want, statusOf(e.with("", nil)), "%s, request %d", missing, i)
			}
		}
	})
}

// TestCostOfProperty has numbers of all kinds that the proxy has, and what is no number.
func TestCostOfProperty(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		for _, c := range []struct {
			value any
			cost  int
		}{
			{float64(3), 3}, {int64(3), 3}, {uint64(3), 3}, {"3", 3}, {"00000003", 3},
			{nil, 1}, {float64(0), 1}, {float64(-3), 1}, {2.5, 1}, {int64(0), 1}, {int64(-3), 1}, {"", 1}, {"-3", 1}, {"three", 1}, {"gold-vip", 1}, {true, 1},
			{float64(1000), 1000}, {1e12, 1000}, {int64(1) << 40, 1000},
		} {
			document := steps(state, `{"limit":{"rate":"10/1h"}}`)
			e := start(t, strings.Replace(document, `"proxy":{`, `"proxy":{"cost":"property:metadata/filter_metadata/jwt/n","headers":"all",`, 1))
			s := e.with("n", c.value)
			if c.cost > 10 {
				assert.Equal(t, "capacity", reasonOf(s), "%v", c.value)
				continue
			}
			assert.Contains(t, s.Response().Headers.Value("ratelimit"), fmt.Sprintf(`"limit";r=%d;`, 10-c.cost), "%T %v", c.value, c.value)
		}
	})
}

// TestHeaderTooLong has a header that fits the memory of the filter for what the host returns, and one that does
// not: where a step counts by it, the request is refused.
func TestHeaderTooLong(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, steps(state, `{"limit":{"rate":"1/1h","per":"header:x-key"}}`))
		assert.Equal(t, 200, e.get(0, "x-key", "a", "x-long", strings.Repeat("x", 60<<10)))
		s := e.begin(0, "x-key", "a", "x-long", strings.Repeat("x", 64<<10))
		assert.Equal(t, 431, statusOf(s))
		assert.Equal(t, "key", reasonOf(s))
		assert.Equal(t, 429, e.get(0, "x-key", "a"))
	})
}
