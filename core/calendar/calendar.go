package calendar

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Unit is the length of a window of the calendar.
type Unit uint8

// The units. The zero value is no calendar.
const (
	NoUnit Unit = iota
	// Day from midnight to midnight.
	Day
	// Week from Monday to Sunday.
	Week
	// Month from its first day to its last.
	Month
	units
)

// Units are the words of the units from Day on.
const Units = "day week month"

var unitNames = [units]string{"none", "day", "week", "month"}

// String returns the word of the policy document.
func (u Unit) String() string {
	if u < units {
		return unitNames[u]
	}
	return "unknown"
}

var lengths = [units]time.Duration{Day: 24 * time.Hour, Week: 7 * 24 * time.Hour, Month: 31 * 24 * time.Hour}

// Length returns what a unit counts as where a window needs one length: 24h, 168h, and
// 744h for a month, its longest.
func (u Unit) Length() time.Duration {
	if u < units {
		return lengths[u]
	}
	return 0
}

// Shortest returns the length of the shortest window of a unit in a zone.
func (u Unit) Shortest(z Zone) time.Duration {
	length := u.Length()
	if u == Month {
		length = 28 * 24 * time.Hour
	}
	if !z.Changes() {
		return length
	}
	shift := time.Duration(z.Summer-z.Offset) * time.Second
	return max(0, length-max(shift, -shift))
}

// Config says which windows a limit has. The zero value is none.
type Config struct {
	// Unit of the windows. Default: no calendar.
	Unit Unit
	// Zone of the dates. Default UTC.
	Zone Zone
	// Epoch is the wall time of mark 0 since 1970-01-01T00:00:00Z, 0 or more. Runners
	// set it from their clock where it is 0. Default 0.
	Epoch time.Duration
}

// Check returns an error that names the field which is wrong.
func (c *Config) Check() error {
	var e reducer.ConfigErrors
	e.Count(c.Unit >= units || c.Unit == NoUnit && *c != (Config{}), "calendar.unit", uint64(c.Unit), "Day, Week or Month")
	e.Count(!c.Zone.Valid(), "calendar.zone", 0, ZoneText)
	e.Duration(c.Epoch < 0, "calendar.epoch", c.Epoch, "0 or more")
	return e.Err()
}

// End returns the mark of the end of the window that a mark is in: the next one at which
// the zone has a date of a later window. It is later than the mark, or clock.Never.
func (c *Config) End(at clock.Mark) clock.Mark {
	const second = int64(time.Second)
	seconds, nanos := split(int64(at))
	began, rest := split(int64(c.Epoch))
	from := seconds + began + (nanos+rest)/second
	end := c.Zone.next(c.Unit, from) - began
	if end > int64(clock.Never)/second {
		return clock.Never
	}
	return max(at+1, clock.Mark(end*second).Add(-time.Duration(rest)))
}

// split returns whole seconds, rounded down, and the nanoseconds behind them.
func split(nanos int64) (seconds, rest int64) {
	seconds, rest = nanos/int64(time.Second), nanos%int64(time.Second)
	if rest < 0 {
		return seconds - 1, rest + int64(time.Second)
	}
	return seconds, rest
}

const day = 24 * 60 * 60

// next returns the least second after one at which the zone has a date of a later window.
func (z *Zone) next(u Unit, at int64) int64 {
	offset, change := z.around(at)
	boundary := int64(after(u, floor(at+int64(offset)))) * day
	for boundary-int64(offset) >= change {
		at = change
		if offset, change = z.around(at); at+int64(offset) >= boundary {
			return at
		}
	}
	return boundary - int64(offset)
}

// after returns the first day behind the window of a day. Days count from 1970-01-01.
func after(u Unit, days int) int {
	switch u {
	case Week:
		// 1970-01-01 was a Thursday.
		return days + 7 - modulo(days+3, 7)
	case Month:
		year, month := date(days)
		return daysTo(year, month+1, 1)
	}
	return days + 1
}

// floor returns the day that a second is in.
func floor(seconds int64) int {
	days := int(seconds / day)
	if seconds%day < 0 {
		days--
	}
	return days
}

// modulo returns the rest of a / b, which is not negative.
func modulo(a, b int) int {
	if a %= b; a < 0 {
		return a + b
	}
	return a
}

// Eras are the 400 years after which dates repeat. They begin with a March, so that a
// leap day is the last one of its year.
const (
	daysOfEra = 146_097
	toMarch   = 719_468 // days from the beginning of an era to 1970-01-01
)

// daysTo returns the days from 1970-01-01 to a date of the Gregorian calendar. The month
// after the twelfth is the first one of the next year.
func daysTo(year, month, dayOfMonth int) int {
	if month <= 2 {
		year--
	} else if month > 12 {
		month -= 12
	}
	yearOfEra := modulo(year, 400)
	dayOfYear := (153*modulo(month+9, 12)+2)/5 + dayOfMonth - 1
	return (year-yearOfEra)/400*daysOfEra + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - toMarch
}

// date returns the year and the month that are so many days after 1970-01-01.
func date(days int) (year, month int) {
	days += toMarch
	dayOfEra := modulo(days, daysOfEra)
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	month = modulo((5*dayOfYear+2)/153+2, 12) + 1
	if year = (days-dayOfEra)/daysOfEra*400 + yearOfEra; month <= 2 {
		year++
	}
	return year, month
}
