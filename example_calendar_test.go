package sluice_test

import (
	"fmt"

	"github.com/sluice-go/sluice"
)

// A quota for each day of Berlin: the window ends at midnight there. The rule of a zone is
// what the command sluice zone Europe/Berlin prints.
func ExampleParseZone() {
	berlin, err := sluice.ParseZone("CET-1CEST,M3.5.0,M10.5.0/3")
	if err != nil {
		fmt.Println(err)
		return
	}
	quota, err := sluice.NewKeyedLimiter(sluice.LimiterConfig{
		Algorithm: sluice.FixedWindow,
		Count:     1000,
		Calendar:  sluice.Calendar{Unit: sluice.Day, Zone: berlin},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(quota.AllowN("customer-7", 1000), quota.Allow("customer-7"))
	// Output: true false
}
