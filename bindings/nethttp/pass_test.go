package nethttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// TestPolicyWithoutSteps: requests pass a policy without steps, whose fallback still
// replaces a failure, and answers have no fields of limits.
func TestPolicyWithoutSteps(t *testing.T) {
	set, err := sluice.Parse("p.yaml", []byte("version: 1\npolicies: {p: {pass: true}, q: {extends: p, fallback: {status: 299}}}"))
	require.NoError(t, err)
	upstream := httptest.NewServer(nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[string]int{"/": 200, "/fails": 500}[r.URL.Path])
	}), set.Pipeline("p")))
	defer upstream.Close()
	for policy, want := range map[string][2]int{"p": {200, 500}, "q": {200, 299}} {
		client := http.Client{Transport: nethttp.NewTransport(nil, set.Pipeline(policy))}
		for i, path := range []string{"/", "/fails"} {
			answer, err := client.Get(upstream.URL + path)
			require.NoError(t, err)
			assert.NoError(t, answer.Body.Close())
			assert.Equal(t, want[i], answer.StatusCode, policy+path)
			for name := range answer.Header {
				assert.False(t, strings.HasPrefix(name, "Ratelimit"), name)
			}
		}
	}
}
