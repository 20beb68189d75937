package demo

import (
	"slices"
	"sync"
	"time"
)

// Result is what a caller got.
type Result uint8

// The results.
const (
	// Good: the answer that was asked for.
	Good Result = iota
	// Failed: an error, or nothing within the time.
	Failed
	// Refused: the policy did not let the call through.
	Refused
)

// Call is one call of a client, over.
type Call struct {
	At     time.Duration // since the start
	Took   time.Duration
	Result Result
	Why    string // of Refused: the step and its reason, as in "breaker: open"
}

// End is when the caller got the result.
func (c Call) End() time.Duration { return c.At + c.Took }

// Attempt is one request that was sent to the service.
type Attempt struct {
	At     time.Duration
	Number int // within its call, from 1
}

// Gauge is how many requests waited at the service.
type Gauge struct {
	At      time.Duration
	Waiting int
}

// Change is a breaker's new state.
type Change struct {
	At      time.Duration
	Breaker string // which, where there are several
	State   string
}

// Log is all that is measured of one side. The entries of a kind are in the
// order in which they were recorded.
type Log struct {
	Calls    []Call
	Attempts []Attempt
	Gauges   []Gauge
	Changes  []Change
	Served   int             // requests that a worker took up
	Wasted   int             // served requests whose caller had left before the answer
	Late     []time.Duration // of each call, after its time
}

// recorder collects the log of one side while it runs.
type recorder struct {
	mu  sync.Mutex
	log Log
}

func (r *recorder) call(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Calls = append(r.log.Calls, c)
}

func (r *recorder) late(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Late = append(r.log.Late, by)
}

func (r *recorder) attempt(a Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Attempts = append(r.log.Attempts, a)
}

func (r *recorder) gauge(g Gauge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Gauges = append(r.log.Gauges, g)
}

func (r *recorder) change(c Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Changes = append(r.log.Changes, c)
}

func (r *recorder) served(wasted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Served++
	if wasted {
		r.log.Wasted++
	}
}

// snapshot returns the log so far. Entries are only ever added behind it.
func (r *recorder) snapshot() Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log
}

// None is a latency that was not measured: no caller got a result.
const None = time.Duration(-1)

// Bin is what happened in a stretch of time, [From, To). Calls count where they
// end, save in Offered, where they begin.
type Bin struct {
	From, To              time.Duration
	Offered, Good, Failed int
	Refused               map[string]int // by Call.Why
	Attempts, Retries     int
	P50, P99              time.Duration // of all calls that ended; or None
	Waiting               int           // the most that waited at the service
	took                  []time.Duration
}

// PerSecond turns a count of the bin into a rate.
func (b *Bin) PerSecond(count int) float64 { return float64(count) / (b.To - b.From).Seconds() }

// AllRefused is how many calls the policy refused.
func (b *Bin) AllRefused() int {
	sum := 0
	for _, n := range b.Refused {
		sum += n
	}
	return sum
}

// fold cuts the time from 0 to end into n bins. What happened later is in none.
func (l *Log) fold(end time.Duration, n int) []Bin { return l.window(0, end, n) }

// window folds the log from one time to another.
func (l *Log) window(from, to time.Duration, n int) []Bin {
	bins := make([]Bin, n)
	step := (to - from) / time.Duration(n)
	for i := range bins {
		bins[i] = Bin{From: from + step*time.Duration(i), To: from + step*time.Duration(i+1), Refused: map[string]int{}}
	}
	// at finds the bin of a time, or one that is not returned.
	at := func(t time.Duration) *Bin {
		if t < from || t >= bins[n-1].To {
			return &Bin{Refused: map[string]int{}}
		}
		return &bins[(t-from)/step]
	}
	for _, c := range l.Calls {
		at(c.At).Offered++
		b := at(c.End())
		switch c.Result {
		case Good:
			b.Good++
		case Failed:
			b.Failed++
		case Refused:
			b.Refused[c.Why]++
		}
		b.took = append(b.took, c.Took)
	}
	for _, a := range l.Attempts {
		b := at(a.At)
		b.Attempts++
		if a.Number > 1 {
			b.Retries++
		}
	}
	for _, g := range l.Gauges {
		b := at(g.At)
		b.Waiting = max(b.Waiting, g.Waiting)
	}
	for i := range bins {
		slices.Sort(bins[i].took)
		bins[i].P50, bins[i].P99 = percentile(bins[i].took, 50), percentile(bins[i].took, 99)
		bins[i].took = nil
	}
	return bins
}

// percentile returns the nearest-rank percentile of sorted durations: the least
// of them that at least p percent do not exceed. None of none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return None
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}
