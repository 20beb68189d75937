package engine

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/random"
	"github.com/sluice-go/sluice/sim/scenario"
)

// service answers requests: some wait, some are served.
type service struct {
	sim    *simulation
	config *scenario.Service
	index  int
	// guard admits requests in front of the queue, nil without a policy. edges make the
	// calls of handlers.
	guard           *process
	edges           []*process
	times, failures *random.Stream

	conditions
	busy        int
	first, last *job // of those that wait
	waiting     int
	frozen      []*job // whose work would have ended in a pause
	cache       map[string]clock.Mark
	capacity    capacity
	stats       serviceStats
	line        *ServiceLine
}

// stage says where a request is.
type stage uint8

const (
	// guarded requests are in the policy of the service.
	guarded stage = iota + 1
	queued
	working
	calling
	// answering requests have an answer that their callers get at this mark.
	answering
)

// job is a request at a service: an attempt of a call.
type job struct {
	request
	call    *call // nil once the caller has given up
	attempt uint32
	service *service
	stage   stage
	arrived clock.Mark
	started clock.Mark
	// paused is how much of the service's pauses the end of the work takes account of,
	// planned the end of work that a pause has stopped.
	paused, planned clock.Mark
	event           event
	// next and before are neighbours in the queue.
	next, before *job
	inner        *call   // in the policy of the service
	calls        []*call // to other services
	edge         int     // the next of them
	failed       bool    // one of them
	hit          bool    // the cache had its key
	outcome      reducer.Outcome
	retryAfter   clock.Mark
}

func newService(sim *simulation, config *scenario.Service, index int) *service {
	stream := func(what string) *random.Stream { return random.New(sim.seed, what+" of service "+config.Name) }
	s := &service{sim: sim, config: config, index: index, times: stream("times"), failures: stream("failures")}
	if config.Cache != nil {
		s.cache = map[string]clock.Mark{}
	}
	s.line = &sim.timeline.Services[index]
	s.stats.times = newHistogram()
	s.capacity = newCapacity(sim.timeline.Parts)
	s.plan(stream)
	return s
}

// connect makes the processes of the service.
func (s *service) connect() {
	if s.config.Policy != nil {
		s.guard = newProcess(s.sim, s.config.Name, s.config.Policy, func(j *job) { s.enter(j) })
		s.guard.changes = &s.line.Changes
		s.guard.gaugeSteps(&s.line.Steps)
	}
	for i := range s.config.Calls {
		to := s.sim.services[s.config.Calls[i].To]
		s.edges = append(s.edges, newProcess(s.sim, s.config.Name+" to "+to.config.Name, s.config.Calls[i].Policy, func(j *job) { to.arrive(j) }))
	}
}

// arrive takes a request.
func (s *service) arrive(j *job) {
	j.service, j.arrived = s, s.sim.now
	s.stats.arrived++
	s.line.Arrived[s.sim.part]++
	s.observed(EventArrival, j)
	if s.guard == nil {
		s.enter(j)
		return
	}
	j.stage = guarded
	c := s.sim.calls.take()
	c.request, c.waiting = j.request, j
	j.inner = c
	s.guard.start(c)
}

// decided ends a request that the policy of the service took: a refusal by a limit is
// answered with throttle, any other one with fail.
func (s *service) decided(c *call, e *end) {
	j := c.waiting
	j.inner = nil
	if e.refused {
		s.stats.refused++
		s.line.Refused[s.sim.part]++
		outcome := reducer.Fail
		if e.reason == reducer.ReasonRate || e.reason == reducer.ReasonCapacity || e.reason == reducer.ReasonWait {
			outcome = reducer.Throttle
		}
		s.reply(j, outcome, e.retryAfter)
		return
	}
	outcome := e.outcome
	if outcome == reducer.Timeout {
		outcome = reducer.Fail // what a caller can see of it
	}
	s.reply(j, outcome, -1)
}

// enter takes a request that is admitted into the queue, or serves it.
func (s *service) enter(j *job) {
	if j.service == nil { // an attempt of the policy in front
		j.service, j.arrived = s, s.sim.now
	}
	if s.busy < s.servers && s.pauses == 0 {
		s.serve(j)
		return
	}
	if s.config.Queue >= 0 && s.waiting >= s.config.Queue {
		s.stats.dropped++
		s.line.Dropped[s.sim.part]++
		s.observed(EventDrop, j)
		s.reply(j, reducer.Fail, -1)
		return
	}
	s.measure()
	s.waiting++
	j.stage = queued
	if j.before = s.last; s.last != nil {
		s.last.next = j
	} else {
		s.first = j
	}
	s.last = j
}

// leave takes a request out of the queue.
func (s *service) leave(j *job) {
	s.measure()
	s.waiting--
	if j.before != nil {
		j.before.next = j.next
	} else {
		s.first = j.next
	}
	if j.next != nil {
		j.next.before = j.before
	} else {
		s.last = j.before
	}
	j.next, j.before = nil, nil
}

// serve begins the work for a request.
func (s *service) serve(j *job) {
	s.measure()
	s.busy++
	j.stage, j.started, j.paused = working, s.sim.now, s.pausedUntil(s.sim.now)
	s.observed(EventStart, j)
	j.event.job, j.event.fire = j, worked
	s.sim.at(&j.event, s.sim.now.Add(durationOf(s.draw(j))), answers)
}

func worked(e *event) { e.job.service.worked(e.job) }

// next serves those that wait while servers are free.
func (s *service) next() {
	for s.first != nil && s.busy < s.servers && s.pauses == 0 {
		j := s.first
		s.leave(j)
		s.serve(j)
	}
}

// draw returns how long the work for a request takes.
func (s *service) draw(j *job) float64 {
	time := &s.config.Time
	if s.config.Cache != nil {
		until, there := s.cache[j.keyText()]
		if j.hit = there && s.sim.now < until; j.hit {
			time = &s.config.Cache.Hit
		}
	}
	return time.Draw(s.times) * s.factor(s.sim.now)
}

// worked ends the own work for a request, unless pauses have delayed it.
func (s *service) worked(j *job) {
	if s.pauses > 0 {
		j.planned = s.sim.now
		s.frozen = append(s.frozen, j)
		return
	}
	if late := s.pausedUntil(s.sim.now) - j.paused; late > 0 {
		j.paused += late
		s.sim.at(&j.event, s.sim.now+late, answers)
		return
	}
	if len(s.edges) == 0 {
		s.finish(j)
		return
	}
	j.stage = calling
	if !s.config.Parallel {
		s.step(j)
		return
	}
	for range s.edges {
		s.step(j)
	}
}

// step makes the next call of a request to another service.
func (s *service) step(j *job) {
	c := s.sim.calls.take()
	c.request, c.handler = j.request, j
	j.calls = append(j.calls, c)
	j.edge++
	s.edges[j.edge-1].start(c)
}

// returned ends a call of a request to another service. The request goes on with an
// event of its own: the process of the call is not ready for another one yet.
func (s *service) returned(c *call, e *end) {
	j := c.handler
	for i, one := range j.calls {
		if one == c {
			j.calls = append(j.calls[:i], j.calls[i+1:]...)
			break
		}
	}
	if j.stage != calling {
		return
	}
	if e.refused || e.outcome != reducer.OK {
		j.failed = j.failed || !s.optional(c.process)
	}
	if len(j.calls) == 0 {
		j.event.job, j.event.fire = j, resumed
		s.sim.at(&j.event, s.sim.now, answers)
	}
}

// optional reports whether a request can do without the calls of a process.
func (s *service) optional(p *process) bool {
	for i := range s.edges {
		if s.edges[i] == p {
			return s.config.Calls[i].Optional
		}
	}
	return false
}

func resumed(e *event) {
	j := e.job
	if s := j.service; j.edge < len(s.edges) && !j.failed {
		s.step(j)
	} else {
		s.finish(j)
	}
}

// finish ends the work for a request and answers it.
func (s *service) finish(j *job) {
	outcome, retryAfter := s.verdict(j)
	s.free(j)
	s.served(j)
	if s.cache != nil && !j.hit && outcome == reducer.OK {
		until := clock.Never
		if s.config.Cache.For > 0 {
			until = s.sim.now.Add(s.config.Cache.For)
		}
		s.cache[j.keyText()] = until
	}
	s.next()
	j.outcome, j.retryAfter = outcome, retryAfter
	s.deliver(j)
}

// free frees the server of a request.
func (s *service) free(j *job) {
	s.measure()
	s.busy--
	j.stage = answering
}

// verdict draws the outcome of a request.
func (s *service) verdict(j *job) (reducer.Outcome, clock.Mark) {
	if share := s.throttle.Millionths(); share > 0 && s.failures.Below(reducer.Whole) < uint64(share) {
		return reducer.Throttle, s.retryAfter
	}
	if share := s.fail.Millionths(); share > 0 && s.failures.Below(reducer.Whole) < uint64(share) || j.failed {
		return reducer.Fail, -1
	}
	return reducer.OK, -1
}

// reply answers a request at this mark, behind what policies have due.
func (s *service) reply(j *job, outcome reducer.Outcome, retryAfter clock.Mark) {
	j.stage, j.outcome, j.retryAfter = answering, outcome, retryAfter
	j.event.job, j.event.fire = j, func(e *event) { e.job.service.deliver(e.job) }
	s.sim.at(&j.event, s.sim.now, answers)
}

// deliver gives the answer to the caller, if there is still one.
func (s *service) deliver(j *job) {
	s.observed(EventAnswer, j)
	if j.call != nil {
		j.call.process.answer(j, j.outcome, j.retryAfter)
	}
	s.drop(j)
}

// drop gives the memory of a request back.
func (s *service) drop(j *job) {
	*j = job{calls: j.calls[:0]}
	s.sim.jobs.give(j)
}

// abandoned is told when the caller of a request has given up.
func (s *service) abandoned(j *job) {
	if !s.config.Abandon || j.stage == answering {
		return
	}
	switch j.stage {
	case guarded:
		j.stage = answering
		s.guard.cancel(j.inner)
		return // decided has planned the answer, for no caller
	case queued:
		s.leave(j)
	case working:
		s.sim.queue.remove(&j.event)
		s.thaw(j)
		s.free(j)
		s.next()
	case calling:
		s.sim.queue.remove(&j.event)
		j.stage = answering
		for len(j.calls) > 0 {
			j.calls[0].process.cancel(j.calls[0])
		}
		s.free(j)
		s.next()
	}
	s.drop(j)
}

// thaw takes a request from those that a pause has stopped.
func (s *service) thaw(j *job) {
	for i, one := range s.frozen {
		if one == j {
			s.frozen = append(s.frozen[:i], s.frozen[i+1:]...)
			return
		}
	}
}
