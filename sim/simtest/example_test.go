package simtest_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/simtest"
)

// A policy must survive an outage with each of three seeds.
func ExampleRun() {
	t := new(fake) // in a test: its t

	runs := simtest.Run(t, simtest.Parse(t, `
version: 1
duration: 60s
policies:
  vendor:
    steps:
      - retry: {attempts: 3, backoff: {exponential: 50ms}, budget: 10%}
      - breaker: {window: {calls: 50}, minimum: 20, failure_rate: 50%, open: 1s}
clients:
  - {name: checkout, to: vendor, policy: vendor, arrivals: {poisson: 50/s}}
services:
  - name: vendor
    servers: 10
    time: {exponential: 20ms}
    faults: [{at: 20s, for: 5s, fail: 100%}]
`), simtest.SeedRange(1, 3))
	runs.RequireOpensWithin(time.Second)
	runs.RequireRecovers(5 * time.Second)
	runs.RequireMaxAmplification(1.1)
	runs.Client("checkout").RequireGoodput(0.85)
	runs.Service("vendor").RequireNeverExceeds(100, time.Second)
	fmt.Println("opened:", runs.Results()[0].Client("checkout").Breakers[0].Opened)
	// Output: opened: 5
}

// Anything that the result has can be required.
func ExampleRuns_RequireThat() {
	t := new(fake) // in a test: its t

	runs := simtest.Run(t, simtest.Preset(t, "retry-storm-cured"))
	runs.RequireThat("few requests wait at the end", func(r *sim.Result) error {
		if line := r.Timeline.Services[0].InSystem; line[len(line)-1] > 20 {
			return errors.New("they wait")
		}
		return nil
	})
	fmt.Println(runs.Results()[0].Verdict)
	// Output: recovered
}
