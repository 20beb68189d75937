package scenarios_test

import (
	"cmp"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/proxywasm/scenarios/exchanges"
)

// answerHeader has the status with which the upstream answers.
const answerHeader = "X-Test-Answer"

// TestExchanges plays the scenarios that are played on the host of proxywasm/host, too:
// in state process most requests on connections of their own, so that any worker serves
// them.
func TestExchanges(t *testing.T) {
	all := t
	var served atomic.Int64
	upstream := envoytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		answer, _ := strconv.Atoi(r.Header.Get(answerHeader))
		w.Header().Set("X-Test-Path", r.URL.RequestURI())
		if r.Header.Get("Content-Type") == "application/grpc" {
			_, _ = io.Copy(io.Discard, r.Body)
			envoy.AnswerGRPC(w, 0, answer)
			return
		}
		w.WriteHeader(cmp.Or(answer, 200))
	})
	var e *envoy.Envoy
	for _, scenario := range exchanges.All() {
		t.Run(scenario.Name, func(t *testing.T) {
			for _, state := range []string{"process", "worker"} {
				f := filter(t, scenario.JSON(state))
				// Shared data of its own, in one Envoy for all scenarios: that starts sooner.
				f.VM, f.Discovered = scenario.Name+" "+state, true
				config := envoy.Config{Upstream: upstream.Address(), KeepForwarded: true, Filters: []envoy.Filter{f.Filter()}}
				for _, one := range scenario.Routes {
					config.Routes = append(config.Routes, envoy.Route{Name: one.Policy, Prefix: one.Prefix, Policy: one.Policy})
				}
				if e == nil {
					e = envoytest.Start(all, config)
				} else {
					require.NoError(t, e.Push(config))
				}
				t.Run(state, func(t *testing.T) {
					one, each := envoytest.HTTP2Client(t, e), envoytest.Clients(t, e)
					for i, x := range scenario.Exchanges {
						c := each
						if state == "worker" || x.GRPC {
							c = one
						}
						for range max(1, x.Times) {
							exchange(t, c, &served, &x, i)
						}
					}
				})
			}
		})
	}
}

var late = regexp.MustCompile(`(179|359)\d`)

// onTime returns a header as it would be had no time passed since the request before: on a
// busy machine it may be some seconds.
func onTime(value string) string {
	return late.ReplaceAllStringFunc(value, func(text string) string {
		return map[string]string{"179": "1800", "359": "3600"}[text[:3]]
	})
}

func exchange(t *testing.T, c *envoytest.Client, served *atomic.Int64, x *exchanges.Exchange, number int) {
	t.Helper()
	var body io.Reader
	path, method := cmp.Or(x.Path, "/"), cmp.Or(x.Method, http.MethodGet)
	if x.GRPC {
		path, method, body = cmp.Or(x.Path, "/pkg.Service/Method"), http.MethodPost, strings.NewReader(string(envoy.Message))
	}
	r := c.Request(t.Context(), method, path, body)
	for i := 0; i < len(x.Header); i += 2 {
		r.Header.Add(x.Header[i], x.Header[i+1])
	}
	r.Header.Set(answerHeader, strconv.Itoa(x.Answer))
	r.Host = cmp.Or(x.Host, r.Host)
	if x.GRPC {
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("TE", "trailers")
	}
	before := served.Load()
	got := c.Do(r)
	assert.Equal(t, x.Status != 0, served.Load() == before, "exchange %d: the upstream was spared", number)
	if x.GRPC {
		assert.Equal(t, 200, got.Status, "exchange %d", number)
		code := got.Header.Get("Grpc-Status") + got.Trailer.Get("Grpc-Status")
		assert.Equal(t, strconv.Itoa(cmp.Or(x.Status, x.Answer)), code, "exchange %d", number)
	} else {
		assert.Equal(t, cmp.Or(x.Status, x.Answer, 200), got.Status, "exchange %d: %s", number, got.Body)
	}
	if x.UpstreamPath != "" {
		assert.Equal(t, x.UpstreamPath, got.Header.Get("X-Test-Path"), "exchange %d", number)
	}
	if x.Body != "" {
		assert.Equal(t, x.Body, got.Body, "exchange %d", number)
	}
	for name, want := range x.Want {
		assert.Equal(t, want, onTime(strings.Join(got.Header.Values(name), "\n")), "exchange %d: %s", number, name)
	}
}
