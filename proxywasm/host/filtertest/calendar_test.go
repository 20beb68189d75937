package filtertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// TestCalendar: days of a zone end at the wall time of the proxy, in all workers at once
// where they share the cells. The process begins on 2026-01-01 at 00:00 UTC.
func TestCalendar(t *testing.T) {
	t.Parallel()
	for state, workers := range map[string]int{"process": workers, "worker": 1} {
		e := start(t, steps(state, `{"limit":{"rate":"2/day","zone":"<+01>-1<+02>,M3.5.0,M10.5.0/3"}},{"limit":{"rate":"2/day","zone":"+05:30","per":"header:x-key","name":"keys"}}`))
		asked := 0
		get := func() *host.Stream {
			asked++
			return e.filter.Worker(asked%workers).Do(host.Get("/", "x-key", "a"), host.Answer(200))
		}
		refused := func(after string) {
			t.Helper()
			s := get()
			assert.Equal(t, 429, statusOf(s), state)
			assert.Equal(t, after, s.Response().Headers.Value("retry-after"), state)
		}
		for _, hours := range []time.Duration{23, 24} {
			assert.Equal(t, 200, statusOf(get()), state)
			assert.Equal(t, 200, statusOf(get()), state)
			refused(map[time.Duration]string{23: "82800", 24: "86400"}[hours])
			e.Advance(hours*time.Hour - time.Second)
			refused("1")
			e.Advance(time.Second)
		}
	}
}

// TestCalendarIsPushed: a new configuration of the process keeps the window, whose end stays
// although each worker reads the clocks anew.
func TestCalendarIsPushed(t *testing.T) {
	t.Parallel()
	document := steps("process", `{"limit":{"rate":"1/day"}}`)
	e := start(t, document)
	assert.Equal(t, 200, e.get(0))
	e.Advance(time.Hour + 12345)
	e.push(t, document)
	s := e.filter.Worker(1).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, 429, statusOf(s))
	assert.Equal(t, "82800", s.Response().Headers.Value("retry-after"))
}
