package lint_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// sets of attributes for which bounds are compared.
var sets = [][]string{{}, {"key"}, {"ip"}, {"ip", "key"}}

// history is the history of one call.
type history struct {
	key, ip       string
	begun, since  clock.Mark    // since: of the present wait
	wait, longest time.Duration // of this attempt, of any
	waits         time.Duration // of all attempts
	held          time.Duration
	attempts      uint32
	waiting       bool
	at            int // the step at which it waits
	running       bool
	over          bool
}

// of returns the values that the call has of the attributes.
func (h *history) of(set []string) string {
	var values strings.Builder
	for _, attribute := range set {
		values.WriteString(h.value(attribute) + "/")
	}
	return values.String()
}

func (h *history) value(attribute string) string {
	if attribute == "key" {
		return h.key
	}
	return h.ip
}

// world is a driver with callers that take as many permits as they can.
type world struct {
	r      *rand.Rand
	driver *drive.Driver
	keys   drive.Keys
	calls  map[decision.Handle]*history
	live   []decision.Handle
	past   []*history
	starts [4]map[string][]clock.Mark // by set, then by values
	most   [4]map[string]uint64       // that ran at once
	// Events that some findings exclude.
	refused map[string]bool   // steps that refused a call or let it wait
	queued  map[string]uint64 // the most callers that waited at a cell of a step
	spent   bool              // a budget refused a retry
}

func newWorld(r *rand.Rand, d *drive.Driver) *world {
	w := &world{r: r, driver: d, calls: map[decision.Handle]*history{}, refused: map[string]bool{}, queued: map[string]uint64{}}
	for i := range sets {
		w.starts[i], w.most[i] = map[string][]clock.Mark{}, map[string]uint64{}
	}
	return w
}

// act moves time or not, then some calls begin and some end.
func (w *world) act() {
	now := w.driver.Now().Add(time.Duration(max(0, w.r.IntN(6)-2)))
	if w.r.IntN(40) == 0 {
		now = now.Add(time.Duration(w.r.IntN(60)))
	}
	for at := w.driver.Now(); at < now; at++ {
		w.driver.Advance(at + 1)
		w.follow()
	}
	for range w.r.IntN(4) {
		h := &history{key: string(rune('a' + w.r.IntN(2))), ip: string(rune('x' + w.r.IntN(2))), begun: now}
		request := drive.Request{Cost: 1, Deadline: -1}
		request.Keys, request.Missing = w.keys.Of(w.driver.Plan(), h.value, w.driver.Uses)
		handle := w.driver.Begin(&request)
		w.calls[handle], w.live = h, append(w.live, handle)
		w.follow()
	}
	for _, handle := range slices.Clone(w.live) {
		if h := w.calls[handle]; h != nil && w.r.IntN(4) == 0 {
			w.end(handle)
			w.follow()
		}
	}
}

// end ends an attempt in some way, or cancels the call.
func (w *world) end(handle decision.Handle) {
	if w.r.IntN(6) == 0 {
		w.driver.Cancel(handle)
		return
	}
	outcome := []reducer.Outcome{reducer.OK, reducer.Fail, reducer.Fail, reducer.Throttle, reducer.Ignore}[w.r.IntN(5)]
	w.driver.Done(handle, drive.Result{Outcome: outcome, Told: w.r.IntN(10) == 0, RetryAfter: time.Duration(w.r.IntN(9))})
}

// follow records the decisions of the driver.
func (w *world) follow() {
	for i := range w.driver.Decisions {
		d := &w.driver.Decisions[i]
		if h := w.calls[d.Call]; h != nil && !d.Shadow {
			w.note(d, h)
		}
	}
	w.driver.Decisions = w.driver.Decisions[:0]
	w.live = slices.DeleteFunc(w.live, func(handle decision.Handle) bool {
		h := w.calls[handle]
		if h.over {
			delete(w.calls, handle)
			w.past = append(w.past, h)
		}
		return h.over
	})
	w.count()
	for i, set := range sets {
		running := map[string]uint64{}
		for _, handle := range w.live {
			if h := w.calls[handle]; h.running {
				running[h.of(set)]++
			}
		}
		for values, n := range running {
			w.most[i][values] = max(w.most[i][values], n)
		}
	}
}

// count counts the waiters at each cell.
func (w *world) count() {
	type cell struct {
		step   int
		values string
	}
	waiting := map[cell]uint64{}
	for _, handle := range w.live {
		if h := w.calls[handle]; h.waiting {
			at := cell{h.at, h.of(w.driver.Plan().Step(h.at).Per)}
			waiting[at]++
			name := w.driver.Plan().StepName(h.at)
			w.queued[name] = max(w.queued[name], waiting[at])
		}
	}
}

func (w *world) note(d *decision.Decision, h *history) {
	if h.waiting {
		h.wait += d.At.Sub(h.since)
		h.waits += d.At.Sub(h.since)
		h.waiting = false
	}
	switch d.Kind {
	case decision.Wait:
		h.waiting, h.since, h.at = true, d.At, d.Index
		w.refused[d.Step] = true
	case decision.Reject, decision.Expire:
		w.refused[d.Step] = true
	case decision.Admit:
		h.longest, h.wait = max(h.longest, h.wait), 0
		h.running, h.attempts = true, d.Attempt
		for i, set := range sets {
			w.starts[i][h.of(set)] = append(w.starts[i][h.of(set)], d.At)
		}
	case decision.Retry, decision.Timeout, decision.End:
		h.running = false
	}
	w.spent = w.spent || d.Kind == decision.End && d.Reason == reducer.ReasonBudget
	if d.Last {
		h.over, h.held = true, d.At.Sub(h.begun)
	}
}

// check compares the world with the results of lint for its policy.
func (w *world) check(p *document.Policy, seen *tally) string {
	said := lint.CheckPolicy(p)
	if wrong := w.checkFindings(p, said.Findings, seen); wrong != "" {
		return wrong
	}
	g := said.Guarantees
	for i, set := range sets {
		for _, window := range []time.Duration{0, 1, 2, 3, 5, 8, 12, 17, 25, 40, 100} {
			most, ok := lint.Started(p, set, window)
			for values, starts := range w.starts[i] {
				if got := busiest(starts, window); ok && got > most {
					return fmt.Sprintf("%d started in %s for %v %s; at most %d", got, window, set, values, most)
				} else if ok && got == most && window > 1 {
					seen.started++
				}
			}
		}
		for _, c := range g.Concurrent {
			if c.Most == nil || !within(c.Per, set) {
				continue
			}
			for values, n := range w.most[i] {
				if n > *c.Most {
					return fmt.Sprintf("%d at once for %v %s; at most %d", n, set, values, *c.Most)
				} else if n == *c.Most {
					seen.running++
				}
			}
		}
	}
	for _, h := range w.past {
		for _, wrong := range []string{
			over("wait before an attempt", h.longest, g.WaitBeforeAttempt, &seen.wait),
			over("waits", h.waits, g.WaitInAll, &seen.waits),
			over("held", h.held, g.Held, &seen.held),
		} {
			if wrong != "" {
				return wrong
			}
		}
		if h.attempts > g.Attempts.Most {
			return fmt.Sprintf("%d attempts; at most %d", h.attempts, g.Attempts.Most)
		} else if h.attempts == g.Attempts.Most && h.attempts > 1 {
			seen.attempts++
		}
	}
	return ""
}

// checkFindings checks that events which findings exclude did not happen.
func (w *world) checkFindings(p *document.Policy, findings []lint.Finding, seen *tally) string {
	for i := range findings {
		switch f := &findings[i]; f.Rule {
		case lint.LimitNeverBinds:
			if w.refused[f.Step] {
				return f.Step + " refused: " + f.Message
			}
			seen.neverBinds++
		case lint.BudgetNeverBinds:
			if w.spent {
				return "a budget refused: " + f.Message
			}
			seen.granted++
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		c, ok := s.Config.(limiter.Config)
		if !ok || s.Shadow {
			continue
		}
		if most, ok := c.Servable(); ok && w.queued[s.Name] > most {
			return fmt.Sprintf("%d wait at %s; at most %d can be served", w.queued[s.Name], s.Name, most)
		} else if ok && w.queued[s.Name] == most {
			seen.queued++
		}
	}
	return ""
}

// within reports whether a set has all of the attributes.
func within(per, set []string) bool {
	return !slices.ContainsFunc(per, func(attribute string) bool { return !slices.Contains(set, attribute) })
}

// over says that a time is longer than its bound.
func over(what string, got time.Duration, most lint.Time, reached *int) string {
	if most.Longest == nil || most.RetryAfter {
		return ""
	}
	longest := time.Duration(*most.Longest)
	if got == longest && got > 0 {
		*reached++
	}
	if got <= longest {
		return ""
	}
	return fmt.Sprintf("%s %s; at most %s", what, got, longest)
}

// busiest returns the most marks in any window with both ends included.
func busiest(marks []clock.Mark, window time.Duration) uint64 {
	most, from := 0, 0
	for to := range marks {
		for marks[to].Sub(marks[from]) > window {
			from++
		}
		most = max(most, to-from+1)
	}
	return uint64(most)
}

// tally counts how often a bound was reached, so that no check is empty.
type tally struct{ started, running, attempts, wait, waits, held, neverBinds, granted, queued int }

func (s *tally) check(t *testing.T) {
	t.Helper()
	for what, n := range map[string]int{"limit that never binds": s.neverBinds, "budget that never binds": s.granted, "queue": s.queued} {
		if n < 10 {
			t.Errorf("%s: only %d times", what, n)
		}
	}
	for what, n := range map[string]int{
		"started": s.started, "running": s.running, "attempts": s.attempts, "wait": s.wait, "waits": s.waits, "held": s.held,
	} {
		if n < 100 {
			t.Errorf("%s: only %d times at the bound", what, n)
		}
	}
	t.Logf("at the bound: %+v", *s)
}

func show(p *document.Policy) string {
	var text strings.Builder
	for _, s := range lint.CheckPolicy(p).Steps {
		fmt.Fprintf(&text, "%s: %s\n", s.Name, s.Settings)
	}
	return text.String()
}
