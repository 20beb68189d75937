package lanes

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/sim/engine"
)

// client returns the lanes of a client.
func client(r *engine.Result, i int) Group {
	line := &r.Timeline.Clients[i]
	to := line.Services[0]
	g := Group{Name: r.Clients[i].Name, To: r.Services[to].Name, Bands: bands(r, line.Services)}
	calls := []Series{rate(r, "offered", Offered, line.Calls), rate(r, "admitted (attempts)", Attempts, line.Attempts), rate(r, "goodput", Good, line.OK)}
	calls = append(calls, present(rate(r, "failed", Failed, line.Failed))...)
	if alone(r, to) {
		calls = append(calls, present(rate(r, "wasted", Wasted, r.Timeline.Services[to].Wasted))...)
	}
	g.add(Lane{ID: "calls", Title: "Calls", Form: Lines, Unit: PerSecond, Series: calls})
	g.add(refusals(r, line))
	g.add(latency(line))
	g.add(heat(line))
	g.add(amplification(line))
	g.add(Lane{ID: "active", Title: "Calls that are not over", Form: Lines, Series: present(active(line))})
	g.add(breakers(r, line.Changes))
	g.add(openKeys(r, line.Changes))
	g.steps(line.Steps)
	return g
}

// alone reports whether one client reaches a service, so that the service's wasted work
// is all for that client.
func alone(r *engine.Result, service int) bool {
	n := 0
	for i := range r.Timeline.Clients {
		if slices.Contains(r.Timeline.Clients[i].Services, service) {
			n++
		}
	}
	return n == 1
}

func refusals(r *engine.Result, line *engine.ClientLine) Lane {
	l := Lane{ID: "refusals", Title: "Refused calls", Form: Stack, Unit: PerSecond}
	for i := range line.Refusals {
		one := &line.Refusals[i]
		l.Series = append(l.Series, rate(r, one.Step+": "+one.Reason, reason(i), one.Calls))
	}
	return l
}

// reason is the role of a series of a stack.
func reason(i int) Role { return Role("reason" + strconv.Itoa(min(i, Colours-1))) }

// latency returns percentiles of the calls that end ok in each part.
func latency(line *engine.ClientLine) Lane {
	l := Lane{ID: "latency", Title: "Latency of calls that end ok", Form: Lines, Unit: Seconds}
	for _, p := range []struct {
		name        string
		role        Role
		thousandths uint64
	}{{"p50", Low, 500}, {"p90", Middle, 900}, {"p99", High, 990}} {
		s := Series{p.name, p.role, nan(len(line.Latency))}
		for i := range line.Latency {
			if len(line.Latency[i].Count) > 0 {
				s.Values[i] = line.Latency[i].Percentile(p.thousandths).Seconds()
			}
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// perOctave is how many buckets the map has for each octave of latency.
const perOctave = 4

// rare is the part of the calls of which so few are below the map's first bucket that
// they are counted there: an exponential time has no least one.
const rare = 1000

func heat(line *engine.ClientLine) Lane {
	l := Lane{ID: "heat", Title: "Latency, every call that ends ok", Form: Heat, Unit: Seconds}
	const merged = engine.LatencyBuckets / perOctave
	var sums []uint64 // by bucket of the map
	all := uint64(0)
	for i := range line.Latency {
		one := &line.Latency[i]
		for k, n := range one.Count {
			bucket := (one.From + k) / merged
			for bucket >= len(sums) {
				sums = append(sums, 0)
			}
			sums[bucket] += uint64(n)
			all += uint64(n)
		}
	}
	if all == 0 {
		return l
	}
	first := 0
	for below := sums[0]; below <= all/rare; below += sums[first] {
		first++
	}
	l.Heat = &Map{Counts: make([][]uint32, len(line.Latency))}
	for i := first; i <= len(sums); i++ {
		l.Heat.Edges = append(l.Heat.Edges, engine.LatencyOf(i*merged))
	}
	for i := range line.Latency {
		one := &line.Latency[i]
		l.Heat.Counts[i] = make([]uint32, len(sums)-first)
		for k, n := range one.Count {
			l.Heat.Counts[i][max((one.From+k)/merged-first, 0)] += n
		}
	}
	return l
}

// amplification is attempts a call in each part. The attempts of a part may be of
// calls that arrived before.
func amplification(line *engine.ClientLine) Lane {
	s := Series{"attempts a call", Attempts, nan(len(line.Calls))}
	for i, calls := range line.Calls {
		if calls > 0 {
			s.Values[i] = float64(line.Attempts[i]) / float64(calls)
		}
	}
	return Lane{ID: "amplification", Title: "Amplification", Form: Lines, Series: []Series{s}}
}

// active counts the calls that are not over at the end of each part.
func active(line *engine.ClientLine) Series {
	s := Series{"in progress", Used, make([]float64, len(line.Calls))}
	open := 0
	for i := range line.Calls {
		open += int(line.Calls[i]) - int(line.OK[i]) - int(line.Failed[i]) - int(line.Refused[i])
		s.Values[i] = float64(open)
	}
	return s
}

// service returns the lanes of a service.
func service(r *engine.Result, i int) Group {
	line := &r.Timeline.Services[i]
	g := Group{Service: true, Name: r.Services[i].Name, Bands: bands(r, []int{i})}
	g.add(Lane{ID: "requests", Title: "Requests", Form: Lines, Unit: PerSecond, Series: append(
		[]Series{rate(r, "arrived", Offered, line.Arrived), rate(r, "served", Good, line.Served)},
		present(rate(r, "dropped", Failed, line.Dropped), rate(r, "refused", Attempts, line.Refused), rate(r, "wasted", Wasted, line.Wasted))...)})
	waiting := Series{"waiting", Waiting, make([]float64, r.Timeline.Parts)}
	for k := range waiting.Values {
		waiting.Values[k] = max(line.InSystem[k]-line.Busy[k], 0)
	}
	g.add(Lane{ID: "system", Title: "Servers and queue", Form: Lines, Series: []Series{
		values("servers", Limit, line.Servers), {"busy", Used, line.Busy}, waiting,
	}})
	g.add(breakers(r, line.Changes))
	g.add(openKeys(r, line.Changes))
	g.steps(line.Steps)
	return g
}
