package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
)

// Policies that share a state cannot be decided one after another: that is said, not done.
func TestSharedMechanismsAreRefused(t *testing.T) {
	doc, err := policy.Parse("p.yaml", []byte(`{"version":1,"mechanisms":{"m":{"limit":"5/s"},"t":{"timeout":"1s"}},"policies":{
		"a":{"steps":[{"use":"m"},{"use":"t"}]},"b":{"steps":[{"use":"m"}]},"c":{"steps":[{"use":"t"}]}}}`))
	require.NoError(t, err)
	run := &Run{}
	var machines []*Machine
	for _, name := range []string{"a", "c", "b"} {
		m, err := run.newMachine(name, doc.Lookup(name), 0, nil)
		require.NoError(t, err)
		machines = append(machines, m)
	}
	require.NoError(t, separate(machines[:2], nil), "what keeps no state is a common setting")
	err = separate(machines, nil)
	var shared *SharedError
	require.ErrorAs(t, err, &shared)
	assert.Equal(t, &SharedError{Mechanism: "m", Policies: []string{"a", "b"}}, shared)
	assert.Contains(t, err.Error(), "sluice eval --all")
}
