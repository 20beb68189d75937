package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/proxywasm/config"
)

// TestCheck names every step that a proxy does not perform, at its place.
func TestCheck(t *testing.T) {
	doc, err := policy.Parse("p.yaml", []byte(`version: 1
policies:
  good: {steps: [{limit: 5/s}, {breaker: {window: {consecutive: 3}}}, {bulkhead: 5}]}
  bad:
    steps:
      - timeout: 10s
      - retry: 3
      - hedge: {after: 1s}
      - limit: 5/s
      - adaptive: {initial: 10}
      - chaos: {fail: 5%, shadow: true}
`))
	require.NoError(t, err)
	const found = ": found a step that the filter of a proxy does not perform; allowed limit, breaker and bulkhead; "
	assert.EqualError(t, config.Check("p.yaml", doc), "p.yaml:6:9: policies.bad.steps[0].timeout"+found+"timeout of an Envoy route bounds requests, per_try_timeout of its retry_policy each attempt\n"+
		"p.yaml:7:9: policies.bad.steps[1].retry"+found+"retry_policy of an Envoy route repeats requests\n"+
		"p.yaml:8:9: policies.bad.steps[2].hedge"+found+"hedge_policy of an Envoy route hedges requests\n"+
		"p.yaml:10:9: policies.bad.steps[4].adaptive"+found+"the filter adaptive_concurrency of Envoy adapts a limit of concurrent requests\n"+
		"p.yaml:11:9: policies.bad.steps[5].chaos"+found+"the filter fault of Envoy injects delays and aborts")
	doc.Policies = doc.Policies[:1]
	assert.Empty(t, config.Check("p.yaml", doc))
}
