package engine

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// reasons is how many reasons there may be.
const reasons = int(reducer.ReasonBlocked) + 1

// clientStats counts the calls of a client that arrive in the counted time.
type clientStats struct {
	calls, ok, failed, refused, attempts, repeats uint64
	// refusals by the step, 0 for the deadline of the call, and the reason.
	refusals [pipeline.MaxSteps + 1][reasons]uint64
	lines    [pipeline.MaxSteps + 1][reasons]int // in the timeline, from 1
	steps    [pipeline.MaxSteps + 1]string
	latency  histogram
	worst    Worst
	keys     []keyStats
}

type keyStats struct{ calls, ok uint64 }

// called counts the arrival of a call.
func (c *client) called(one *call) {
	one.part = c.sim.part
	c.line.Calls[one.part]++
	repeated := one.user != nil && one.user.repeats > 0
	if !repeated {
		c.first[one.part]++
	}
	if !one.counted {
		return
	}
	c.stats.calls++
	if repeated {
		c.stats.repeats++
	}
	if one.key >= 0 {
		if c.stats.keys == nil {
			c.stats.keys = make([]keyStats, c.config.Key.Count)
		}
		c.stats.keys[one.key].calls++
	}
}

// count counts the end of a call.
func (c *client) count(one *call, e *end) {
	st, part := &c.stats, c.sim.part
	switch {
	case e.refused:
		c.line.Refused[part]++
		c.refusal(one, e)
	case e.outcome == reducer.OK:
		c.line.OK[part]++
		c.line.Good[one.part]++
		took := c.sim.now.Sub(one.began)
		c.line.Latency[part].add(took)
		if !one.counted {
			return
		}
		st.ok++
		st.latency.add(took)
		if one.key >= 0 {
			st.keys[one.key].ok++
		}
		if took > st.worst.Latency || st.worst.Number == 0 {
			st.worst = Worst{Number: one.number, At: one.began, Latency: took, Attempts: one.attempts}
		}
	default:
		c.line.Failed[part]++
		if one.counted {
			st.failed++
		}
	}
}

// refusal counts a call that a step refused.
func (c *client) refusal(one *call, e *end) {
	st, step := &c.stats, e.index+1
	if st.steps[step] == "" {
		st.steps[step] = e.step
	}
	line := &st.lines[step][e.reason]
	if *line == 0 {
		c.line.Refusals = append(c.line.Refusals, RefusalLine{
			Step: e.step, Reason: e.reason.String(), Calls: make([]uint32, c.sim.timeline.Parts),
		})
		*line = len(c.line.Refusals)
	}
	c.line.Refusals[*line-1].Calls[c.sim.part]++
	if one.counted {
		st.refused++
		st.refusals[step][e.reason]++
	}
}

// serviceStats counts what a service does in the counted time.
type serviceStats struct {
	arrived, served, dropped, refused, wasted uint64
	times                                     histogram // of waits
	// Sums over time: of the requests there, of busy servers, of the part of the
	// servers that is busy.
	inSystem, busy, used float64
	last                 clock.Mark
	// The sums at the beginning of the part of the timeline.
	partInSystem, partBusy float64
}

// measure sums up over time what holds since the last change.
func (s *service) measure() {
	st := &s.stats
	passed := float64(s.sim.now - st.last)
	if passed == 0 {
		return
	}
	st.last = s.sim.now
	st.inSystem += float64(passed * float64(s.busy+s.waiting))
	st.busy += float64(passed * float64(s.busy))
	s.could(s.sim.part, passed)
	if s.busy > 0 {
		// Servers that a fault takes away finish their work.
		st.used += float64(passed * float64(s.busy) / float64(max(s.servers, s.busy)))
	}
}

// served counts a request that was served.
func (s *service) served(j *job) {
	s.stats.served++
	s.stats.times.add(j.started.Sub(j.arrived))
	s.line.Served[s.sim.part]++
	if j.call == nil || j.call.waiting != nil && j.call.waiting.call == nil {
		s.stats.wasted++
		s.line.Wasted[s.sim.part]++
	}
}

// reset begins the counted time.
func (s *service) reset() {
	s.measure()
	s.stats.times.reset()
	s.stats = serviceStats{
		times: s.stats.times, last: s.sim.now,
		partInSystem: s.stats.partInSystem - s.stats.inSystem, partBusy: s.stats.partBusy - s.stats.busy,
	}
}

// sample ends a part of the timeline.
func (s *service) sample() {
	s.measure()
	began := s.sim.partEnds - clock.Mark(s.sim.timeline.Width)
	width := float64(s.sim.now - began)
	s.line.InSystem[s.sim.part] = (s.stats.inSystem - s.stats.partInSystem) / width
	s.line.Busy[s.sim.part] = (s.stats.busy - s.stats.partBusy) / width
	s.line.Servers[s.sim.part] = uint32(s.servers)
	s.stats.partInSystem, s.stats.partBusy = s.stats.inSystem, s.stats.busy
}
