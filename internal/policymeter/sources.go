package policymeter

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/readmostly"
	"github.com/sluice-go/sluice/reducer"
)

// Sources are the sets and pipelines of an exporter. They are safe for concurrent use.
type Sources[C Calls] struct {
	// Make makes the Calls of a policy, once for each policy of a source. It is set
	// before the first source is added.
	Make func(policy string) C
	// Listener is called after an event was counted, nil for none. Of calls that are
	// admitted at once and succeed it gets none, see sluice.Observer.
	Listener func(sluice.Event)

	mu  sync.Mutex
	all []*source[C]
}

// source is a set or a pipeline, with what was counted of it.
type source[C Calls] struct {
	pipelines func() []*sluice.Pipeline // the active ones
	meters    readmostly.Map[string, *Meter[C]]
	make      func(policy string) *Meter[C]
	listener  func(sluice.Event)
}

func (s *source[C]) meter(policy string) *Meter[C] { return s.meters.Get(policy, s.make) }

// Observe implements sluice.Observer.
func (s *source[C]) Observe(e sluice.Event) {
	s.meter(e.Policy).Observe(&e)
	if s.listener != nil {
		s.listener(e)
	}
}

// Admitted implements sluice.Observer.
func (s *source[C]) Admitted(policy string) { s.meter(policy).admits.Add(1) }

// Succeeded implements sluice.Observer.
func (s *source[C]) Succeeded(policy string, ctx context.Context, elapsed time.Duration) {
	m := s.meter(policy)
	m.ends.Add(1)
	m.calls.Ended(reducer.OK, ctx, elapsed)
}

// AddSet counts what the pipelines of the set decide from now on, until remove is called.
// Pipelines of later documents are included.
func (x *Sources[C]) AddSet(set *sluice.Set) (remove func()) {
	return x.add(set.Observe, func() []*sluice.Pipeline {
		var active []*sluice.Pipeline
		for _, name := range set.Names() {
			if p, err := set.Lookup(name); err == nil {
				active = append(active, p)
			}
		}
		return active
	})
}

// AddPipeline is AddSet for one pipeline. It has no effect on a pipeline without a policy.
func (x *Sources[C]) AddPipeline(p *sluice.Pipeline) (remove func()) {
	if p.Err() != nil {
		return func() {}
	}
	return x.add(p.Observe, func() []*sluice.Pipeline { return []*sluice.Pipeline{p} })
}

func (x *Sources[C]) add(observe func(sluice.Observer) func(), pipelines func() []*sluice.Pipeline) (remove func()) {
	s := &source[C]{pipelines: pipelines, listener: x.Listener, make: func(policy string) *Meter[C] {
		return &Meter[C]{policy: policy, calls: x.Make(policy)}
	}}
	stop := observe(s)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(slices.Clip(x.all), s)
	return func() {
		stop()
		x.mu.Lock()
		defer x.mu.Unlock()
		x.all = slices.DeleteFunc(slices.Clone(x.all), func(other *source[C]) bool { return other == s })
	}
}

// Read calls f with every count and state, waited with the waits of every step, and calls
// with the Calls of every policy.
func (x *Sources[C]) Read(f func(Point), waited func(durations.Snapshot, ...string), calls func(C)) {
	x.mu.Lock()
	all := x.all
	x.mu.Unlock()
	for _, s := range all {
		for _, p := range s.pipelines() {
			s.meter(p.Name()).Expect(p)
			State(p, f, waited)
		}
		meters := s.meters.All()
		for _, policy := range slices.Sorted(maps.Keys(meters)) {
			meters[policy].Points(f)
			calls(meters[policy].calls)
		}
	}
}
