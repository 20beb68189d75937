package engine

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/random"
	"github.com/sluice-go/sluice/sim/scenario"
)

// maxFaults is the most times that the faults of one service come.
const maxFaults = 100_000

// conditions are what the faults of a service make of it at present.
type conditions struct {
	bands      []Band
	active     []int // how many of each fault, in the order of the scenario
	servers    int
	slow       float64
	fail       reducer.Share
	throttle   reducer.Share
	retryAfter clock.Mark
	pauses     int
	// pauseBegan is when the present pause began, stopped the sum of those before.
	pauseBegan, stopped clock.Mark
	warm                clock.Mark // when the service began to warm up
	drift               float64    // the normal number
	drifts              *random.Stream
	beat                event // of the drift
}

// Band is a fault of a service from a mark to another one.
type Band struct {
	// Fault is its number in the service's list.
	Fault int
	// From is its begin and To its end, which are equal for an instant.
	From, To clock.Mark
	// Text says what it does, as in "slow x4" or "fail 100%, 2 servers".
	Text string
}

// plan draws the faults of the service.
func (s *service) plan(stream func(string) *random.Stream) {
	s.active = make([]int, len(s.config.Faults))
	for i := range s.config.Faults {
		f := &s.config.Faults[i]
		text := f.String()
		draws := stream("fault " + decimal(uint64(i)))
		at := clock.Mark(f.At)
		if f.At < 0 {
			at = clock.Mark(0).Add(durationOf(f.Every.Draw(draws)))
		}
		for len(s.bands) < maxFaults && at < s.sim.end {
			band := Band{Fault: i, From: at, To: at.Add(durationOf(f.For.Draw(draws))), Text: text}
			s.bands = append(s.bands, band)
			if f.Every.Kind == scenario.None {
				break
			}
			at = band.To.Add(max(durationOf(f.Every.Draw(draws)), 1))
		}
	}
	slices.SortStableFunc(s.bands, func(a, b Band) int {
		return int(min(max(a.From-b.From, -1), 1))
	})
	for i := range s.bands {
		band := &s.bands[i]
		s.sim.at(&event{service: s, index: i, fire: func(e *event) { e.service.faultBegins(e.index) }}, band.From, control)
		if band.To > band.From {
			s.sim.at(&event{service: s, index: i, fire: func(e *event) { e.service.faultEnds(e.index) }}, band.To, control)
		}
	}
	s.judge()
	if d := s.config.Drift; d != nil {
		s.drifts = stream("drift")
		s.drift = s.drifts.Normal()
		s.beat = event{service: s, fire: func(e *event) { e.service.beats() }}
		s.sim.at(&s.beat, clock.Mark(d.Every), control)
	}
	if s.sim.begin > 0 {
		s.sim.at(&event{service: s, fire: func(e *event) { e.service.reset() }}, s.sim.begin, control)
	}
}

func (s *service) faultBegins(i int) {
	band := &s.bands[i]
	f := &s.config.Faults[band.Fault]
	s.observedFault(EventFault, band.Fault)
	if (f.Flush || f.Restart) && s.cache != nil {
		// After clear a map of TinyGo 0.41.1 still has its entries.
		s.cache = map[string]clock.Mark{}
	}
	if band.To > band.From {
		s.active[band.Fault]++
		s.judge()
	}
}

func (s *service) faultEnds(i int) {
	band := &s.bands[i]
	s.active[band.Fault]--
	s.observedFault(EventRepair, band.Fault)
	if s.config.Faults[band.Fault].Restart {
		s.warm = s.sim.now
	}
	s.judge()
	s.next()
}

// judge sums the active faults up.
func (s *service) judge() {
	s.measure()
	s.servers, s.slow, s.fail, s.throttle, s.retryAfter = int(s.config.Servers), 1, s.config.Fail, reducer.Share{}, -1
	pauses := 0
	for i := range s.config.Faults {
		if s.active[i] == 0 {
			continue
		}
		f := &s.config.Faults[i]
		s.slow *= f.Slow
		if f.Fail.Compare(s.fail) > 0 {
			s.fail = f.Fail
		}
		if f.Throttle.Compare(s.throttle) > 0 {
			s.throttle, s.retryAfter = f.Throttle, clock.Mark(f.RetryAfter)
		}
		if f.Servers >= 0 {
			s.servers = min(s.servers, f.Servers)
		}
		if f.Restart {
			s.servers = 0
		}
		if f.Pause {
			pauses++
		}
	}
	s.pause(pauses)
}

// pause begins or ends a pause: all work stops, and lasts longer by it.
func (s *service) pause(pauses int) {
	was := s.pauses
	s.pauses = pauses
	switch {
	case was == 0 && pauses > 0:
		s.pauseBegan = s.sim.now
	case was > 0 && pauses == 0:
		s.stopped += s.sim.now - s.pauseBegan
		for _, j := range s.frozen {
			late := s.stopped - j.paused
			j.paused += late
			s.sim.at(&j.event, j.planned+late, answers)
		}
		s.frozen = s.frozen[:0]
	}
}

// pausedUntil returns how long the service has been paused until a mark.
func (s *service) pausedUntil(now clock.Mark) clock.Mark {
	if s.pauses > 0 {
		return s.stopped + now - s.pauseBegan
	}
	return s.stopped
}

// factor is what multiplies the time of work that begins at a mark.
func (s *service) factor(now clock.Mark) float64 {
	factor := s.slow
	if w := s.config.WarmUp; w != nil {
		if since := now - s.warm; since < clock.Mark(w.For) {
			left := 1 - float64(since)/float64(w.For)
			factor *= 1 + float64((w.Slow-1)*left)
		}
	}
	if d := s.config.Drift; d != nil {
		factor *= random.Exp(float64(d.Sigma * s.drift))
	}
	return factor
}

// beats draws the next number of the drift.
func (s *service) beats() {
	d := s.config.Drift
	rest := random.Root(1 - float64(d.Correlation*d.Correlation))
	s.drift = float64(d.Correlation*s.drift) + float64(rest*s.drifts.Normal())
	s.sim.at(&s.beat, s.sim.now.Add(d.Every), control)
}
