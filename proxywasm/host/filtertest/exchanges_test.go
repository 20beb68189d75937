package filtertest

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
	"github.com/sluice-go/sluice/proxywasm/scenarios/exchanges"
)

// TestExchanges plays the scenarios that are played in a real Envoy, too: in state process
// each request on the next worker.
func TestExchanges(t *testing.T) {
	t.Parallel()
	for _, scenario := range exchanges.All() {
		t.Run(scenario.Name, func(t *testing.T) {
			inEachState(t, func(t *testing.T, state string) {
				e := start(t, scenario.JSON(state))
				number := 0
				for i, x := range scenario.Exchanges {
					for range max(1, x.Times) {
						worker := 0
						if state == "process" {
							worker = number % workers
						}
						number++
						exchange(t, e, worker, &scenario, &x, i)
					}
				}
			})
		})
	}
}

func exchange(t *testing.T, e *envoy, worker int, scenario *exchanges.Scenario, x *exchanges.Exchange, number int) {
	t.Helper()
	s := e.filter.Worker(worker).Stream(host.StreamOptions{Route: routeOf(scenario, x)})
	s.RequestHeaders(request(x), host.End)
	require.False(t, s.Paused(), "exchange %d", number)
	if s.Upstream() != nil {
		if x.UpstreamPath != "" {
			assert.Equal(t, x.UpstreamPath, s.Upstream().Headers.Value(":path"), "exchange %d", number)
		}
		if x.GRPC {
			s.ResponseHeaders(host.Answer(200, "content-type", "application/grpc"), host.More)
			s.ResponseTrailers(host.Headers{{"grpc-status", strconv.Itoa(x.Answer)}})
		} else {
			answer(s, cmp.Or(x.Answer, 200))
		}
	}
	require.True(t, s.Ended(), "exchange %d", number)
	got := s.Response()
	if x.GRPC {
		assert.Equal(t, 200, got.Status(), "exchange %d", number)
		code := got.Headers.Value("grpc-status") + got.Trailers.Value("grpc-status")
		assert.Equal(t, strconv.Itoa(cmp.Or(x.Status, x.Answer)), code, "exchange %d", number)
	} else {
		assert.Equal(t, cmp.Or(x.Status, x.Answer, 200), got.Status(), "exchange %d: %s", number, got.Body)
	}
	assert.Equal(t, x.Status != 0, s.Local(), "exchange %d: the upstream was spared", number)
	if x.Body != "" {
		assert.Equal(t, x.Body, string(got.Body), "exchange %d", number)
	}
	for name, want := range x.Want {
		var values []string
		for _, line := range got.Headers {
			if line[0] == name {
				values = append(values, line[1])
			}
		}
		assert.Equal(t, want, strings.Join(values, "\n"), "exchange %d: %s", number, name)
	}
}

// request returns the headers of a request.
func request(x *exchanges.Exchange) host.Headers {
	headers := host.Get(cmp.Or(x.Path, "/"), x.Header...)
	if x.GRPC {
		headers = host.GRPC(cmp.Or(x.Path, "/pkg.Service/Method"), x.Header...)
	}
	for i := range headers {
		switch {
		case headers[i][0] == ":method" && x.Method != "":
			headers[i][1] = x.Method
		case headers[i][0] == ":authority" && x.Host != "":
			headers[i][1] = x.Host
		}
	}
	return headers
}

// routeOf returns the route of Envoy for a request.
func routeOf(scenario *exchanges.Scenario, x *exchanges.Exchange) (route host.Route) {
	for _, one := range scenario.Routes {
		if strings.HasPrefix(x.Path, one.Prefix) {
			route.Metadata = map[string]map[string]any{"sluice": {"policy": one.Policy}}
			return route
		}
	}
	return route
}
