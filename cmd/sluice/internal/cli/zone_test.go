package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/calendar"
)

// TestZone compares the rules with those that the tz database has as the last line of the
// file of each zone.
func TestZone(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for name, rule := range map[string]string{
		"Europe/Berlin": "CET-1CEST,M3.5.0,M10.5.0/3", "America/New_York": "EST5EDT,M3.2.0,M11.1.0",
		"Asia/Jerusalem": "IST-2IDT,M3.4.4/26,M10.5.0",
		"Africa/Cairo":   "EET-2EEST,M4.5.5/0,M10.5.4/24", "Australia/Lord_Howe": "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
		"America/Santiago": "<-04>4<-03>,M9.1.6/24,M4.1.6/24", "Antarctica/Troll": "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3",
		"Asia/Kathmandu": "<+0545>-5:45", "America/Havana": "CST5CDT,M3.2.0/0,M11.1.0/1", "UTC": "UTC0", "Asia/Tokyo": "JST-9",
		"Europe/Dublin": "GMT0IST,M3.5.0/1,M10.5.0", "America/Nuuk": "<-02>2<-01>,M3.4.4/71,M10.5.0/0",
	} {
		location, err := time.LoadLocation(name)
		require.NoError(t, err)
		got, ok := zoneOf(location, now)
		want, read := calendar.ParseZone(rule)
		require.True(t, ok && read, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{"Africa/Casablanca", "Asia/Gaza"} {
		location, err := time.LoadLocation(name)
		require.NoError(t, err)
		_, ok := zoneOf(location, now)
		assert.False(t, ok, "%s states its changes one by one", name)
	}
}

func TestZoneCommand(t *testing.T) {
	code, out, errs := run("", "zone Europe/Berlin")
	assert.Equal(t, ExitOK, code, errs)
	assert.Equal(t, "<+01>-1<+02>,M3.5.0,M10.5.0/3\n", out)
	for _, name := range []string{"Nowhere/X", "", "Local", "../etc/passwd"} {
		code, _, errs = runArgs("", "zone", name)
		assert.Equal(t, ExitBad, code, name)
		assert.Contains(t, errs, "there is no time zone")
	}
}
