package calendar_test

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests, whatever the machine has

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/internal/testenv"
)

// zones are zones of the tz database whose present rules equal the text.
var zones = map[string]string{
	"Europe/Berlin":       "CET-1CEST,M3.5.0,M10.5.0/3",
	"America/New_York":    "EST5EDT,M3.2.0,M11.1.0",
	"Australia/Lord_Howe": "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
	"Europe/Dublin":       "IST-1GMT0,M10.5.0,M3.5.0/1",
	"America/Nuuk":        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
	"Africa/Cairo":        "EET-2EEST,M4.5.5/0,M10.5.4/24",
	"Asia/Jerusalem":      "IST-2IDT,M3.4.4/26,M10.5.0",
	"America/Havana":      "CST5CDT,M3.2.0/0,M11.1.0/1",
	"Asia/Beirut":         "EET-2EEST,M3.5.0/0,M10.5.0/0",
	"America/Santiago":    "<-04>4<-03>,M9.1.6/24,M4.1.6/24",
	"Asia/Kathmandu":      "+05:45",
	"America/St_Johns":    "NST3:30NDT,M3.2.0,M11.1.0",
	"UTC":                 "UTC",
}

func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := testenv.Seed()
	t.Logf("SLUICE_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func zone(t *testing.T, text string) calendar.Zone {
	t.Helper()
	z, ok := calendar.ParseZone(text)
	require.True(t, ok, text)
	return z
}

// windowOf names the window of a date.
func windowOf(u calendar.Unit, at time.Time) [3]int {
	switch year, month, day := at.Date(); u {
	case calendar.Week:
		isoYear, week := at.ISOWeek()
		return [3]int{isoYear, week}
	case calendar.Month:
		return [3]int{year, int(month)}
	default:
		return [3]int{year, int(month), day}
	}
}

// TestZonesOfTheDatabase compares ends with the dates of Go's tz database: the end has
// another date than the start, and no moment between them has. The years are behind the
// last change of any rule.
func TestZonesOfTheDatabase(t *testing.T) {
	rng := random(t)
	for name, text := range zones {
		location, err := time.LoadLocation(name)
		require.NoError(t, err)
		z := zone(t, text)
		for range testenv.Cases(400) {
			epoch := time.Date(2027+rng.IntN(10), 1, 1, 0, 0, 0, rng.IntN(1e9), time.UTC)
			c := calendar.Config{Unit: calendar.Unit(1 + rng.IntN(3)), Zone: z, Epoch: time.Duration(epoch.UnixNano())}
			at := clock.Mark(rng.Int64N(int64(400 * 24 * time.Hour)))
			end := c.End(at)
			wall := func(m clock.Mark) time.Time { return epoch.Add(time.Duration(m)).In(location) }
			require.Greater(t, end, at)
			window := windowOf(c.Unit, wall(at))
			require.NotEqual(t, window, windowOf(c.Unit, wall(end)), "%s %s: the window of %s ends at %s", name, c.Unit, wall(at), wall(end))
			for m := end - 1; m > at; m -= 1 + clock.Mark(rng.Int64N(int64(40*time.Minute))) {
				if got := windowOf(c.Unit, wall(m)); got != window {
					t.Fatalf("%s %s: the window of %s ends at %s, and %s is in another one", name, c.Unit, wall(at), wall(end), wall(m))
				}
			}
		}
	}
}

// TestEnds are windows that one can check by hand.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		unit     calendar.Unit
		zone     string
		at, ends string
	}{
		{calendar.Day, "UTC", "2027-02-28T23:59:59.999999999Z", "2027-03-01T00:00:00Z"},
		{calendar.Day, "UTC", "2027-03-01T00:00:00Z", "2027-03-02T00:00:00Z"},
		{calendar.Day, "+02:00", "2027-03-01T21:59:59Z", "2027-03-01T22:00:00Z"},
		{calendar.Day, "-11:30", "2027-03-01T11:29:59Z", "2027-03-01T11:30:00Z"},
		{calendar.Week, "UTC", "2027-02-28T12:00:00Z", "2027-03-01T00:00:00Z"}, // a Sunday
		{calendar.Week, "UTC", "2027-03-01T00:00:00Z", "2027-03-08T00:00:00Z"},
		{calendar.Month, "UTC", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{calendar.Month, "UTC", "2027-12-31T23:00:00Z", "2028-01-01T00:00:00Z"},
		// 23 and 25 hours.
		{calendar.Day, "CET-1CEST,M3.5.0,M10.5.0/3", "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z"},
		{calendar.Day, "CET-1CEST,M3.5.0,M10.5.0/3", "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z"},
		// The change skips midnight: the day begins at 01:00.
		{calendar.Day, "EET-2EEST,M3.5.0/0,M10.5.0/0", "2027-03-27T12:00:00Z", "2027-03-27T22:00:00Z"},
		// The clock goes from 00:00 back to 23:00: the day has 25 hours.
		{calendar.Day, "EET-2EEST,M3.5.0/0,M10.5.0/0", "2027-10-29T21:00:00Z", "2027-10-30T22:00:00Z"},
		// From 00:30 back to 23:30: the day ends at the first midnight, and the hour that is
		// repeated at the second.
		{calendar.Day, "AAA0BBB,M3.5.0,M10.5.0/0:30", "2027-10-30T12:00:00Z", "2027-10-30T23:00:00Z"},
		{calendar.Day, "AAA0BBB,M3.5.0,M10.5.0/0:30", "2027-10-30T23:40:00Z", "2027-10-31T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.at)
		require.NoError(t, err)
		config := calendar.Config{Unit: c.unit, Zone: zone(t, c.zone)}
		end := time.Unix(0, int64(config.End(clock.Mark(at.UnixNano())))).UTC().Format(time.RFC3339Nano)
		assert.Equal(t, c.ends, end, "%s in %s from %s", c.unit, c.zone, c.at)
		config.Epoch = time.Duration(at.UnixNano()) - 7
		end = time.Unix(0, int64(config.End(7))+int64(config.Epoch)).UTC().Format(time.RFC3339Nano)
		assert.Equal(t, c.ends, end, "%s in %s from %s, from another epoch", c.unit, c.zone, c.at)
	}
}

// TestEndIsLater: at every mark of the line, for every zone, a window ends later than it
// begins, and is no longer than its unit and two changes of the offset.
func TestEndIsLater(t *testing.T) {
	rng := random(t)
	marks := []clock.Mark{clock.Always, clock.Always + 1, -1, 0, 1, clock.Never - 2, clock.Never - 1}
	for range testenv.Cases(20_000) {
		c := calendar.Config{Unit: calendar.Unit(1 + rng.IntN(3)), Zone: randomZone(rng), Epoch: time.Duration(rng.Int64() >> rng.IntN(63))}
		require.NoError(t, c.Check())
		at := clock.Mark(rng.Int64() >> rng.IntN(63))
		if rng.IntN(4) == 0 {
			at = marks[rng.IntN(len(marks))]
		}
		end := c.End(at)
		require.Greater(t, end, at, "%+v", c)
		if end != clock.Never {
			require.LessOrEqual(t, end.Sub(at), c.Unit.Length()+48*time.Hour, "%+v", c)
		}
	}
}

func randomZone(rng *rand.Rand) calendar.Zone {
	seconds := func(most int) int32 { return int32(rng.IntN(2*most+1) - most) }
	z := calendar.Zone{Offset: seconds(24 * 3600)}
	if rng.IntN(2) == 0 {
		change := func() calendar.Change {
			return calendar.Change{Month: uint8(1 + rng.IntN(12)), Week: uint8(1 + rng.IntN(5)), Day: uint8(rng.IntN(7)), Time: seconds(167 * 3600)}
		}
		z.Summer, z.Begins, z.Ends = seconds(24*3600), change(), change()
	}
	return z
}

// TestZoneText: the text of a zone is read as the same zone.
func TestZoneText(t *testing.T) {
	for text, want := range map[string]string{
		"UTC": "UTC", "+00:00": "UTC", "UTC0": "UTC", "-03:30": "-03:30", "CET-1": "+01:00", "<-03>3": "-03:00", "LMT-0:53:28": "<+0053>-0:53:28",
		"CET-1CEST,M3.5.0,M10.5.0/3":                      "<+01>-1<+02>,M3.5.0,M10.5.0/3",
		"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0":            "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
		"EET-2EEST,M3.4.4/50,M10.4.4/-50:00:30":           "<+02>-2<+03>,M3.4.4/50,M10.4.4/-50:00:30",
		"AAA+24BBB-24,M12.1.6/167:59:59,M01.5.0/2:00":     "",
		"AAA+24BBB-24,M12.1.6/166:59:59,M01.5.0/02:00:00": "<-24>24<+24>-24,M12.1.6/166:59:59,M1.5.0",
	} {
		z, ok := calendar.ParseZone(text)
		require.Equal(t, want != "", ok, text)
		if ok {
			assert.Equal(t, want, z.String(), text)
		}
	}
	rng := random(t)
	for range testenv.Cases(5000) {
		z := randomZone(rng)
		read, ok := calendar.ParseZone(z.String())
		require.True(t, ok, z.String())
		require.Equal(t, z, read, z.String())
		require.Equal(t, z, calendar.Unpack(z.Pack()), z.String())
	}
	invalid := calendar.Unpack(calendar.Packed{2: 1<<32 - 1})
	assert.False(t, invalid.Valid())
}

// TestBadZones: what is no zone is not read as one.
func TestBadZones(t *testing.T) {
	for _, text := range []string{
		"", "utc", "Europe/Berlin", "GMT", "CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,J80,J264", "CET-1CEST,M3.5.0,M10.5.0/3 ", " UTC",
		"+2", "+2:00", "+02", "+0200", "+02:60", "+24:01", "02:00", "--2:00", "+02:00x", "CE-1", "<CE-1", "<C!T>-1", "CET-25", "CET-1:60", "CET--1",
		"CET-1CEST,M0.5.0,M10.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
		"CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0,", "CET-1CEST,M3.5,M10.5.0", "CET-1CEST-25,M3.5.0,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0/",
	} {
		_, ok := calendar.ParseZone(text)
		assert.False(t, ok, text)
	}
}

// FuzzZone: no text makes the parser panic, and what is a zone is one with its own text.
func FuzzZone(f *testing.F) {
	for _, text := range zones {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		z, ok := calendar.ParseZone(text)
		if !ok {
			return
		}
		require.True(t, z.Valid())
		read, ok := calendar.ParseZone(z.String())
		require.True(t, ok, z.String())
		require.Equal(t, z, read)
	})
}

// TestConfig: a calendar that is none has no zone.
func TestConfig(t *testing.T) {
	for _, c := range []calendar.Config{
		{Zone: calendar.Zone{Offset: 3600}}, {Unit: 4}, {Unit: calendar.Day, Epoch: -1}, {Epoch: 1},
		{Unit: calendar.Day, Zone: calendar.Zone{Summer: 1}},
		{Unit: calendar.Day, Zone: calendar.Zone{Offset: 25 * 3600}},
	} {
		assert.Error(t, c.Check(), "%+v", c)
	}
	assert.NoError(t, (&calendar.Config{}).Check())
}
