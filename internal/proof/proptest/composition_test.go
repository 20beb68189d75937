package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// agree compares the decisions of two flows, of the kinds that count.
func agree(name string, a, b []told, counts func(t told) bool) error {
	a = slices.DeleteFunc(slices.Clone(a), func(t told) bool { return !counts(t) })
	b = slices.DeleteFunc(slices.Clone(b), func(t told) bool { return !counts(t) })
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Errorf("%s: nothing, else %s", name, b[i].text())
		case i >= len(b):
			return fmt.Errorf("%s: %s, else nothing", name, a[i].text())
		case a[i].text() != b[i].text():
			return fmt.Errorf("%s: %s, else %s", name, a[i].text(), b[i].text())
		}
	}
	return nil
}

// L15: several limits, breaker and bulkhead are all or nothing: a call that is
// refused at once does not change any decision about other calls.
func L15(m machine, h history) error {
	p := drawPolicy(h.word(0)|0b111100, false)
	all := played(m, p, h)
	skip := map[int]bool{}
	first := map[int]bool{}
	for _, t := range all.said {
		if !first[t.call] && t.Kind == decision.Reject {
			skip[t.call] = true
		}
		first[t.call] = true
	}
	for range skip {
		m.meet()
	}
	without := newFlow(p)
	without.skip = skip
	without.play(h.steps())
	return agree("L15", all.said, without.said, func(t told) bool { return !skip[t.call] })
}

// M5: steps apply in the order of the policy: a breaker or a limit inside a retry
// sees every attempt, one outside it the call.
func M5(m machine, h history) error {
	attempts, row := 1+uint32(h.word(0)%4), 1+uint32(h.word(0)>>2%6)
	again := pipeline.Step{Name: "again", Config: retry.Config{Attempts: attempts}}
	guard := pipeline.Step{Name: "breaker", Config: breaker.Config{Window: breaker.Consecutive, Count: row, Probes: 1,
		Open: backoff.Config{Kind: backoff.Constant, Base: time.Hour}}}
	if h.word(1)%2 == 1 {
		guard = pipeline.Step{Name: "limit", Config: limiter.Config{Count: row, Period: 1000 * time.Hour}}
	}
	for _, inside := range [...]bool{true, false} {
		m.meet()
		steps := []pipeline.Step{guard, again}
		if inside {
			steps = []pipeline.Step{again, guard}
		}
		f := m.flows(pipeline.Policy{Steps: steps})
		started, calls := uint32(0), uint32(0)
		for refused := false; !refused && calls < 100; {
			f.begin(1)
			for f.driver.Done(f.handles[calls], drive.Result{Outcome: reducer.Fail}) {
			}
			f.collect()
			for _, t := range f.said {
				switch t.Kind {
				case decision.Admit:
					started++
				case decision.Reject:
					refused = true
				}
			}
			f.said = nil
			calls++
		}
		calls-- // the refused one
		if inside && started != row || !inside && calls != row {
			return fmt.Errorf("M5: inside %t: refused after %d attempts of %d calls; %d allowed, %d attempts each", inside, started, calls, row, attempts)
		}
	}
	return nil
}

// M5Once: a step above a retry is entered once. A breaker there measures the whole
// call, from the first attempt on, and a limiter keeps its permit when any attempt
// has run, whatever the state of the call when it is cancelled.
func M5Once(m machine, h history) error {
	w := h.word(0)
	gap, first, second := clock.Mark(1+w%8), clock.Mark(w>>3%8), clock.Mark(w>>6%8)
	again := pipeline.Step{Name: "again", Config: retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.Constant, Base: time.Duration(gap)}}}
	guard := pipeline.Step{Name: "breaker", Config: breaker.Config{Window: breaker.Calls, Count: 1, Minimum: 1, Probes: 1,
		FailureRate: reducer.Percent(100), SlowOver: time.Duration(1 + w>>9%24), SlowRate: reducer.Percent(100), Open: backoff.Config{Kind: backoff.Constant, Base: time.Hour}}}
	limit := pipeline.Step{Name: "limit", Config: limiter.Config{Count: 1, Period: 1000 * time.Hour}}
	f := m.flows(pipeline.Policy{Steps: []pipeline.Step{guard, again}})
	f.begin(1)
	f.pass(first)
	f.driver.Done(f.handles[0], drive.Result{Outcome: reducer.Fail})
	f.pass(first + gap + second)
	f.driver.Done(f.handles[0], drive.Result{Outcome: reducer.OK})
	f.begin(1)
	f.collect()
	m.meet()
	slow := first+gap+second > clock.Mark(pipeline.ConfigOf[breaker.Config](guard).SlowOver)
	if t := f.said[len(f.said)-1]; (t.Kind == decision.Reject) != slow {
		return fmt.Errorf("M5: after %d + %d + %d ns, of %s allowed: %s", first, gap, second, pipeline.ConfigOf[breaker.Config](guard).SlowOver, t.text())
	}
	f = m.flows(pipeline.Policy{Steps: []pipeline.Step{limit, again}})
	f.begin(1)
	f.driver.Done(f.handles[0], drive.Result{Outcome: reducer.Fail})
	f.pass(pick(w>>14, gap-1, gap))
	f.driver.Cancel(f.handles[0])
	f.begin(1)
	f.collect()
	if t := f.said[len(f.said)-1]; t.Kind != decision.Reject {
		return fmt.Errorf("M5: the permit of a call that ran was refunded: %s", t.text())
	}
	return nil
}

// unlimited are steps that refuse no call.
func unlimited() []pipeline.Step {
	return []pipeline.Step{
		{Name: "wide", Config: limiter.Config{Count: 1_000_000_000, Period: time.Second}},
		{Name: "roomy", Config: bulkhead.Config{Concurrent: bulkhead.MaxConcurrent}},
		{Name: "patient", Config: timeout.Config{After: 100 * 365 * 24 * time.Hour}},
	}
}

// M6: steps that refuse no call change nothing, whatever their position.
func M6(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	wrapped := pipeline.Policy{Steps: slices.Clone(p.Steps)}
	for i, step := range unlimited() {
		wrapped.Steps = slices.Insert(wrapped.Steps, int(h.word(1)>>(8*i)%uint64(len(wrapped.Steps)+1)), step)
	}
	a, b := played(flowing, p, h), played(m, wrapped, h)
	for range a.said {
		m.meet()
	}
	return agree("M6", a.said, b.said, func(told) bool { return true })
}

// M7: a step in shadow enforces nothing: all other decisions are the same as without
// it. It decides as if it were enforced: alone in a policy, without a queue, it
// reports exactly the calls that it would have refused or cut, and the first attempts
// that it would have retried.
func M7(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	i := int(h.word(1) % uint64(len(p.Steps)))
	shadowed := pipeline.Policy{Steps: slices.Clone(p.Steps)}
	shadowed.Steps[i].Shadow = true
	without := pipeline.Policy{Steps: slices.Delete(slices.Clone(p.Steps), i, i+1)}
	if len(without.Steps) == 0 {
		without.Steps = unlimited()[:1]
	}
	a, b := played(m, shadowed, h), played(flowing, without, h)
	for _, t := range a.said {
		if t.Shadow {
			m.meet()
		}
	}
	if err := agree("M7", a.said, b.said, func(t told) bool { return !t.Shadow }); err != nil {
		return err
	}
	alone := drawPolicy(h.word(0), false).Steps[i : i+1]
	inForce := played(flowing, pipeline.Policy{Steps: alone}, h)
	shadow := slices.Clone(alone)
	shadow[0].Shadow = true
	watching := played(m, pipeline.Policy{Steps: shadow}, h)
	for j := range watching.said {
		t := &watching.said[j]
		t.Last = t.Shadow && t.Kind == decision.Reject
		t.Shadow = false
	}
	return agree("M7", watching.said, inForce.said, func(t told) bool {
		return t.Kind == decision.Reject || t.Kind == decision.Timeout || t.Kind == decision.Retry && t.Attempt == 1
	})
}
