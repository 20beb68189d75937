package simtest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

// bands returns the faults of the services that a client reaches.
func (v *view) bands(client string) (list []engine.Band) {
	var visit func(service int)
	visit = func(service int) {
		list = append(list, v.result.Timeline.Services[service].Bands...)
		for _, edge := range v.scenario.Services[service].Calls {
			visit(edge.To)
		}
	}
	for i := range v.scenario.Clients {
		if one := &v.scenario.Clients[i]; one.Name == client {
			visit(one.To)
		}
	}
	return list
}

// repaired returns the end of the last fault of the services that a client reaches,
// clock.Never where they have none.
func (v *view) repaired(client string) clock.Mark {
	last := clock.Never
	for i, band := range v.bands(client) {
		if i == 0 || band.To > last {
			last = band.To
		}
	}
	return last
}

// latency returns a percentile of the latency of the counted calls of a client that
// ended ok. It is false where there are none.
func (v *view) latency(client string, percentile float64) (time.Duration, bool) {
	var all []time.Duration
	begin := clock.Mark(v.result.Duration - v.result.Counted)
	v.replay(func(e *engine.Event) {
		if e.Kind == engine.EventEnd && e.Client == client && !e.Refused && e.Outcome == reducer.OK && e.Began >= begin {
			all = append(all, e.At.Sub(e.Began))
		}
	})
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	rank := int(math.Ceil(percentile / 100 * float64(len(all))))
	return all[min(max(rank, 1), len(all))-1], true
}

// requests calls a function with the marks at which requests arrive at a service, of
// the selected client or of all.
func (v *view) requests(service string, f func(at clock.Mark)) {
	v.replay(func(e *engine.Event) {
		if e.Kind == engine.EventArrival && e.Service == service && (v.client == "" || v.client == e.Client) {
			f(e.At)
		}
	})
}

// exceeds returns the begin of the first window with more requests than the limit.
func (v *view) exceeds(service string, limit int, window time.Duration) (at clock.Mark, found bool) {
	// The last limit requests, of which the oldest one is replaced.
	last := make([]clock.Mark, 0, max(limit, 1))
	n := 0
	v.requests(service, func(now clock.Mark) {
		switch {
		case found:
		case limit <= 0:
			at, found = now, true
		case len(last) < limit:
			last = append(last, now)
		default:
			oldest := &last[n%limit]
			if n++; now.Sub(*oldest) < window {
				at, found = *oldest, true
			}
			*oldest = now
		}
	})
	return at, found
}

// arrivals returns how many requests arrive at a service in a window.
func (v *view) arrivals(service string, from clock.Mark, window time.Duration) (n int) {
	v.requests(service, func(at clock.Mark) {
		if at >= from && at.Sub(from) < window {
			n++
		}
	})
	return n
}

// opening is when a breaker opens, counted from the first fault.
type opening struct {
	step  string
	fault bool // there is one
	open  bool
	// after is the time, calls how many calls arrived; where the breaker does not open,
	// until the end of the scenario.
	after time.Duration
	calls int
}

// openings returns when the breakers of a client open.
func (v *view) openings(c *sim.ClientResult) (list []opening) {
	from := clock.Mark(0)
	bands := v.bands(c.Name)
	for i, band := range bands {
		if i == 0 || band.From < from {
			from = band.From
		}
	}
	whole := max(clock.Mark(v.result.Duration).Sub(from), 0)
	for _, b := range c.Breakers {
		list = append(list, opening{step: b.Step, fault: len(bands) > 0, after: whole})
	}
	v.replay(func(e *engine.Event) {
		for i := range list {
			o := &list[i]
			change := e.Kind == engine.EventDecision && e.Process == c.Name && e.Decision.Kind == decision.Change && e.Decision.Step == o.step
			switch {
			case change && e.At < from:
				if o.open, o.after = breaker.Mode(e.Decision.Mode) == breaker.Open, whole; o.open {
					o.after = 0 // a breaker that is open when the fault begins needs no time
				}
			case o.open:
			case change && breaker.Mode(e.Decision.Mode) == breaker.Open:
				o.open, o.after = true, e.At.Sub(from)
			case e.Kind == engine.EventCall && e.Client == c.Name && e.At >= from:
				o.calls++
			}
		}
	})
	return list
}

// opens returns a finding where a breaker of a client opens late.
func (v *view) opens(c *sim.ClientResult, late func(*opening) bool, found func(*opening) string) *finding {
	list := v.openings(c)
	if len(list) == 0 {
		return &finding{kind: "no breaker", text: "no breaker"}
	}
	for i := range list {
		o := &list[i]
		when := ""
		if o.fault {
			when = " after the fault"
		}
		switch {
		case o.open && late(o):
			return &finding{kind: "late" + when, text: fmt.Sprintf("%s opens after %s", o.step, found(o))}
		case !o.open && late(o):
			return &finding{kind: "never" + when, text: fmt.Sprintf("%s does not open in %s", o.step, found(o))}
		case !o.open:
			return &finding{kind: "too short" + when, text: fmt.Sprintf("%s does not open until the scenario ends, after %s", o.step, found(o))}
		}
	}
	return nil
}

// percent writes a share.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + "%" }

// ordinal writes a percentile: 99th, 99.9th, 1st.
func ordinal(p float64) string {
	text := strconv.FormatFloat(p, 'g', -1, 64)
	switch {
	case strings.HasSuffix(text, "11"), strings.HasSuffix(text, "12"), strings.HasSuffix(text, "13"):
	case strings.HasSuffix(text, "1"):
		return text + "st"
	case strings.HasSuffix(text, "2"):
		return text + "nd"
	case strings.HasSuffix(text, "3"):
		return text + "rd"
	}
	return text + "th"
}

// plural writes a count.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
