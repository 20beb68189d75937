package sluiceprometheus

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/metricnames"
	"github.com/sluice-go/sluice/internal/policymeter"
	"github.com/sluice-go/sluice/internal/readmostly"
	"github.com/sluice-go/sluice/reducer"
)

// calls are the durations of the calls of one policy, by outcome.
type calls struct {
	policy    string
	traceID   func(context.Context) string
	succeeded timer // of OK, whose look-up would cost as much as the rest
	others    readmostly.Map[reducer.Outcome, *timer]
}

func newCalls(policy string, traceID func(context.Context) string) *calls {
	c := &calls{policy: policy, traceID: traceID}
	// Rates of failures and refusals are wanted from the first of them on.
	c.timer(0)
	c.timer(reducer.Fail)
	return c
}

func (c *calls) timer(o reducer.Outcome) *timer {
	if o == reducer.OK {
		return &c.succeeded
	}
	return c.others.Get(o, func(reducer.Outcome) *timer { return new(timer) })
}

// Ended implements policymeter.Calls.
func (c *calls) Ended(o reducer.Outcome, ctx context.Context, elapsed time.Duration) {
	c.timer(o).observe(ctx, elapsed, c.traceID)
}

func (c *calls) collect(to chan<- prometheus.Metric) {
	c.succeeded.collect(to, c.policy, reducer.OK)
	for o, t := range c.others.All() {
		t.collect(to, c.policy, o)
	}
}

// timer is a histogram of calls with exemplars.
type timer struct {
	histogram durations.Histogram
	exemplars [durations.Ranges]atomic.Pointer[prometheus.Exemplar]
}

func (t *timer) observe(ctx context.Context, elapsed time.Duration, traceID func(context.Context) string) {
	i := t.histogram.Observe(elapsed)
	if traceID == nil || ctx == nil {
		return
	}
	if id := traceID(ctx); id != "" {
		t.exemplars[i].Store(&prometheus.Exemplar{
			Value: elapsed.Seconds(), Labels: prometheus.Labels{"trace_id": id}, Timestamp: time.Now(),
		})
	}
}

func (t *timer) collect(to chan<- prometheus.Metric, policy string, o reducer.Outcome) {
	metric := histogram(metricnames.CallDuration, t.histogram.Snapshot(), policy, policymeter.Outcome(o))
	var exemplars []prometheus.Exemplar
	for i := range t.exemplars {
		if e := t.exemplars[i].Load(); e != nil {
			exemplars = append(exemplars, *e)
		}
	}
	if len(exemplars) > 0 {
		metric = prometheus.MustNewMetricWithExemplars(metric, exemplars...)
	}
	to <- metric
}

func histogram(m metricnames.Metric, s durations.Snapshot, labels ...string) prometheus.Metric {
	buckets, below := map[float64]uint64{}, uint64(0)
	for i, bound := range durations.Bounds() {
		below += s.Counts[i]
		buckets[bound.Seconds()] = below
	}
	return prometheus.MustNewConstHistogram(descs[m.Name], s.Count(), s.Sum.Seconds(), buckets, labels...)
}
