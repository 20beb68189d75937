package host

import (
	"cmp"
	"maps"
	"slices"
)

// MetricKind is a counter, a gauge or a histogram.
type MetricKind uint32

// The kinds, with the numbers of the ABI.
const (
	Counter MetricKind = iota
	Gauge
	Histogram
)

// String returns the name of the kind.
func (k MetricKind) String() string { return [...]string{"counter", "gauge", "histogram"}[k] }

// Metric is what a metric holds. Metrics belong to the process: VMs that define
// one name change one metric.
type Metric struct {
	Kind    MetricKind
	Name    string   // as the guest gave it; Envoy puts "wasmcustom." before it
	Value   uint64   // of a counter or a gauge; a gauge below 0 wraps, as in Envoy
	Samples []uint64 // of a histogram
}

type metricName struct {
	kind MetricKind
	name string
}

type metrics map[metricName]*Metric

// Counter returns the value of a counter, 0 where none has the name.
func (p *Process) Counter(name string) uint64 { return p.metric(Counter, name).Value }

// Gauge returns the value of a gauge, 0 where none has the name.
func (p *Process) Gauge(name string) uint64 { return p.metric(Gauge, name).Value }

// Histogram returns what was recorded in a histogram, in order.
func (p *Process) Histogram(name string) []uint64 { return p.metric(Histogram, name).Samples }

func (p *Process) metric(kind MetricKind, name string) Metric {
	if m := p.metrics[metricName{kind, name}]; m != nil {
		return *m
	}
	return Metric{}
}

// Metrics returns all metrics, sorted by name and kind.
func (p *Process) Metrics() []Metric {
	var all []Metric
	for _, m := range p.metrics {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Metric) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind)) })
	return all
}

// ResetCounters sets all counters to 0, as Envoy's /reset_counters does.
func (p *Process) ResetCounters() {
	for m := range maps.Values(p.metrics) {
		if m.Kind == Counter {
			m.Value = 0
		}
	}
}

// metricMask is the part of a metric's id that is its kind.
const metricMask = 3

func defineMetric(c *call) uint32 {
	kind := MetricKind(c.arg(0))
	name, ok := c.text(1)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	if kind > Histogram {
		return uint32(BadArgument)
	}
	all := c.vm.process.metrics
	key := metricName{kind, name}
	if all[key] == nil {
		all[key] = &Metric{Kind: kind, Name: name}
	}
	c.vm.metricID[kind] += metricMask + 1
	id := c.vm.metricID[kind]
	c.vm.metrics[id] = all[key]
	if !c.put32(c.arg(3), id) {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(OK)
}

func incrementMetric(c *call) uint32 {
	id, delta := c.arg(0), int64(c.stack[1])
	m := c.vm.metrics[id]
	switch kind := MetricKind(id & metricMask); {
	case kind > Gauge:
		return uint32(BadArgument)
	case m == nil:
		return uint32(NotFound)
	case kind == Counter && delta <= 0:
		return uint32(BadArgument)
	}
	m.Value += uint64(delta)
	return uint32(OK)
}

func recordMetric(c *call) uint32 {
	m, value := c.vm.metrics[c.arg(0)], c.stack[1]
	if m == nil {
		return uint32(NotFound)
	}
	switch m.Kind {
	case Counter:
		m.Value += value
	case Gauge:
		m.Value = value
	case Histogram:
		m.Samples = append(m.Samples, value)
	}
	return uint32(OK)
}

func getMetric(c *call) uint32 {
	id := c.arg(0)
	m := c.vm.metrics[id]
	switch {
	case MetricKind(id&metricMask) > Gauge:
		return uint32(BadArgument)
	case m == nil:
		return uint32(NotFound)
	case !c.put64(c.arg(1), m.Value):
		return uint32(InvalidMemoryAccess)
	}
	return uint32(OK)
}
