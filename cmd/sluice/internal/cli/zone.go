package cli

import (
	"fmt"
	"time"
	_ "time/tzdata" // the zones, also where the machine has none

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/calendar"
)

func newZone(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "zone NAME",
		Short: "Print the rule of a time zone for limits by the calendar",
		Long: `zone prints the rule of a zone of the tz database, as the zone of a limit by the
calendar has it: {rate: 1000/day, zone: RULE}. The rule is the present one, without the
zone's history. A government that changes it makes the document wrong until it has the
new rule.`,
		Example: `  sluice zone Europe/Berlin
  sluice zone Asia/Kathmandu`,
		Args:              withArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			location, err := time.LoadLocation(args[0])
			if err != nil || args[0] == "" || args[0] == "Local" {
				return bad("there is no time zone %s; allowed names of the tz database as in Europe/Berlin", args[0])
			}
			zone, ok := zoneOf(location, time.Now())
			if !ok {
				return bad("the changes of %s in the next years have no rule of POSIX; take an offset as in +01:00", args[0])
			}
			_, err = fmt.Fprintln(env.Stdout, zone)
			return err
		},
	}
}

// ruled is a year in which only the last rule of a zone holds: the database states changes
// up to 2087.
const ruled = 2100

// zoneOf returns the rule of a location, and false where its changes in the ten years from
// a moment on have another one.
func zoneOf(location *time.Location, now time.Time) (calendar.Zone, bool) {
	at := time.Date(ruled, 1, 1, 0, 0, 0, 0, time.UTC).In(location)
	_, offset := at.Zone()
	zone := calendar.Zone{Offset: int32(offset)}
	// In 28 years every date has every day of the week.
	var to [2][]time.Time // local times of the changes to the greater and to the smaller offset
	for at.Year() < ruled+28 {
		_, next := at.ZoneBounds()
		if next.IsZero() {
			break
		}
		if !next.After(at) {
			at = at.Add(time.Hour) // an end of a year
			continue
		}
		_, before := at.Zone()
		_, after := next.Zone()
		local := next.UTC().Add(time.Duration(before) * time.Second)
		switch {
		case after > before:
			zone.Offset, zone.Summer = int32(before), int32(after)
			to[0] = append(to[0], local)
		case after < before:
			to[1] = append(to[1], local)
		}
		at = next
	}
	ok := true
	if len(to[0]) > 0 {
		var begins, ends bool
		zone.Begins, begins = changeOf(to[0])
		zone.Ends, ends = changeOf(to[1])
		ok = begins && ends
	}
	return zone, ok && zone.Valid() && holds(zone, location, now)
}

// changeOf returns the rule of the local times of a change, one in each year.
func changeOf(times []time.Time) (calendar.Change, bool) {
	// A day that is no n-th one of its month may be the day after one that is.
	for shift := range 7 {
		if c, ok := ruleOf(times, time.Duration(shift)*24*time.Hour); ok {
			return c, true
		}
	}
	return calendar.Change{}, false
}

func ruleOf(times []time.Time, shift time.Duration) (calendar.Change, bool) {
	first := times[0].Add(-shift)
	month, day, week := first.Month(), first.Weekday(), (first.Day()-1)/7+1
	same, last := true, true
	for _, at := range times {
		at = at.Add(-shift)
		if at.Month() != month || at.Weekday() != day || at.Sub(at.Truncate(24*time.Hour)) != first.Sub(first.Truncate(24*time.Hour)) {
			return calendar.Change{}, false
		}
		same = same && (at.Day()-1)/7+1 == week
		last = last && at.AddDate(0, 0, 7).Month() != month
	}
	if last {
		week = 5
	}
	at := first.Sub(first.Truncate(24*time.Hour)) + shift
	return calendar.Change{Month: uint8(month), Week: uint8(week), Day: uint8(day), Time: int32(at / time.Second)}, same || last
}

// holds reports whether a rule and a location have the same days for ten years.
func holds(zone calendar.Zone, location *time.Location, now time.Time) bool {
	c := calendar.Config{Unit: calendar.Day, Zone: zone}
	at := now
	for range 10 * 366 {
		at = time.Unix(0, int64(c.End(clock.Mark(at.UnixNano())))).In(location)
		if h, m, s := at.Clock(); h+m+s != 0 && at.Add(-time.Nanosecond).Day() == at.Day() {
			return false
		}
	}
	return true
}
