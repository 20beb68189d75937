package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// M2: a deadline keeps what finished before it and reports the cut. Before its mark
// the decisions are those without it. At its mark the call receives the cut and its
// end, a timeout, with the attempts that had started. After it the decisions about
// other calls are as if the caller had cancelled at that mark, except for the outcome
// of an attempt that ran.
func M2(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	after := time.Duration(1 + h.word(1)%40)
	steps := h.steps()
	half := len(steps) / 2
	cut, free, left := m.flows(p), m.flows(p), newFlow(p)
	var x int
	for _, f := range [...]*flow{cut, free, left} {
		f.play(steps[:half])
		x = len(f.handles)
	}
	cut.deadlines = map[int]time.Duration{x: after}
	at := cut.driver.Now().Add(after)
	for _, f := range [...]*flow{cut, free, left} {
		f.begin(1)
	}
	cut.play(steps[half:])
	free.play(steps[half:])
	done := slices.IndexFunc(cut.said, func(t told) bool { return t.call == x && t.Kind == decision.Timeout && t.Step == pipeline.Deadline })
	if slices.ContainsFunc(cut.said, func(t told) bool { return t.call == x && t.Reason == reducer.ReasonDeadline }) {
		return nil // no attempt began after which the deadline would have passed: R5
	}
	for _, f := range [...]*flow{cut, free} {
		for j := range f.said {
			if t := &f.said[j]; t.call == x && t.Kind == decision.Reject {
				t.RetryAfter = 0 // it satisfies the deadline, too
			}
		}
	}
	if err := agree("M2: before the deadline", cut.said, free.said, func(t told) bool { return t.At < at }); err != nil || done < 0 {
		return err
	}
	started := uint32(0)
	for _, t := range cut.said[:done] {
		if t.call == x && t.Kind == decision.Admit {
			started++
		}
	}
	m.meet()
	if end := cut.said[done+1]; cut.said[done].At != at || end.call != x || !end.Last || end.Outcome != reducer.Timeout || end.Attempt != started {
		return fmt.Errorf("M2: cut at %s with %d attempts started: %s", cut.said[done].At, started, end.text())
	}
	if ran := started > 0 && !sleeps(cut.said[:done], x); ran && votes(p) {
		return nil
	}
	if !left.gives(steps[half:], x, at) {
		return nil
	}
	return agree("M2: after the deadline", cut.said, left.said, func(t told) bool { return t.At >= at && t.call != x })
}

// sleeps reports whether the last decision about a call is a retry or a wait: no
// attempt of it runs.
func sleeps(said []told, x int) (is bool) {
	for _, t := range said {
		if t.call == x && !t.Shadow {
			is = t.Kind == decision.Retry || t.Kind == decision.Wait
		}
	}
	return is
}

// votes reports whether a policy has a breaker.
func votes(p pipeline.Policy) bool {
	return slices.ContainsFunc(p.Steps, func(s pipeline.Step) bool {
		return s.Kind() == mechanism.Breaker && pipeline.ConfigOf[breaker.Config](s) != (breaker.Config{})
	})
}

// gives plays words and cancels a call at the mark. It returns false when something
// else is due at the mark, because the order of the two is not fixed.
func (f *flow) gives(steps history, x int, at clock.Mark) bool {
	given := false
	give := func() bool {
		before := len(f.said)
		f.pass(at)
		if len(f.said) > before && f.said[len(f.said)-1].At == at {
			return false
		}
		f.driver.Cancel(f.handles[x])
		f.collect()
		given = true
		return true
	}
	for _, w := range steps {
		to := f.driver.Now() + pause(w)
		if !given && to >= at && !give() {
			return false
		}
		f.pass(to)
		f.happen(w)
	}
	return given
}

// M3: a failure stays a failure. Where a fallback replaces it, the refusal, the end
// of the wait or the failed end says so. A success, an error of the caller and a
// cancelled call get no fallback, and all other decisions are the same as without it.
func M3(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	with := p
	with.Fallback = &fallback.Config{Body: "try later"}
	a, b := played(m, with, h), played(flowing, p, h)
	if err := agree("M3", a.said, b.said, func(told) bool { return true }); err != nil {
		return err
	}
	for _, t := range a.said {
		covered := t.Kind == decision.Reject || t.Kind == decision.Expire ||
			t.Kind == decision.End && (t.Outcome == reducer.Fail || t.Outcome == reducer.Throttle || t.Outcome == reducer.Timeout)
		if covered = covered && t.Last; covered {
			m.meet()
		}
		if t.Fallback != covered {
			return fmt.Errorf("M3: fallback %t: %s", t.Fallback, t.text())
		}
	}
	return nil
}
