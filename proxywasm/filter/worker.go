package filter

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/reducer"
)

// crowd is what the engines have in common whose policies share mechanisms, or one engine
// alone.
type crowd struct {
	keys    drive.Keys
	streams []*stream     // by the slot of the call
	first   *drive.Driver // nil before the first engine
}

// worker is the engine with cells of its own: the driver of the core.
type worker struct {
	*crowd
	policy *policy
	driver *drive.Driver
	used   func(uint32) bool
	now    func() clock.Mark
	// parked are the streams that wait, or were decided since the last tick: their slots
	// may have other calls by then.
	parked  []*stream
	metrics *metrics
}

func newWorker(p *policy, with *crowd, now func() clock.Mark, m *metrics) *worker {
	w := &worker{crowd: with, policy: p, now: now, metrics: m}
	if with.first == nil {
		w.driver = drive.New(p.plan, 1)
		with.first = w.driver
	} else {
		w.driver = with.first.Join(p.plan, 1)
	}
	w.used = w.driver.Uses
	return w
}

func (w *worker) begin(s *stream, q *request) verdict {
	r := drive.Request{Cost: q.cost, Deadline: -1}
	if w.policy.plan.Keyed() != 0 {
		r.Keys, r.Missing = w.keys.Of(w.policy.plan, q.find, w.used)
	}
	w.keys.Price(&r, w.policy.plan, q.find)
	w.driver.Advance(w.now())
	w.read()
	s.keys, s.omits = r.Keys, w.policy.plan.Unasked(r.Missing)
	if r.Conditions != nil {
		s.omits |= r.Conditions.Omits()
	}
	s.handle = w.driver.Begin(&r)
	slot := s.handle.Slot()
	for uint32(len(w.streams)) <= slot {
		w.streams = append(w.streams, nil)
	}
	w.streams[slot] = s
	s.decided = verdict{}
	w.read()
	if s.decided.what == waits {
		w.parked = append(w.parked, s)
		s.parked = true
	}
	return s.decided
}

// read takes over what the driver has decided, about streams of other policies, too, whose
// engines resume them.
func (w *worker) read() {
	for i := range w.driver.Decisions {
		d := &w.driver.Decisions[i]
		s := w.streams[d.Call.Slot()]
		if s != nil && s.handle != d.Call {
			s = nil
		}
		policy := w.policy
		if s != nil {
			policy = s.policy
		}
		w.metrics.decided(policy, d)
		if v, ok := verdictOf(d); ok && s != nil {
			s.decided = v
		}
	}
	w.driver.Decisions = w.driver.Decisions[:0]
}

func (w *worker) vote(s *stream, o reducer.Outcome, after time.Duration) {
	w.driver.Advance(w.now())
	w.driver.Vote(s.handle, o, after)
	w.read()
}

func (w *worker) end(s *stream, o reducer.Outcome) {
	left := s.parked
	if left {
		s.parked = false
		w.parked = slices.DeleteFunc(w.parked, func(other *stream) bool { return other == s })
	}
	if s.decided.what != refused {
		if left || !w.policy.instant {
			w.driver.Advance(w.now())
		}
		if !w.driver.Done(s.handle, drive.Result{Outcome: o}) {
			w.driver.Cancel(s.handle)
		}
		w.read()
	}
	if slot := s.handle.Slot(); w.streams[slot] == s {
		w.streams[slot] = nil
	}
	s.handle = decision.Handle{}
}

func (w *worker) tick(decided func(uint32, verdict)) {
	w.driver.Advance(w.now())
	w.read()
	for _, s := range slices.Clone(w.parked) {
		if s.decided.what != waits {
			s.parked = false
			w.parked = slices.DeleteFunc(w.parked, func(other *stream) bool { return other == s })
			decided(s.id, s.decided)
		}
	}
}

func (w *worker) waiting() int { return len(w.parked) }

// every returns that nothing has to be renewed: places without a stream are given back.
func (w *worker) every() time.Duration { return 1<<63 - 1 }

func (w *worker) room(s *stream, step int) room {
	return roomOf(w.policy, step, func(cost uint32) (reducer.Answer, time.Duration) {
		answer, c := w.driver.Ask(step, s.keys[step], reducer.Action{Kind: reducer.Peek, Cost: cost})
		if c == nil {
			return reducer.Answer{Free: w.policy.burst(step)}, 0
		}
		after, _ := answer.RetryAfter(w.driver.Now())
		return answer, after
	})
}

func (w *worker) state(s *stream, step int) string {
	_, c := w.driver.Ask(step, s.keys[step], reducer.Action{Kind: reducer.Peek})
	if c == nil {
		return ""
	}
	return cell.Text(c, w.driver.Now())
}

func (w *worker) count(m *metrics) {
	plan := w.policy.plan
	steps(plan.Keyed(), func(i int) {
		c := w.driver.Counts(i)
		m.counts(w.policy, i, &shared.Counts{Evictions: c.Evictions, Shared: c.Shared, Unblocked: c.Unblocked})
	})
}
