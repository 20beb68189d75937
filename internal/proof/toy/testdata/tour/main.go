// Command tour prints what metrics and a simulation have of a policy with the toy.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/policymeter"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
)

type calls struct{}

func (calls) Ended(reducer.Outcome, context.Context, time.Duration) {}

func main() {
	parsed, err := policy.ParseOne("toy.yaml", []byte("steps: [quota: 5]"))
	check(err)
	parsed.Name = "toy"
	p, err := sluice.New(parsed.Policy)
	check(err)
	sources := policymeter.Sources[calls]{Make: func(string) calls { return calls{} }}
	sources.AddPipeline(p)
	check(sluice.Run(context.Background(), p, func(context.Context) error { return nil }))
	sources.Read(func(point policymeter.Point) {
		if point.Labels[1] == "quota" {
			fmt.Println(point.Metric.Prometheus+"{"+strings.Join(point.Labels, " ")+"}", point.Value)
		}
	}, func(durations.Snapshot, ...string) {}, func(calls) {})

	scenario, err := sim.Parse("toy.yaml", []byte(`version: 1
seed: 1
duration: 10s
policies: {toy: {steps: [quota: 5]}}
clients: [{name: web, to: db, arrivals: {constant: 1/s}, policy: toy}]
services: [{name: db, servers: 9, time: {constant: 1ms}}]
`), nil)
	check(err)
	result, err := sim.Run(scenario, sim.Options{})
	check(err)
	for _, step := range result.Timeline.Clients[0].Steps {
		last := len(step.Free) - 1
		fmt.Printf("%s: at most %v free, %d at the beginning, %d at the end\n", step.Step, step.Limit[last], step.Free[0], step.Free[last])
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
