package fixedwindow_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Two permits for each ten seconds, from the first one on.
func Example() {
	window, err := limiter.New(limiter.Config{Algorithm: limiter.FixedWindow, Count: 2, Period: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := clock.Mark(3 * time.Second)
	values := reducer.ValuesOf(window)
	state := values.Init(now)
	for range 4 {
		var effects reducer.Effects
		state, effects = values.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 1}, now)
		fmt.Printf("%v %v, %s\n", now, effects.Answer.Verdict, window.AppendText(nil, &state, now))
		now = now.Add(5 * time.Second)
	}
	// Output:
	// 3s admit, used 1/2 until 13s
	// 8s admit, used 2/2 until 13s
	// 13s admit, used 1/2 until 23s
	// 18s admit, used 2/2 until 23s
}

// Two permits for each day of Berlin, around the day on which its summer time begins: that
// day has 23 hours.
func Example_calendar() {
	berlin, _ := calendar.ParseZone("CET-1CEST,M3.5.0,M10.5.0/3")
	began := time.Date(2027, 3, 27, 21, 30, 0, 0, time.UTC)
	window, err := limiter.New(limiter.Config{
		Algorithm: limiter.FixedWindow, Count: 2, Period: calendar.Day.Length(),
		Calendar: calendar.Config{Unit: calendar.Day, Zone: berlin, Epoch: time.Duration(began.UnixNano())},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := reducer.ValuesOf(window)
	state := values.Init(0)
	for _, now := range []clock.Mark{0, clock.Mark(time.Hour), clock.Mark(90 * time.Minute), clock.Mark(24*time.Hour + 30*time.Minute)} {
		var effects reducer.Effects
		state, effects = values.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 2}, now)
		at := began.Add(time.Duration(now)).UTC()
		fmt.Printf("%s %v, %s\n", at.Format("Jan _2 15:04 MST"), effects.Answer.Verdict, window.AppendText(nil, &state, now))
	}
	// Output:
	// Mar 27 21:30 UTC admit, used 2/2 until 1h30m0s
	// Mar 27 22:30 UTC reject, used 2/2 until 1h30m0s
	// Mar 27 23:00 UTC admit, used 2/2 until 24h30m0s
	// Mar 28 22:00 UTC admit, used 2/2 until 48h30m0s
}
