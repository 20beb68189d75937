// Virtualtime shows the decisions of a policy in virtual time, as a test would look at
// it: nothing sleeps, and the same marks give the same decisions.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

const document = `
version: 1
policies:
  vendor:
    steps:
      - retry: {attempts: 3, backoff: {exponential: 1m}, jitter: none}
      - breaker: {window: {consecutive: 3}, open: 30m, probes: 1}
`

func main() {
	doc, err := policy.Parse("policy.yaml", []byte(document))
	if err != nil {
		log.Fatal(err)
	}
	plan, err := pipeline.Compile(doc.Policies[0].Policy)
	if err != nil {
		log.Fatal(err)
	}
	d := drive.New(plan, 0)
	// A call an hour apart each, to a service that never answers well.
	for hour := range 2 {
		d.Advance(clock.Mark(time.Duration(hour) * time.Hour))
		call := d.Begin(&drive.Request{Cost: 1, Deadline: -1})
		for d.Live(call) {
			if !d.Done(call, drive.Result{Outcome: reducer.Fail}) {
				d.Advance(d.Now().Add(time.Minute))
			}
		}
	}
	for _, x := range d.Decisions {
		fmt.Printf("%8s %-6s attempt %d %s %s\n", time.Duration(x.At), x.Kind, x.Attempt, x.Outcome, x.Reason)
	}
}
