package engine

// capacity counts what the servers of a service could do, part by part of the timeline.
type capacity struct {
	// there is the time of servers that are there, and able the part of it whose
	// answers are neither failures nor throttled, in nanoseconds of one server.
	there, able []float64
	// demand is how many requests the calls of a part make. Calls that are made again because
	// others failed are an effect, and not counted. It is known at the end of the run.
	demand []float64
}

func newCapacity(parts int) capacity {
	return capacity{there: make([]float64, parts), able: make([]float64, parts)}
}

// could adds the time that has passed in a part.
func (s *service) could(part int, passed float64) {
	if s.pauses > 0 {
		return
	}
	there := float64(passed * float64(s.servers))
	s.capacity.there[part] += there
	good := float64((1 - share(s.fail.Millionths())) * (1 - share(s.throttle.Millionths())))
	s.capacity.able[part] += float64(there * good)
}

func share(millionths uint32) float64 { return float64(millionths) / 1e6 }

// held returns how long a server is held for one request in some parts, calls to other
// services included: in these parts where enough requests were served, else in the whole
// run. It returns false where servers were busy and no request was served.
func (s *service) held(from, to int) (nanoseconds float64, ok bool) {
	line, width := s.line, float64(s.sim.timeline.Width)
	sums := func(from, to int) (float64, int) {
		busy, served := 0.0, 0
		for i := from; i < to; i++ {
			busy += float64(line.Busy[i] * width)
			served += int(line.Served[i])
		}
		return busy, served
	}
	busy, served := sums(from, to)
	if served < few {
		busy, served = sums(0, s.sim.timeline.Parts)
	}
	if served == 0 {
		return 0, busy == 0
	}
	return busy / float64(served), true
}

// visits returns how many requests reach each service for one request at a service,
// itself included. Calls that a service can do without are none.
func (s *simulation) visits(service int) []float64 {
	if found, ok := s.visited[service]; ok {
		return found
	}
	counts := make([]float64, len(s.services))
	counts[service] = 1
	for i := range s.scenario.Services[service].Calls {
		call := &s.scenario.Services[service].Calls[i]
		if call.Optional {
			continue
		}
		for to, count := range s.visits(call.To) {
			counts[to] += count
		}
	}
	s.visited[service] = counts
	return counts
}

// sumDemand sums up the demand at each service.
func (s *simulation) sumDemand() {
	for i, service := range s.services {
		service.capacity.demand = make([]float64, s.timeline.Parts)
		for part := range service.capacity.demand {
			for _, c := range s.clients {
				service.capacity.demand[part] += float64(float64(c.first[part]) * c.visits[i])
			}
		}
	}
}

// answerable returns how many of a client's calls of some parts its services could have
// answered ok: all of them below the capacity, less what the services fail and throttle.
// It returns false where nothing can be said, or where each of the services answered at
// least half of the requests that it could: for which clients is a matter of policy.
func (c *client) answerable(from, to int) (calls float64, ok bool) {
	room, good := make([]float64, to-from), make([]float64, to-from)
	for i := range room {
		room[i], good[i] = 1, 1
	}
	idle := false
	for i, s := range c.sim.services {
		if c.visits[i] == 0 {
			continue
		}
		held, known := s.held(from, to)
		if !known {
			return 0, false
		}
		could, useful := 0.0, 0
		for part := from; part < to; part++ {
			there := s.capacity.there[part]
			if there == 0 {
				room[part-from] = 0
				continue
			}
			good[part-from] *= s.capacity.able[part] / there
			requests := s.capacity.demand[part]
			if work := float64(held * requests); work > there {
				room[part-from] = min(room[part-from], there/work)
				requests = there / held
			}
			could += requests
			useful += int(s.line.Served[part]) - int(s.line.Wasted[part])
		}
		idle = idle || float64(useful) < 0.5*could
	}
	for i := range room {
		calls += float64(float64(float64(c.first[from+i])*room[i]) * good[i])
	}
	return calls, idle
}

// wastes reports whether fewer than half of the calls that could have been answered ok
// in some parts were.
func (c *client) wastes(from, to int) bool {
	calls, good := 0, 0
	for i := from; i < to; i++ {
		calls += int(c.first[i])
		good += int(c.line.Good[i])
	}
	if calls < few {
		return false
	}
	could, ok := c.answerable(from, to)
	return ok && float64(good) < 0.5*could
}

// refuses reports whether policies refuse most of the calls that end otherwise than ok in
// some parts though they could have been answered.
func (c *client) refuses(from, to int) bool {
	could, ok := c.answerable(from, to)
	missing, refused := could, 0
	for part := from; part < to; part++ {
		missing -= float64(c.line.Good[part])
		refused += int(c.line.Refused[part])
		for i, s := range c.sim.services {
			if c.visits[i] > 0 {
				refused += int(s.line.Refused[part])
			}
		}
	}
	return ok && float64(refused) >= 0.5*missing
}
