package oracle

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/calendar"
)

// windowEnd returns the end of the window of the calendar that a mark is in: of all marks
// at which the date may change, the first one behind the mark at which it is in a later
// window.
func windowEnd(c calendar.Config, now int64) int64 {
	at := wallTime(c, now)
	var ends []time.Time
	for year := at.Year() - 1; year <= at.Year()+1; year++ {
		for _, change := range changes(c.Zone, year) {
			ends = append(ends, change.at)
		}
	}
	for days := range 40 {
		midnight := time.Date(at.Year(), at.Month(), at.Day()-3+days, 0, 0, 0, 0, time.UTC)
		for _, offset := range []int32{c.Zone.Offset, c.Zone.Summer} {
			ends = append(ends, midnight.Add(-time.Duration(offset)*time.Second))
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	window := windowName(c, at)
	for _, end := range ends {
		if end.After(at) && windowName(c, end) > window {
			return now + int64(end.Sub(at))
		}
	}
	panic("no window lasts longer than 36 days")
}

func wallTime(c calendar.Config, now int64) time.Time {
	return time.Unix(0, 0).UTC().Add(c.Epoch).Add(time.Duration(now))
}

// windowName returns the date of the first day of a window.
func windowName(c calendar.Config, at time.Time) string {
	local := at.Add(time.Duration(offsetAt(c.Zone, at)) * time.Second)
	switch c.Unit {
	case calendar.Month:
		return local.Format("2006-01")
	case calendar.Week:
		for local.Weekday() != time.Monday {
			local = local.AddDate(0, 0, -1)
		}
	}
	return local.Format(time.DateOnly)
}

// offsetAt returns the offset behind the last change up to a moment.
func offsetAt(z calendar.Zone, at time.Time) int32 {
	offset, last := z.Offset, time.Time{}
	for year := at.Year() - 1; year <= at.Year()+1; year++ {
		for _, change := range changes(z, year) {
			if !change.at.After(at) && !change.at.Before(last) {
				offset, last = change.to, change.at
			}
		}
	}
	return offset
}

type zoneChange struct {
	at time.Time
	to int32
}

// changes returns the changes of a year, none for a zone without summer time.
func changes(z calendar.Zone, year int) []zoneChange {
	if z.Begins.Month == 0 {
		return nil
	}
	return []zoneChange{
		{at: momentOf(z.Begins, year).Add(-time.Duration(z.Offset) * time.Second), to: z.Summer},
		{at: momentOf(z.Ends, year).Add(-time.Duration(z.Summer) * time.Second), to: z.Offset},
	}
}

// momentOf returns the local time of a change as if it were UTC.
func momentOf(c calendar.Change, year int) time.Time {
	var days []time.Time
	for day := time.Date(year, time.Month(c.Month), 1, 0, 0, 0, 0, time.UTC); day.Month() == time.Month(c.Month); day = day.AddDate(0, 0, 1) {
		if int(day.Weekday()) == int(c.Day) {
			days = append(days, day)
		}
	}
	return days[min(int(c.Week), len(days))-1].Add(time.Duration(c.Time) * time.Second)
}
