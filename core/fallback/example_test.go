package fallback_test

import (
	"fmt"

	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/reducer"
)

// A fallback replaces a failure, and not a success.
func Example() {
	answer, err := fallback.New(fallback.Config{Body: "try later"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, outcome := range []reducer.Outcome{reducer.OK, reducer.Fail, reducer.Cancelled} {
		if fallback.Covers(outcome) {
			fmt.Println(outcome, answer.Status, answer.Body)
		} else {
			fmt.Println(outcome)
		}
	}
	// Output:
	// ok
	// fail 503 try later
	// cancel
}
