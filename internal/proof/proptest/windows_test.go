package proptest

import (
	"fmt"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of a breaker's window.

// tally recounts the outcomes of a closed breaker from a list of all of them.
type tally struct {
	config breaker.Config
	origin clock.Mark
	list   []vote
}

type vote struct {
	at           clock.Mark
	failed, slow bool
}

// count returns what the window holds at the mark of the last outcome.
func (t *tally) count() (total, failed, slow uint32) {
	bucket := func(at clock.Mark) int64 { return int64(at-t.origin) * int64(t.config.Count) / int64(t.config.Span) }
	for i, v := range t.list {
		switch t.config.Window {
		case breaker.Calls:
			if len(t.list)-i > int(t.config.Count) {
				continue
			}
		case breaker.Time:
			if bucket(t.list[len(t.list)-1].at)-bucket(v.at) >= int64(t.config.Count) {
				continue
			}
		case breaker.Consecutive:
			if forget := t.config.Forget; forget > 0 && i > 0 && v.at.Sub(t.list[i-1].at) >= forget {
				failed = 0
			}
			if !v.failed {
				failed = 0
				continue
			}
		}
		total++
		if v.failed {
			failed++
		}
		if v.slow {
			slow++
		}
	}
	return total, failed, slow
}

// opens reports whether the counts open the breaker, by its configuration.
func (t *tally) opens() bool {
	total, failed, slow := t.count()
	c := t.config
	if c.Window == breaker.Consecutive {
		return failed >= c.Count
	}
	whole := uint64(reducer.Whole)
	return total >= c.Minimum && (uint64(failed)*whole >= uint64(c.FailureRate.Millionths())*uint64(total) ||
		c.SlowRate.Positive() && uint64(slow)*whole >= uint64(c.SlowRate.Millionths())*uint64(total))
}

// recounted plays a history and calls check after every outcome that counts in
// a closed breaker, with the recount.
func recounted(m machine, h history, check func(t *tally, now breaker.Core) error) error {
	r, c := rigged(m, h)
	t := tally{config: c.breaker}
	for _, w := range h.steps() {
		before := len(r.log)
		was := *r.subject.Look().breaker
		r.next(w)
		for _, x := range r.log[before:] {
			if was.Generation == 0 && x.action.Kind != reducer.Tick && x.action.Kind != reducer.Peek {
				was.Generation, t.origin = 1, x.at
			}
			counts := x.action.Kind == reducer.Record && x.action.Generation == uint64(was.Generation) && was.Mode == breaker.Closed
			failed := x.action.Outcome == reducer.Fail || x.action.Outcome == reducer.Timeout
			if counts && (failed || x.action.Outcome == reducer.OK) {
				slow := c.breaker.SlowOver > 0 && x.at.Sub(x.action.Mark) > c.breaker.SlowOver
				t.list = append(t.list, vote{x.at, failed, slow})
				if err := check(&t, *r.subject.Look().breaker); err != nil {
					return fmt.Errorf("%w, after %s", err, x)
				}
			}
			for _, e := range x.out {
				was.Mode, was.Generation = breaker.Mode(e.Permit.ID), uint32(e.Permit.Generation)
				t.origin, t.list = e.Permit.Mark, nil
			}
		}
	}
	return r.err
}

// B5: below the minimum a breaker never opens; at the exact threshold it does.
func B5(m machine, h history) error {
	return recounted(m, h, func(t *tally, now breaker.Core) error {
		if t.opens() {
			m.meet()
		}
		if total, failed, slow := t.count(); (now.Mode == breaker.Open) != t.opens() {
			return fmt.Errorf("B5: %s with %d failed and %d slow of %d", now.Mode, failed, slow, total)
		}
		return nil
	})
}

// B8: the sums of the window equal a naive recount.
func B8(m machine, h history) error {
	return recounted(m, h, func(t *tally, now breaker.Core) error {
		if now.Mode != breaker.Closed {
			return nil
		}
		m.meet()
		total, failed, slow := t.count()
		if now.Failed != failed || t.config.Window != breaker.Consecutive && (now.Total != total || now.Slow != slow) {
			return fmt.Errorf("B8: %d failed, %d slow of %d, recounted %d, %d of %d", now.Failed, now.Slow, now.Total, failed, slow, total)
		}
		return nil
	})
}
