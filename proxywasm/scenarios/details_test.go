package scenarios_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// TestAccessLog reads what the access log of Envoy says of refusals: the details of the
// response code name policy, step and reason, and there is no response flag, which Envoy
// sets for no answer of a filter of proxy-wasm. Envoy's own local limit beside it has the
// flag RL and one detail for all limits; the header is the one of Envoy's global limit alone.
func TestAccessLog(t *testing.T) {
	upstream := envoytest.Serve(t, func(http.ResponseWriter, *http.Request) {})
	const document = `{"version":1,"policies":{"p":{"deny":{"header:x-agent":"scraper"},"steps":[{"breaker":{"window":{"consecutive":1},"open":"1h","when":{"header:x-b":"b"}}},{"limit":{"rate":"1/1h"}}]}},` +
		`"routes":[{"path":"/p/**","policy":"p"},{"path":"/**","policy":"pass"}],"proxy":{"state":"process"}}`
	e := envoytest.Start(t, envoy.Config{
		Upstream: upstream.Address(), Details: true,
		Filters: []envoy.Filter{filter(t, document).Filter(), envoy.LocalRateLimit(3, 1, time.Hour)},
	})
	c := envoytest.HTTP2Client(t, e)
	for _, x := range []struct {
		path, header, name string
		status             int
		flags, details     string
		limited            string
	}{
		{"/p/ok", "Accept: *", "", 200, "-", "via_upstream", ""},
		{"/p/limit", "Accept: *", "", 429, "-", "sluice_p_limit_rate", "true"},
		{"/p/deny", "X-Agent: scraper", "", 403, "-", "sluice_p_deny_denied", ""},
		{"/p/key", "X-Agent: scraper, X", "", 429, "-", "sluice_p_limit_rate", "true"},
		{"/o/1", "Accept: *", "", 200, "-", "via_upstream", ""},
		{"/o/2", "Accept: *", "", 200, "-", "via_upstream", ""},
		{"/native", "Accept: *", "", 429, "RL", "local_rate_limited", ""},
	} {
		a := c.Get(x.path, x.header)
		assert.Equal(t, x.status, a.Status, x.path)
		assert.Equal(t, x.limited, a.Header.Get("X-Envoy-Ratelimited"), x.path)
		line := regexp.MustCompile(fmt.Sprintf(`(?m)^DETAILS %s %d (.*)$`, x.path, x.status))
		var found []string
		envoytest.Eventually(t, "a line of "+x.path, func() bool {
			found = line.FindStringSubmatch(e.Log())
			return found != nil
		})
		assert.Equal(t, x.flags+" "+x.details, found[1], x.path)
	}
}
