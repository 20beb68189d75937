package sluiceprometheus_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice"
	sluiceprometheus "github.com/sluice-go/sluice/bindings/prometheus"
)

func Example() {
	set, err := sluice.Parse("policy.yaml", []byte("version: 1\npolicies: {vendor: {steps: [limit: 2/1h]}}"))
	if err != nil {
		panic(err)
	}
	policies := sluiceprometheus.New()
	defer policies.AddSet(set)()
	registry := prometheus.NewRegistry() // promhttp.HandlerFor(registry, ...) serves it
	registry.MustRegister(policies)

	for range 3 {
		_, _ = sluice.Do(context.Background(), set.Pipeline("vendor"), func(context.Context) (int, error) { return 1, nil })
	}

	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if strings.HasSuffix(family.GetName(), "_total") {
			for _, m := range family.Metric {
				fmt.Println(family.GetName(), m.Label[0].GetValue(), m.Label[2].GetValue(), m.Counter.GetValue())
			}
		}
	}
	// Output:
	// sluice_decisions_total admit  2
	// sluice_decisions_total end  2
	// sluice_decisions_total reject rate 1
}
