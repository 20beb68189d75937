package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

// TestTimeStandsStill: a user who does not think and whose calls are dropped at once
// calls again at the same mark, for ever.
func TestTimeStandsStill(t *testing.T) {
	s, err := sim.Parse("still.yaml", []byte(`
version: 1
duration: 1m
clients: [{name: web, to: api, arrivals: {closed: {users: 2, think: 0s}}}]
services: [{name: api, queue: 0, time: 10ms}]
`), nil)
	assert.NoError(t, err)
	_, err = sim.Run(s, sim.Options{})
	var still *engine.StillError
	assert.ErrorAs(t, err, &still)
	assert.ErrorContains(t, err, "events at 0s, where time stands still; allowed: users who think")
	// One user, who waits for its answers, is a closed system at its capacity.
	s.Clients[0].Arrivals.Users = 1
	r, err := sim.Run(s, sim.Options{})
	assert.NoError(t, err)
	assert.EqualValues(t, 6000, r.Clients[0].Calls)
}
