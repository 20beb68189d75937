package cell_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// A cell is reconfigured while it counts: its free permits are kept.
func Example() {
	slow, err := limiter.Cells(limiter.Config{Count: 10, Period: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	fast, err := limiter.Cells(limiter.Config{Algorithm: limiter.SlidingCounter, Count: 100, Period: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := slow.New(0)
	c.Step(reducer.Action{Kind: reducer.Acquire, Cost: 7}, 0, nil)
	fmt.Println(cell.Text(c, 0))
	c = cell.Adopt(fast, c, 0, nil)
	fmt.Println(cell.Text(c, 0))
	// Output:
	// free 3/10
	// previous 0 current 97/100 at 0s of 1m0s
}
