package sluice_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
)

// Work that is no function, as a message that one goroutine receives and another one
// answers, is guarded from Begin to Done.
func ExamplePipeline_Begin() {
	set, err := sluice.Parse("policy.yaml", []byte(`{version: 1, policies: {orders: {steps: [{breaker: {window: {consecutive: 2}, open: 1m}}, {bulkhead: 1}]}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	orders := set.Pipeline("orders")
	call, err := orders.Begin(context.Background(), sluice.Request{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer call.Release() // for ways out without Done; after the first time it does nothing

	_, err = orders.Begin(context.Background(), sluice.Request{})
	var refused *sluice.RejectedError
	if errors.As(err, &refused) {
		fmt.Println("the second one:", refused.Step, refused.Reason)
	}
	call.Done(sluice.OutcomeOK) // the vote of the breaker
	call.Release()              // the place of the bulkhead
	next, err := orders.Begin(context.Background(), sluice.Request{})
	fmt.Println("the third one:", err)
	next.Release()
	// Output:
	// the second one: bulkhead full
	// the third one: <nil>
}
