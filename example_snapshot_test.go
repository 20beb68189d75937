package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

// The states of a pipeline survive a restart of the process: an open breaker is open
// in the next one, and a limit is not full again.
func ExamplePipeline_Snapshot() {
	document := []byte(`{version: 1, policies: {vendor: {steps: [{breaker: {window: {consecutive: 2}, open: 1m}}]}}}`)
	before, err := sluice.Parse("policy.yaml", document, sluice.WithClock(&clock.Virtual{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	vendor := before.Pipeline("vendor")
	for range 2 {
		_, _ = sluice.Do(context.Background(), vendor, func(context.Context) (int, error) { return 0, errors.New("down") })
	}
	saved := vendor.Snapshot()

	after, err := sluice.Parse("policy.yaml", document, sluice.WithClock(&clock.Virtual{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	vendor = after.Pipeline("vendor")
	mode, _, _ := strings.Cut(vendor.State()[0].Text, " ")
	fmt.Println(mode)
	if err := vendor.Restore(saved); err != nil {
		fmt.Println(err)
		return
	}
	mode, _, _ = strings.Cut(vendor.State()[0].Text, " ")
	fmt.Println(mode)
	// Output:
	// closed
	// open
}
