package lint

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/policy/document"
)

// analysis is a policy with the values that most rules need.
type analysis struct {
	policy *document.Policy
	steps  []pipeline.Step
	rows   []*mechanism.Row  // of the steps
	docs   []*mechanism.Docs // of the steps
	// retry is the index of the retry that makes more than one attempt, -1 for none.
	retry    int
	attempts uint32 // of a call; rounds beside a hedge
	// hedge is the index of the hedge that starts further attempts, -1 for none.
	hedge    int
	hedges   uint32 // of a round
	findings []Finding
}

func newAnalysis(p *document.Policy) *analysis {
	a := &analysis{policy: p, steps: p.Steps, retry: -1, attempts: 1, hedge: -1}
	for i := range a.steps {
		k := a.steps[i].Kind()
		a.rows, a.docs = append(a.rows, mechanisms.Row(k)), append(a.docs, mechanisms.Docs(k))
	}
	a.steps = counted(p.Steps, a.adds)
	for i := range a.steps {
		if a.enforced(i, mechanism.Hedges) {
			a.hedge, a.hedges = i, pipeline.ConfigOf[hedge.Config](a.steps[i]).Max
		}
		if attempts := pipeline.ConfigOf[retry.Config](a.steps[i]).Attempts; a.enforced(i, mechanism.Repeats) && attempts > 1 {
			a.retry, a.attempts = i, attempts
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
	if s.Shadow || a.rows[i].Queue == nil {
		return 0, 0
	}
	q := a.rows[i].Queue(s.Config)
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
				t, cut = plus(t, wait), -1
			}
		}
	}
	return t, cut
}

// round returns how long a round lasts whose attempts last t each. A hedge starts
// only while the attempt before it still runs.
func (a *analysis) round(t time.Duration) time.Duration {
	c := pipeline.ConfigOf[hedge.Config](a.steps[a.hedge])
	if c.Parallel {
		return t
	}
	later := t
	if c.After > 0 {
		later = min(t, plus(c.After, a.waits(a.hedge)))
	}
	return plus(t, times(later, a.hedges))
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
	all := plus(times(t, attempts), backoffs)
	if most := a.maxElapsed(); most > 0 {
		all = min(all, plus(t, most))
	}
	return all
}

// maxElapsed returns the longest time in which the attempts of the retry start, 0 for
// none.
func (a *analysis) maxElapsed() time.Duration {
	if a.retry < 0 {
		return 0
	}
	return pipeline.ConfigOf[retry.Config](a.steps[a.retry]).MaxElapsed
}

// asksFreely reports that neither a timeout nor the retry bounds an answer's
// retry_after.
func (a *analysis) asksFreely() bool {
	return a.retry >= 0 && a.within(forever, a.retry) == forever && a.maxElapsed() == 0
}

// backoffs returns the longest that a call sleeps between its attempts.
func (a *analysis) backoffs() time.Duration {
	if a.retry < 0 {
		return 0
	}
	total := time.Duration(0)
	for _, delay := range delays(pipeline.ConfigOf[retry.Config](a.steps[a.retry]).Backoff, a.attempts-1, math.MaxUint64) {
		total = plus(total, delay)
	}
	return total
}

// sleeps returns the longest that a call sleeps between its attempts and after refusals
// that it waits for: these name any time.
func (a *analysis) sleeps() time.Duration {
	if a.waitsForRefusals() {
		return forever
	}
	return a.backoffs()
}

// waitsForRefusals reports whether the retry waits for refusals.
func (a *analysis) waitsForRefusals() bool {
	return a.retry >= 0 && pipeline.ConfigOf[retry.Config](a.steps[a.retry]).Refusals == retry.WaitRefused
}

// longestDelay returns the longest delay after a first attempt.
func longestDelay(c backoff.Config) time.Duration {
	longest := time.Duration(0)
	for _, delay := range delays(c, 1, math.MaxUint64) {
		longest = delay
	}
	return longest
}

// delays returns the delays after the first n attempts with one and the same
// random word: 0 gives the shortest, the greatest word the longest.
func delays(c backoff.Config, n uint32, word uint64) []time.Duration {
	m, err := backoff.New(c)
	if err != nil {
		// A parsed document has no such backoff.
		return nil
	}
	list := make([]time.Duration, 0, n)
	before := time.Duration(0)
	for k := range n {
		before = m.Delay(k+1, before, word)
		list = append(list, before)
	}
	return list
}
