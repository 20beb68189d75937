package sluice_test

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

// A document is replaced while calls run. Steps of the same name keep their states, and a
// document with errors changes nothing.
func ExampleSet_Reload() {
	const file = "policy.yaml"
	set, err := sluice.Parse(file, []byte(`{version: 1, policies: {api: {steps: [{limit: {rate: 2/1h, name: quota}}]}}}`), sluice.WithClock(&clock.Virtual{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	api := set.Pipeline("api") // stays valid over reloads
	admitted := func() (n int) {
		for range 10 {
			if _, err := sluice.Do(context.Background(), api, func(context.Context) (int, error) { return 0, nil }); err == nil {
				n++
			}
		}
		return n
	}
	fmt.Println(admitted(), "of 10")
	fmt.Println(set.Reload(file, []byte(`{version: 1, policies: {api: {steps: [{limit: {rate: -1/1h, name: quota}}]}}}`)) != nil)
	fmt.Println(admitted(), "of 10 after a document with errors")
	fmt.Println(set.Reload(file, []byte(`{version: 1, policies: {api: {steps: [{timeout: 5s}, {limit: {rate: 5/1h, name: quota}}]}}}`)))
	fmt.Println(admitted(), "of 10 with a higher rate: what was taken stays taken")
	fmt.Println(set.Reload(file, []byte(`{version: 1, policies: {api: {steps: [{limit: {rate: 5/1h, name: another}}]}}}`)))
	fmt.Println(admitted(), "of 10 under another name")
	// Output:
	// 2 of 10
	// true
	// 0 of 10 after a document with errors
	// <nil>
	// 0 of 10 with a higher rate: what was taken stays taken
	// <nil>
	// 5 of 10 under another name
}
