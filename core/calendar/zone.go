package calendar

// Zone is a time zone: its offset, and the rules of its summer time. The zero value is
// UTC.
type Zone struct {
	// Offset of the standard time from UTC in seconds, east positive, at most 24h either
	// way.
	Offset int32
	// Summer is the offset of the summer time, like Offset. 0 without one.
	Summer int32
	// Begins is the change to the summer time, and Ends the one from it. Zero for a zone
	// without summer time.
	Begins, Ends Change
}

// Change is a moment of each year: a day of a week of a month, and a time.
type Change struct {
	// Month of the year, 1 to 12.
	Month uint8
	// Week of the month, 1 to 5: the how manieth such day; 5 is the last one.
	Week uint8
	// Day of the week, 0 for Sunday to 6.
	Day uint8
	// Time of the day in seconds, in the local time before the change; at most 167h
	// either way.
	Time int32
}

const (
	maxOffset = 24 * 60 * 60
	maxTime   = 167 * 60 * 60
)

// Changes reports whether the zone has a summer time.
func (z *Zone) Changes() bool { return z.Begins != Change{} }

// Valid reports whether the offsets and the changes are in their ranges.
func (z *Zone) Valid() bool {
	if !z.Changes() {
		return within(z.Offset, maxOffset) && z.Summer == 0 && z.Ends == Change{}
	}
	return within(z.Offset, maxOffset) && within(z.Summer, maxOffset) && z.Begins.valid() && z.Ends.valid()
}

func (c *Change) valid() bool {
	return c.Month-1 < 12 && c.Week-1 < 5 && c.Day < 7 && within(c.Time, maxTime)
}

func within(v, most int32) bool { return v <= most && v >= -most }

// in returns the second of the change in a year, where local time before it has an
// offset.
func (c *Change) in(year int, offset int32) int64 {
	from := daysTo(year, int(c.Month), 1) + 7*int(c.Week-1)
	if c.Week == 5 {
		from = daysTo(year, int(c.Month)+1, 1) - 7
	}
	// 1970-01-01 was a Thursday.
	days := from + modulo(int(c.Day)-from-4, 7)
	return int64(days)*day + int64(c.Time) - int64(offset)
}

// around returns the offset of the zone at a second, and the second of the first change
// after it, the greatest for none.
func (z *Zone) around(at int64) (offset int32, next int64) {
	offset, next = z.Offset, 1<<63-1
	if !z.Changes() {
		return offset, next
	}
	latest := int64(-1 << 63)
	year, _ := date(floor(at))
	for y := year - 1; y <= year+1; y++ {
		changes := [2]int64{z.Begins.in(y, z.Offset), z.Ends.in(y, z.Summer)}
		for i, change := range changes {
			switch {
			case change > at:
				next = min(next, change)
			case change >= latest:
				latest, offset = change, [2]int32{z.Summer, z.Offset}[i]
			}
		}
	}
	return offset, next
}
