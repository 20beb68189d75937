package apitest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
)

func none(context.Context) error { return nil }

const berlin = "CET-1CEST,M3.5.0,M10.5.0/3"

// TestCalendar: a limiter alone, one for keys and a step end their windows with the days of
// their zone. A bubble begins on Saturday 2000-01-01 at 00:00 UTC.
func TestCalendar(t *testing.T) {
	zone, err := sluice.ParseZone(berlin)
	require.NoError(t, err)
	config := sluice.LimiterConfig{Algorithm: sluice.FixedWindow, Count: 2, Calendar: sluice.Calendar{Unit: sluice.Day, Zone: zone}}
	bubble(t, func(t *testing.T) {
		alone, err := sluice.NewLimiter(config)
		require.NoError(t, err)
		keyed, err := sluice.NewKeyedLimiter(config)
		require.NoError(t, err)
		step, err := sluice.New(sluice.Policy{Steps: []sluice.Step{{Config: config}}})
		require.NoError(t, err)
		set, err := sluice.Parse("p.yaml", []byte("version: 1\npolicies: {p: {steps: [{limit: {rate: 2/day, zone: \""+berlin+"\"}}]}}"))
		require.NoError(t, err)
		for name, allow := range map[string]func() bool{
			"limiter": alone.Allow,
			"keyed":   func() bool { return keyed.Allow("a") },
			"step":    func() bool { return sluice.Run(t.Context(), step, none) == nil },
			"set":     func() bool { return sluice.Run(t.Context(), set.Pipeline("p"), none) == nil },
		} {
			t.Log(name)
			for range 2 {
				assert.True(t, allow(), name)
			}
			assert.False(t, allow(), name)
		}
		time.Sleep(23*time.Hour - 1) // midnight in Berlin is 23:00 UTC
		assert.False(t, alone.Allow())
		assert.False(t, keyed.Allow("a"))
		time.Sleep(time.Nanosecond)
		assert.True(t, alone.Allow())
		assert.True(t, keyed.Allow("a"))
		assert.True(t, keyed.Allow("b"))
		require.NoError(t, sluice.Run(t.Context(), step, none))
		// The end is exact where it is told.
		require.NoError(t, sluice.Run(t.Context(), step, none))
		var rejected *sluice.RejectedError
		require.True(t, errors.As(sluice.Run(t.Context(), step, none), &rejected))
		assert.Equal(t, 24*time.Hour, rejected.RetryAfter)
	})
}

// TestCalendarIsReconfigured: a window keeps its end, the next one has the new unit, and a
// reload of the same document changes nothing.
func TestCalendarIsReconfigured(t *testing.T) {
	bubble(t, func(t *testing.T) {
		document := func(rate string) []byte {
			return []byte("version: 1\npolicies: {p: {steps: [{limit: {rate: " + rate + "}}]}}")
		}
		set, err := sluice.Parse("p.yaml", document("1/day"))
		require.NoError(t, err)
		pipeline := set.Pipeline("p")
		allowed := func() bool { return sluice.Run(t.Context(), pipeline, none) == nil }
		time.Sleep(20 * time.Hour)
		assert.True(t, allowed())
		require.NoError(t, set.Reload("p.yaml", document("1/day")))
		assert.False(t, allowed())
		require.NoError(t, set.Reload("p.yaml", document("1/week")))
		time.Sleep(4*time.Hour - 1)
		assert.False(t, allowed(), "the day is not over")
		time.Sleep(time.Nanosecond)
		assert.True(t, allowed(), "Sunday")
		time.Sleep(24*time.Hour - 1)
		assert.False(t, allowed())
		time.Sleep(time.Nanosecond)
		assert.True(t, allowed(), "Monday")
	})
}

// TestCalendarOfAnotherProcess: a snapshot keeps the end of a window at its wall time.
func TestCalendarOfAnotherProcess(t *testing.T) {
	policy := sluice.Policy{Steps: []sluice.Step{{Config: sluice.LimiterConfig{
		Algorithm: sluice.FixedWindow, Count: 1, Calendar: sluice.Calendar{Unit: sluice.Month},
	}}}}
	bubble(t, func(t *testing.T) {
		first, err := sluice.New(policy, sluice.WithClock(clock.NewMonotonic()))
		require.NoError(t, err)
		time.Sleep(30 * 24 * time.Hour)
		require.NoError(t, sluice.Run(t.Context(), first, none))
		state := first.Snapshot()
		time.Sleep(23 * time.Hour)
		second, err := sluice.New(policy, sluice.WithClock(clock.NewMonotonic()))
		require.NoError(t, err)
		require.NoError(t, second.Restore(state))
		require.Error(t, sluice.Run(t.Context(), second, none))
		time.Sleep(time.Hour)
		require.NoError(t, sluice.Run(t.Context(), second, none), "1 February")
	})
}

// TestTraceByCalendar: eval decides the events of a trace as they were, at the wall time of
// its header.
func TestTraceByCalendar(t *testing.T) {
	bubble(t, func(t *testing.T) {
		time.Sleep(22 * time.Hour)
		source := []byte(`{"steps":[{"limit":"1/day"}]}`)
		one, err := policy.ParseOne("p.json", source)
		require.NoError(t, err)
		pipeline, err := sluice.New(one.Policy)
		require.NoError(t, err)
		var text bytes.Buffer
		trace, err := pipeline.Trace(sluice.TraceOptions{Writer: &text})
		require.NoError(t, err)
		for range 3 {
			_ = sluice.Run(t.Context(), pipeline, none)
			time.Sleep(90 * time.Minute)
		}
		require.NoError(t, trace.Stop())
		header, _, _ := bytes.Cut(text.Bytes(), []byte("\n"))
		var began struct{ Began time.Time }
		require.NoError(t, json.Unmarshal(header, &began))
		assert.Equal(t, "2000-01-01T22:00:00Z", began.Began.Format(time.RFC3339Nano))
		r := apart(t, text.String())
		assert.Contains(t, r.decisions, `"retry_after":"30m0s"`)
		var out bytes.Buffer
		require.NoError(t, eval.Run(one.Policy, eval.Options{Seed: r.header.Seed, Epoch: time.Duration(began.Began.UnixNano())}, bytes.NewReader([]byte(r.events)), &out))
		assert.Equal(t, r.decisions, out.String())
	})
}

// TestVirtualCalendar: mark 0 of a virtual source is 1970, unless the configuration says
// another time.
func TestVirtualCalendar(t *testing.T) {
	for epoch, ends := range map[time.Duration]time.Duration{0: 24 * time.Hour, 5 * time.Hour: 19 * time.Hour} {
		var virtual clock.Virtual
		l, err := sluice.NewLimiter(sluice.LimiterConfig{
			Algorithm: sluice.FixedWindow, Count: 1, Calendar: sluice.Calendar{Unit: sluice.Day, Epoch: epoch},
		}, sluice.WithClock(&virtual))
		require.NoError(t, err)
		require.True(t, l.Allow())
		virtual.Advance(ends - 1)
		assert.False(t, l.Allow())
		virtual.Advance(1)
		assert.True(t, l.Allow())
	}
}

// TestBadCalendars: an error names the field.
func TestBadCalendars(t *testing.T) {
	_, err := sluice.ParseZone("Europe/Berlin")
	require.ErrorContains(t, err, `zone: found "Europe/Berlin"; allowed UTC, an offset`)
	for field, c := range map[string]sluice.LimiterConfig{
		"calendar.unit":  {Count: 1, Calendar: sluice.Calendar{Unit: sluice.Day}}, // a token bucket
		"rate.period":    {Algorithm: sluice.FixedWindow, Count: 1, Period: time.Hour, Calendar: sluice.Calendar{Unit: sluice.Day}},
		"calendar.zone":  {Algorithm: sluice.FixedWindow, Count: 1, Calendar: sluice.Calendar{Unit: sluice.Day, Zone: sluice.Zone{Offset: 90_000}}},
		"calendar.epoch": {Algorithm: sluice.FixedWindow, Count: 1, Calendar: sluice.Calendar{Unit: sluice.Day, Epoch: -1}},
	} {
		_, err := sluice.NewLimiter(c)
		require.ErrorContains(t, err, field+": found")
	}
	_, err = sluice.NewLimiter(sluice.LimiterConfig{Algorithm: sluice.FixedWindow, Count: 1, Calendar: sluice.Calendar{Unit: 9}})
	require.ErrorContains(t, err, "calendar.unit")
}

// TestCalendarByHandle: a calendar that an operator sets has the wall time of the process.
func TestCalendarByHandle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, err := sluice.New(sluice.Policy{Steps: []sluice.Step{{Config: sluice.LimiterConfig{Algorithm: sluice.FixedWindow, Count: 1, Period: time.Hour}}}})
		require.NoError(t, err)
		require.NoError(t, p.Step("limit").Configure(sluice.LimiterConfig{Algorithm: sluice.FixedWindow, Count: 1, Calendar: sluice.Calendar{Unit: sluice.Day}}))
		time.Sleep(20 * time.Hour)
		require.NoError(t, sluice.Run(t.Context(), p, none))
		var rejected *sluice.RejectedError
		require.ErrorAs(t, sluice.Run(t.Context(), p, none), &rejected)
		assert.Equal(t, 4*time.Hour, rejected.RetryAfter)
	})
}
