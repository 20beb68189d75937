package lint

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
)

// analysis is a policy with the values that most rules need.
type analysis struct {
	policy *document.Policy
	steps  []pipeline.Step
	rows   []*mechanism.Row // of the steps
	facts  []*mechanism.Facts
	docs   []*mechanism.Docs
	// retry is the index of the step that repeats calls in more than one attempt, -1 for none.
	retry    int
	repeated mechanism.Further // what it makes
	attempts uint32            // of a call; rounds beside a hedge
	// hedge is the index of the step that starts attempts beside others, -1 for none.
	hedge    int
	hedged   mechanism.Further // what it makes
	hedges   uint32            // of a round
	findings []Finding
}

func newAnalysis(p *document.Policy) *analysis {
	a := &analysis{policy: p, steps: p.Steps, retry: -1, attempts: 1, hedge: -1}
	for i := range a.steps {
		k := a.steps[i].Kind()
		a.rows, a.facts, a.docs = append(a.rows, mechanisms.Row(k)), append(a.facts, mechanisms.Facts(k)), append(a.docs, mechanisms.Docs(k))
	}
	a.steps = counted(p.Steps, a.adds)
	for i := range a.steps {
		if a.docs[i].Further == nil || a.steps[i].Shadow {
			continue
		}
		switch more := a.docs[i].Further(a.steps[i].Config); {
		case a.enforced(i, mechanism.Hedges):
			a.hedge, a.hedged, a.hedges = i, more, more.Attempts
		case more.Attempts > 1:
			a.retry, a.repeated, a.attempts = i, more, more.Attempts
		}
	}
	return a
}

// after returns the time after which a step cuts.
func (a *analysis) after(i int) time.Duration { return a.docs[i].Cut(a.steps[i].Config) }

// enforced reports whether a step has the traits and enforces what it decides.
func (a *analysis) enforced(i int, traits mechanism.Traits) bool {
	return a.rows[i].Traits.Has(traits) && !a.steps[i].Shadow
}

// queue returns how many calls may wait at a cell of a step, and for how long.
func (a *analysis) queue(i int) (places uint32, wait time.Duration) {
	s := &a.steps[i]
	if s.Shadow || a.facts[i].Queue == nil {
		return 0, 0
	}
	q := a.facts[i].Queue(s.Config)
	switch {
	case q.Places == 0:
		return 0, 0
	case q.Wait == 0:
		return q.Places, forever
	}
	return q.Places, q.Wait
}

// wait returns the longest that a caller waits in the queue of a step.
func (a *analysis) wait(i int) time.Duration {
	_, wait := a.queue(i)
	return wait
}

// between returns the longest time from the beginning of step from until the end of
// step to, whose own time is end. A retry counts as nothing.
func (a *analysis) between(from, to int, end time.Duration) time.Duration {
	t, _ := a.fold(from, to, end, 1, 0)
	return t
}

// fold adds up the times of the steps, from the innermost one outwards. Cut is the
// index of the last timeout that cut, -1 when a later step added time. With 0
// attempts it is the time of one attempt without retries.
func (a *analysis) fold(from, to int, end time.Duration, attempts uint32, backoffs time.Duration) (t time.Duration, cut int) {
	t, cut = end, -1
	for i := to - 1; i >= from; i-- {
		s := &a.steps[i]
		switch {
		case s.Shadow:
		case a.rows[i].Traits.Has(mechanism.Cuts) && a.after(i) < t:
			t, cut = a.after(i), i
		case i == a.retry && attempts > 0:
			if more := a.rounds(t, attempts, backoffs); more != t {
				t, cut = more, -1
			}
		case i == a.hedge && attempts > 0:
			if more := a.round(t); more != t {
				t, cut = more, -1
			}
		default:
			if wait := a.wait(i); wait > 0 {
				t, cut = mechanism.Plus(t, wait), -1
			}
		}
	}
	return t, cut
}

// round returns how long a round lasts whose attempts last t each. A hedge starts
// only while the attempt before it still runs.
func (a *analysis) round(t time.Duration) time.Duration {
	if a.hedged.Parallel {
		return t
	}
	later := t
	if after := a.hedged.After; after > 0 {
		later = min(t, mechanism.Plus(after, a.waits(a.hedge)))
	}
	return mechanism.Plus(t, mechanism.Times(later, a.hedges))
}

// waits returns the longest that an attempt waits at the steps below step i.
func (a *analysis) waits(i int) time.Duration {
	t, _ := a.fold(i+1, len(a.steps), 0, 0, 0)
	return t
}

// repeats returns how many attempts may follow from one passage of step i.
func (a *analysis) repeats(i int) uint64 {
	n := uint64(1)
	if i < a.retry {
		n *= uint64(a.attempts)
	}
	if i < a.hedge {
		n *= uint64(a.hedges) + 1
	}
	return n
}

// within cuts a time that begins at step i by the timeouts above it.
func (a *analysis) within(t time.Duration, i int) time.Duration {
	for j := range i {
		if a.enforced(j, mechanism.Cuts) {
			t = min(t, a.after(j))
		}
	}
	return t
}

// time makes a Time of a fold over all steps.
func (a *analysis) time(end time.Duration, attempts uint32, backoffs time.Duration) Time {
	t, timeout := a.fold(0, len(a.steps), end, attempts, backoffs)
	longest := Time{Longest: bounded(t)}
	if timeout >= 0 {
		longest.Timeout = a.steps[timeout].Name
	}
	return longest
}

// rounds returns how long the retry lasts whose attempts last t each. The last one
// starts before max_elapsed.
func (a *analysis) rounds(t time.Duration, attempts uint32, backoffs time.Duration) time.Duration {
	all := mechanism.Plus(mechanism.Times(t, attempts), backoffs)
	if most := a.repeated.Elapsed; most > 0 {
		all = min(all, mechanism.Plus(t, most))
	}
	return all
}

// asksFreely reports that neither a timeout nor the retry bounds an answer's
// retry_after.
func (a *analysis) asksFreely() bool {
	return a.retry >= 0 && a.within(forever, a.retry) == forever && a.repeated.Elapsed == 0
}

// backoffs returns the longest that a call sleeps between its attempts.
func (a *analysis) backoffs() time.Duration {
	if a.retry < 0 {
		return 0
	}
	total := time.Duration(0)
	for _, delay := range a.backoff().DelaysBy(a.attempts-1, math.MaxUint64) {
		total = mechanism.Plus(total, delay)
	}
	return total
}

// sleeps returns the longest that a call sleeps between its attempts and after refusals
// that it waits for: these name any time.
func (a *analysis) sleeps() time.Duration {
	if a.repeated.WaitsRefused {
		return forever
	}
	return a.backoffs()
}

// setting returns the field of the setting of a type that a step has, nil for none.
func (a *analysis) setting(i int, of mechanism.Type) any {
	for k := range a.rows[i].Settings {
		if s := &a.rows[i].Settings[k]; s.Type == of {
			return a.docs[i].Draft(a.steps[i].Config).Field(s.Name)
		}
	}
	return nil
}

// backoff returns the delays between the attempts of the retry.
func (a *analysis) backoff() backoff.Config {
	return *a.setting(a.retry, mechanism.Backoff).(*backoff.Config)
}

// budget returns the budget of the retry, and false where it has none.
func (a *analysis) budget() (budget.Config, bool) {
	c := *a.setting(a.retry, mechanism.Budget).(*budget.Config)
	return c, c != budget.Config{}
}

// cost returns the attribute that has the cost of a call at a step, empty for none.
func (a *analysis) cost(i int) string {
	if field, ok := a.setting(i, mechanism.Cost).(mechanism.CostField); ok {
		return *field.Attribute
	}
	return ""
}
