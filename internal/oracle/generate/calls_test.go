package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
)

// TestCalls checks of all calls what holds whatever the policy is: each has one
// last line, as many attempts as it says, no more hedges in a round than `max`,
// a winner that was admitted, and a line for the end of every attempt of a round
// that continues.
func TestCalls(t *testing.T) {
	hedged := 0
	for seed := range uint64(cases) {
		p, events := generated(seed)
		h := index(p.Steps, mechanism.Hedge)
		if h < 0 || slices.ContainsFunc(events, func(e oracle.Event) bool { return e.Op == "configure" }) {
			continue
		}
		lines, err := oracle.Run(p, seed, events)
		if err != nil {
			t.Fatal(seed, err)
		}
		most := int(pipeline.ConfigOf[hedge.Config](p.Steps[h]).Max)
		type call struct {
			admitted map[int]bool
			live     map[int]bool
			hedges   int
		}
		calls := map[string]*call{}
		for _, line := range lines {
			l := read(line)
			id := string(l.ID)
			c := calls[id]
			if c == nil {
				c = &call{admitted: map[int]bool{}, live: map[int]bool{}}
				calls[id] = c
			}
			bad := false
			switch l.Decision {
			case "admit":
				bad = c.admitted[l.Attempt]
				c.admitted[l.Attempt], c.live[l.Attempt] = true, true
			case "wait":
				if !l.Shadow {
					c.live[l.Attempt] = true
				}
			case "hedge":
				if c.hedges++; l.Attempt > 1 && !l.Shadow {
					c.live[l.Attempt] = true
				}
				bad = c.hedges > most
				hedged++
			case "failed", "cancel", "drop":
				bad = !c.live[l.Attempt]
				delete(c.live, l.Attempt)
			case "retry":
				ran := l.Reason == "fail" || l.Reason == "throttle" || l.Reason == "timeout"
				bad = ran && !c.live[l.Attempt] && !l.Shadow
				if !l.Shadow {
					c.live, c.hedges = map[int]bool{}, 0
				}
			case "end":
				won := l.Outcome == "ok" || l.Outcome == "ignore"
				// Where the hedge does not apply to a call, it is a call without one.
				some := len(p.Allow) == 0 && len(p.Steps[h].When) == 0
				bad = l.Attempt != len(c.admitted) || (l.Won > 0) != won && (some || l.Won > 0) || l.Won > 0 && (!c.admitted[l.Won] || len(c.live) != 1)
				delete(calls, id)
			case "reject", "expire":
				if !l.Shadow {
					delete(calls, id)
				}
			case "stale":
				if len(c.live) == 0 && len(c.admitted) == 0 && c.hedges == 0 {
					delete(calls, id)
				}
			}
			if bad {
				t.Fatalf("seed %d: %s\n%s\n%s", seed, line, PolicyJSON(p), strings.Join(lines, "\n"))
			}
		}
	}
	if hedged < 1000 {
		t.Errorf("only %d hedges", hedged)
	}
}

// TestHedgeInShadow checks that a hedge in shadow changes nothing but the lines
// that say so, the leases of the steps below it included.
func TestHedgeInShadow(t *testing.T) {
	told := 0
	for seed := range uint64(cases) {
		p, events := generated(seed)
		h := index(p.Steps, mechanism.Hedge)
		if h < 0 || len(p.Steps) == 1 || slices.ContainsFunc(events, func(e oracle.Event) bool { return e.Op == "configure" }) {
			continue
		}
		for i := range p.Steps {
			p.Steps[i].Name = "s" + strconv.Itoa(i) // which stay without the hedge
		}
		p.Steps[h].Shadow = true
		bare := p
		bare.Steps = slices.Delete(slices.Clone(p.Steps), h, h+1)
		with, _ := oracle.Run(p, seed, events)
		without, err := oracle.Run(bare, seed, events)
		if err != nil {
			continue // another call has an id that is live without the hedge's refusals
		}
		var rest []string
		for _, line := range with {
			l := read(line)
			if l.Step == p.Steps[h].Name && l.Shadow {
				told++
				continue
			}
			rest = append(rest, strings.Replace(line, fmt.Sprintf(`,"won":%d`, l.Won), "", 1))
		}
		if got, want := strings.Join(rest, "\n"), strings.Join(without, "\n"); got != want {
			t.Fatalf("seed %d: %s\n%s\ngot\n%s\nwant\n%s", seed, PolicyJSON(p), EventsJSON(events), got, want)
		}
	}
	if told < 500 {
		t.Errorf("only %d lines", told)
	}
}
