package policy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/randompolicy"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
)

// TestBodyJSON reads random policies again from the body that is printed of them. With
// their defaults they are the same.
func TestBodyJSON(t *testing.T) {
	seed, read := testenv.Seed(), 0
	t.Logf("SLUICE_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 6_000 {
		src := `{"fallback":{"status":503,"body":"<&\u00fc>"},"steps":` + randompolicy.Steps(random) + `}`
		first, err := policy.ParseOne("p.json", []byte(src))
		if err != nil {
			continue
		}
		read++
		body := policy.BodyJSON(first.Policy)
		second, err := policy.ParseOne("p.json", body)
		require.NoError(t, err, "%s\n%s", src, body)
		assert.Equal(t, complete(t, first.Policy), complete(t, second.Policy), "%s\n%s", src, body)
	}
	assert.Greater(t, read, 900)
}

// TestBodyJSONUses prints a mechanism as it is, wherever one of its uses is in shadow.
func TestBodyJSONUses(t *testing.T) {
	const mechanisms = `{"mechanisms":{"t":{"timeout":{"after":"1s","enforce":"10%"}}},"steps":[`
	const plain, shadow = `{"use":"t"}`, `{"use":{"mechanism":"t","name":"other","shadow":true}}`
	for _, steps := range []string{plain, shadow, plain + "," + shadow, shadow + "," + plain} {
		first, err := policy.ParseOne("p.json", []byte(mechanisms+steps+`]}`))
		require.NoError(t, err)
		body := policy.BodyJSON(first.Policy)
		second, err := policy.ParseOne("p.json", body)
		require.NoError(t, err, "%s", body)
		assert.Equal(t, complete(t, first.Policy), complete(t, second.Policy), "%s", body)
	}
}

// complete returns a policy as its plan has it: with names and defaults.
func complete(t *testing.T, p pipeline.Policy) pipeline.Policy {
	t.Helper()
	plan, err := pipeline.Compile(p)
	require.NoError(t, err)
	p.Steps = nil
	for i := range plan.Len() {
		p.Steps = append(p.Steps, plan.Step(i))
	}
	return p
}
