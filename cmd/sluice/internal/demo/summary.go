package demo

import (
	"cmp"
	"slices"
	"time"
)

// Count is how often something happened.
type Count struct {
	Name  string
	Times int
}

// Summary is a side's run in numbers.
type Summary struct {
	Offered, Good, Failed, Refused int
	Reasons                        []Count // of the refusals, most first
	Retries, Attempts              int
	PerCall                        float64       // attempts, of all calls
	Goodput                        [4]float64    // good answers a second, by Phase
	Peak                           float64       // most attempts a second, over a thirtieth of the run
	GoodP50, GoodP99               time.Duration // of good answers; or None
	AllP99                         time.Duration // of all calls; or None
	RefusedP99                     time.Duration // of refusals; or None
	Queue                          int           // the most that waited at the service
	Wasted                         float64       // the share of the service's work whose caller had left
	Late                           time.Duration // the 99th percentile of how late calls were made; or None
	Recovered                      bool
	Recovery                       time.Duration // from the end of the brown-out; 0 when not Recovered
}

// Summarise says what a log comes to.
func Summarise(s Scenario, l *Log) Summary {
	sum := Summary{Offered: len(l.Calls), Attempts: len(l.Attempts)}
	reasons := map[string]int{}
	var good, all, refused []time.Duration
	for _, c := range l.Calls {
		all = append(all, c.Took)
		switch c.Result {
		case Good:
			sum.Good++
			good = append(good, c.Took)
		case Failed:
			sum.Failed++
		case Refused:
			sum.Refused++
			reasons[c.Why]++
			refused = append(refused, c.Took)
		}
	}
	late := slices.Clone(l.Late)
	for _, took := range [][]time.Duration{good, all, refused, late} {
		slices.Sort(took)
	}
	sum.Late = percentile(late, 99)
	sum.GoodP50, sum.GoodP99 = percentile(good, 50), percentile(good, 99)
	sum.AllP99, sum.RefusedP99 = percentile(all, 99), percentile(refused, 99)
	sum.Reasons = counts(reasons)
	for _, a := range l.Attempts {
		if a.Number > 1 {
			sum.Retries++
		}
	}
	for _, g := range l.Gauges {
		sum.Queue = max(sum.Queue, g.Waiting)
	}
	sum.PerCall = share(sum.Attempts, sum.Offered)
	sum.Wasted = share(l.Wasted, l.Served)
	for p := range sum.Goodput {
		from, to := s.span(Phase(p))
		sum.Goodput[p] = l.goodput(from, to)
	}
	for _, b := range l.fold(s.Duration, 30) {
		sum.Peak = max(sum.Peak, b.PerSecond(b.Attempts))
	}
	sum.Recovery, sum.Recovered = recovery(s, l.Calls)
	return sum
}

// counts sorts what was counted, most first.
func counts(times map[string]int) []Count {
	var all []Count
	for name, n := range times {
		all = append(all, Count{name, n})
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// share returns part of whole; 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// span returns when a phase begins and ends.
func (s Scenario) span(p Phase) (from, to time.Duration) {
	marks := [...]time.Duration{0, s.FailAt, s.SlowAt, s.HealAt, s.Duration}
	return marks[p], marks[p+1]
}

// goodput returns the good answers a second in a stretch of time.
func (l *Log) goodput(from, to time.Duration) float64 {
	good := 0
	for _, c := range l.Calls {
		if c.Result == Good && from <= c.End() && c.End() < to {
			good++
		}
	}
	return float64(good) / (to - from).Seconds()
}

// recovery returns how long after the brown-out the callers are well again: the
// first time from which 95 % of the calls are answered well, both in the next
// thirtieth of the run and in all the rest. It checks 150 times in a run.
func recovery(s Scenario, calls []Call) (time.Duration, bool) {
	step, width := s.Duration/150, s.Duration/30
	for from := s.HealAt; from+width <= s.Duration; from += step {
		if mostlyGood(calls, from, from+width) && mostlyGood(calls, from, s.Duration) {
			return from - s.HealAt, true
		}
	}
	return 0, false
}

// mostlyGood says whether at least 95 % of the calls that began in a stretch of
// time got a good answer.
func mostlyGood(calls []Call, from, to time.Duration) bool {
	good, all := 0, 0
	for _, c := range calls {
		if from <= c.At && c.At < to {
			all++
			if c.Result == Good {
				good++
			}
		}
	}
	return all > 0 && good*100 >= all*95
}
