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
	const found = ": found a step that the filter of a proxy does not perform; allowed breaker, limit and bulkhead; "
	assert.EqualError(t, config.Check("p.yaml", doc), "p.yaml:6:9: policies.bad.steps[0].timeout"+found+"timeout of an Envoy route bounds requests, per_try_timeout of its retry_policy each attempt\n"+
		"p.yaml:7:9: policies.bad.steps[1].retry"+found+"retry_policy of an Envoy route repeats requests\n"+
		"p.yaml:8:9: policies.bad.steps[2].hedge"+found+"hedge_policy of an Envoy route hedges requests\n"+
		"p.yaml:10:9: policies.bad.steps[4].adaptive"+found+"the filter adaptive_concurrency of Envoy adapts a limit of concurrent requests\n"+
		"p.yaml:11:9: policies.bad.steps[5].chaos"+found+"the filter fault of Envoy injects delays and aborts")
	doc.Policies = doc.Policies[:1]
	assert.Empty(t, config.Check("p.yaml", doc))
}

// TestShared names what workers with common cells do not perform, and only they.
func TestShared(t *testing.T) {
	const steps = `version: 1
policies:
  p:
    steps:
      - limit: {rate: 5/s, wait: 1s, order: newest}
      - bulkhead: {concurrent: 1, queue: 1, order: newest}
      - bulkhead: {concurrent: 1, lease: 999ms, name: short}
      - bulkhead: {concurrent: 1, lease: 1s, name: long}
      - limit: {rate: 5/s, per: key, charge: settle, settle_max: 2, name: settles}
      - limit: {rate: 5/s, per: key, when: {key: a}, enforce: 50%, name: chosen}
`
	doc, err := policy.Parse("p.yaml", []byte(steps))
	require.NoError(t, err)
	const newest = ": found a step with the order newest, whose queue is one of all workers; allowed order oldest; or proxy.state worker"
	assert.EqualError(t, config.Check("p.yaml", doc), "p.yaml:5:9: policies.p.steps[0].limit"+newest+"\np.yaml:6:9: policies.p.steps[1].bulkhead"+newest+
		"\np.yaml:7:9: policies.p.steps[2].bulkhead: found a step with the lease 999ms; allowed a lease of at least 1s; or proxy.state worker")
	doc, err = policy.Parse("p.yaml", []byte(steps+"proxy: {state: worker}\n"))
	require.NoError(t, err)
	assert.Empty(t, config.Check("p.yaml", doc))
}
