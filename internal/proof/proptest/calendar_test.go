package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// byCalendar returns a fixed window of days, weeks or months, the first of which ends
// within the history.
func byCalendar(name string, queue order) machine {
	m := limit(name, limiter.FixedWindow, queue)
	plain := m.draw
	m.draw = func(h history) config {
		c := plain(h)
		w := h.word(0) >> 40
		// 2027-02-01 is a Monday in all zones of the offset.
		began := time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(1 + w%40))
		c.limit.Calendar = calendar.Config{
			Unit: calendar.Unit(1 + w>>6%3), Zone: calendar.Zone{Offset: int32(w>>8%5)*3600 - 7200}, Epoch: time.Duration(began.UnixNano()),
		}
		c.limit.Calendar.Epoch -= time.Duration(c.limit.Calendar.Zone.Offset) * time.Second
		c.limit.Period = c.limit.Calendar.Unit.Length()
		return c
	}
	return m
}

// L19: no day, week or month has more permits than the count, and a refusal for the rate
// ends with it.
func L19(m machine, h history) error {
	r, c := rigged(m, h)
	r.without = reducer.Cancel // returned permits may be taken again
	r.play(h.steps())
	if r.refusals(reducer.ReasonRate, reducer.ReasonWait, reducer.ReasonFull) > 0 {
		m.meet()
	}
	window := func(at clock.Mark) string {
		z := c.limit.Calendar
		local := time.Unix(0, int64(z.Epoch)+int64(at)).UTC().Add(time.Duration(z.Zone.Offset) * time.Second)
		switch z.Unit {
		case calendar.Week:
			year, week := local.ISOWeek()
			return fmt.Sprint(year, week)
		case calendar.Month:
			return local.Format("2006-01")
		}
		return local.Format(time.DateOnly)
	}
	taken := map[string]int64{}
	for _, u := range r.uses(granted) {
		if taken[window(u.at)] += u.cost; taken[window(u.at)] > int64(c.limit.Count) {
			return fmt.Errorf("L19: %d in the window %s", taken[window(u.at)], window(u.at))
		}
	}
	for _, x := range r.log {
		end := x.answer.Mark
		if c.limit.Queue > 0 || x.answer.Reason != reducer.ReasonRate || x.answer.Verdict != reducer.Reject || end == clock.Never {
			continue
		}
		if now := max(x.at, 0); window(end) == window(now) || window(end-1) != window(now) {
			return fmt.Errorf("L19: at %s, in the window %s, a refusal until %s", now, window(now), end)
		}
	}
	return r.err
}

// calendarLines are the invariants of windows of the calendar.
var calendarLines = []property{
	{"L19", "no day, week or month of a calendar has more permits than the count, and a refusal says when it ends", L19, []machine{daily, queuedDaily},
		daily.made("ends its days a nanosecond early", func(c *config) { c.limit.Calendar.Epoch++ })},
}

var (
	daily       = byCalendar("fixed window of the calendar", alone)
	queuedDaily = byCalendar("fixed window of the calendar with a queue", oldest)
)
