package host_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/proxywasm/host"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Workers: 2}, "request_headers: "+
		"define 0 hits; increment last 5; increment 4 0; increment 4 -1; record 4 2; metric 4; "+
		"define 1 flight; increment last 3; increment 5 -1; metric 5; record 5 9; "+
		"define 2 delay; record last 7; increment 6 1; metric 6; "+
		"define 3 x; define 0 hits; increment 12 1; increment 13 1; record 12 1; metric 12; metric 13; increment 7 1")
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "define 0 hits = 0 4 / increment last 5 = 0  / increment 4 0 = 2  / increment 4 -1 = 2  / record 4 2 = 0  / metric 4 = 0 7 / "+
		"define 1 flight = 0 5 / increment last 3 = 0  / increment 5 -1 = 0  / metric 5 = 0 2 / record 5 9 = 0  / "+
		"define 2 delay = 0 6 / record last 7 = 0  / increment 6 1 = 2  / metric 6 = 2  / "+
		"define 3 x = 2  / define 0 hits = 0 8 / increment 12 1 = 1  / increment 13 1 = 1  / record 12 1 = 1  / metric 12 = 1  / metric 13 = 1  / increment 7 1 = 2 ", said(p))
	f.Worker(1).Do(host.Get("/"), host.Answer(200))
	assert.EqualValues(t, 14, p.Counter("hits"), "one metric for all workers")
	assert.EqualValues(t, 9, p.Gauge("flight"))
	assert.Equal(t, []uint64{7, 7}, p.Histogram("delay"))
	assert.Zero(t, p.Counter("none"))
	assert.Equal(t, []host.Metric{
		{Kind: host.Histogram, Name: "delay", Samples: []uint64{7, 7}},
		{Kind: host.Gauge, Name: "flight", Value: 9},
		{Kind: host.Counter, Name: "hits", Value: 14},
	}, p.Metrics())
	assert.Equal(t, "histogram gauge counter", host.Histogram.String()+" "+host.Gauge.String()+" "+host.Counter.String())
	p.ResetCounters()
	assert.Zero(t, p.Counter("hits"))
	assert.EqualValues(t, 9, p.Gauge("flight"))
}

// A gauge below 0 wraps, as Envoy's does.
func TestGaugeWraps(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_headers: define 1 flight; increment 5 -1")
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, ^uint64(0), p.Gauge("flight"))
}
